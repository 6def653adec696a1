/* SPDX-License-Identifier: Apache-2.0
 * verbs_datagram.c - see verbs_datagram.h. */
#include "tl/verbs/verbs_datagram.h"

#include <errno.h>
#include <string.h>

#include "base/endian.h"
#include "base/hmac.h"

#define GRH_BYTES 40u
#define GRH_AT 24u /* so that the datagram is at 64 */
#define DATA_AT 64u
#define QKEY_LABEL "verbena q_key 1"

/* ------------------------------------------------------------------------------------------------ states */

static int to_init(const verbs_datagram_t *datagram)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = datagram->port->number, .qkey = datagram->qkey};
    return datagram->port->api->modify_qp(datagram->sq.qp, &attr,
                                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
}

static int to_ready(const verbs_datagram_t *datagram)
{
    struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR}, send = {.qp_state = IBV_QPS_RTS};
    int error = datagram->port->api->modify_qp(datagram->sq.qp, &receive, IBV_QP_STATE);
    return error != 0 ? error : datagram->port->api->modify_qp(datagram->sq.qp, &send, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static int post(verbs_datagram_t *datagram, const uint32_t *indices, uint32_t count)
{
    struct ibv_recv_wr wrs[VERBS_REPOST], *bad;
    struct ibv_sge sges[VERBS_REPOST];
    for (uint32_t i = 0; i < count; i++) {
        sges[i] = (struct ibv_sge){
            .addr = (uintptr_t)(datagram->rx.base + (size_t)indices[i] * datagram->rx_stride + GRH_AT),
            .length = GRH_BYTES + datagram->rx_most,
            .lkey = datagram->rx.mr->lkey};
        wrs[i] = (struct ibv_recv_wr){.wr_id = (uint64_t)indices[i] << 1 | 1,
                                      .sg_list = &sges[i],
                                      .num_sge = 1,
                                      .next = i + 1 < count ? &wrs[i + 1] : NULL};
    }
    if (count == 0)
        return 0;
    int error = ibv_post_recv(datagram->sq.qp, wrs, &bad);
    datagram->rx_posted += error == 0 ? count : 0;
    return error;
}

static int start(verbs_datagram_t *datagram)
{
    uint32_t indices[VERBS_REPOST];
    int error = to_init(datagram);
    datagram->used_count = 0;
    for (uint32_t i = 0; i < datagram->rx_depth && error == 0; i += VERBS_REPOST) {
        for (uint32_t j = 0; j < VERBS_REPOST; j++)
            indices[j] = i + j;
        error = post(datagram, indices, VERBS_REPOST);
    }
    return error != 0 ? error : to_ready(datagram);
}

/* Everything that was posted has come back. */
static void restart(verbs_datagram_t *datagram)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
    if (datagram->port->api->modify_qp(datagram->sq.qp, &attr, IBV_QP_STATE) != 0 || start(datagram) != 0) {
        datagram->port->dead = true;
        return;
    }
    datagram->broken = false;
    LOG_INFO(datagram->port->log, "%s: datagrams flow again", datagram->port->name);
}

static void broke(verbs_datagram_t *datagram, const char *why)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    if (datagram->broken)
        return;
    datagram->broken = true;
    LOG_INFO(datagram->port->log, "%s: datagrams stopped: %s", datagram->port->name, why);
    if (datagram->port->api->modify_qp(datagram->sq.qp, &attr, IBV_QP_STATE) != 0)
        datagram->port->dead = true;
}

void verbs_datagram_restart(verbs_datagram_t *datagram)
{
    if (datagram->rx_posted == 0 && datagram->sq.used == 0 && !datagram->port->dead)
        restart(datagram);
}

/* ------------------------------------------------------------------------------------------ open and close */

static vbn_status_t choose_qkey(verbs_datagram_t *datagram, const uint8_t *job_key)
{
    static const uint8_t nobody[32];
    uint8_t mac[HMAC_BYTES];
    vbn_status_t status = hmac_sha256(job_key != NULL ? job_key : nobody, QKEY_LABEL, sizeof(QKEY_LABEL), mac);
    datagram->qkey = le_get_u32(mac) & 0x7FFFFFFFu; /* the top bit is for privileged keys */
    return status;
}

vbn_status_t verbs_datagram_open(verbs_datagram_t *datagram, verbs_port_t *port, verbs_cq_t *cq, verbs_slots_t *slots,
                                 const mpool_source_t *pages, const uint8_t *job_key, uint32_t depth, uint32_t most)
{
    memset(datagram, 0, sizeof(*datagram));
    datagram->port = port;
    datagram->cq = cq;
    datagram->slots = slots;
    datagram->pages = *pages;
    datagram->rx_depth = depth;
    datagram->rx_most = most;
    datagram->rx_stride = DATA_AT + most;
    verbs_routes_open(datagram);
    struct ibv_qp_init_attr attr = {
        .send_cq = cq->cq, .recv_cq = cq->cq, .qp_type = IBV_QPT_UD, .cap = {.max_recv_wr = depth, .max_recv_sge = 1}};
    vbn_status_t status = choose_qkey(datagram, job_key);
    if (status >= 0)
        status = verbs_block_open(&datagram->rx, port, pages, (size_t)depth * datagram->rx_stride);
    if (status >= 0)
        status = verbs_sq_open(&datagram->sq, slots, port, &attr, datagram);
    if (status >= 0) {
        int error = start(datagram);
        datagram->qpn = datagram->sq.qp->qp_num;
        status = error != 0 ? verbs_failed(port, "a datagram queue pair", error) : VBN_OK;
    }
    if (status < 0)
        verbs_datagram_close(datagram);
    return status;
}

void verbs_datagram_close(verbs_datagram_t *datagram)
{
    if (datagram->port == NULL)
        return;
    verbs_sq_close(&datagram->sq, datagram->port);
    verbs_routes_close(datagram);
    verbs_block_close(&datagram->rx, datagram->port, &datagram->pages);
    datagram->port = NULL;
}

/* ------------------------------------------------------------------------------------- sending, receiving */

void verbs_datagram_send(verbs_datagram_t *datagram, verbs_slot_t *slot, uint32_t bytes, const verbs_route_t *route,
                         uint32_t qpn)
{
    slot->wr.opcode = IBV_WR_SEND;
    slot->wr.num_sge = 1;
    slot->wr.wr.ud.ah = route->ah;
    slot->wr.wr.ud.remote_qpn = qpn;
    slot->wr.wr.ud.remote_qkey = datagram->qkey;
    slot->sges[0] = (struct ibv_sge){.addr = (uintptr_t)slot->buffer, .length = bytes};
    verbs_sq_add(&datagram->sq, slot);
    datagram->taken++;
}

/* Requests that never reached the device are lost packets. */
static void drop_unsent(verbs_sq_t *sq, const verbs_slot_t *first)
{
    verbs_slot_t *kept = NULL, *slot = sq->first;
    for (; slot != first; slot = slot->next)
        kept = slot;
    if (kept != NULL) {
        kept->next = NULL;
        kept->wr.next = NULL;
    } else {
        sq->first = NULL;
    }
    sq->last = kept;
    sq->pending = NULL;
    for (verbs_slot_t *next; slot != NULL; slot = next) {
        next = slot->next;
        verbs_sq_give_back(sq, slot);
    }
}

void verbs_datagram_flush(verbs_datagram_t *datagram)
{
    const verbs_slot_t *first = datagram->sq.pending;
    if (first == NULL)
        return;
    int error = datagram->broken ? ENETDOWN : verbs_sq_flush(&datagram->sq);
    if (error == 0)
        return;
    drop_unsent(&datagram->sq, first);
    broke(datagram, strerror(error));
}

static void sent(verbs_datagram_t *datagram, const struct ibv_wc *wc)
{
    verbs_slot_t *slot = verbs_slots_find(datagram->slots, wc->wr_id), *first;
    counter_add(datagram->slots->counters, COUNTER_VERBS_COMPLETIONS, 1);
    if (wc->status != IBV_WC_SUCCESS)
        broke(datagram, datagram->port->api->status_text(wc->status));
    if (slot == NULL || slot->sq != &datagram->sq)
        return;
    do {
        first = verbs_sq_pop(&datagram->sq);
        verbs_slot_free(datagram->slots, first);
    } while (first != slot);
    if (!list_empty(&datagram->old))
        verbs_routes_sweep(datagram);
}

const uint8_t *verbs_datagram_completion(verbs_datagram_t *datagram, const struct ibv_wc *wc, uint32_t *bytes_p)
{
    if ((wc->wr_id & 1) == 0) {
        sent(datagram, wc);
        return NULL;
    }
    datagram->rx_posted--;
    if (wc->status == IBV_WC_SUCCESS && wc->byte_len >= GRH_BYTES && wc->byte_len <= GRH_BYTES + datagram->rx_most) {
        *bytes_p = wc->byte_len - GRH_BYTES;
        return datagram->rx.base + (size_t)(wc->wr_id >> 1) * datagram->rx_stride + DATA_AT;
    }
    if (wc->status != IBV_WC_SUCCESS)
        broke(datagram, datagram->port->api->status_text(wc->status));
    verbs_datagram_release(datagram, wc->wr_id);
    return NULL;
}

void verbs_datagram_release(verbs_datagram_t *datagram, uint64_t number)
{
    if (datagram->broken)
        return;
    datagram->used[datagram->used_count++] = (uint32_t)(number >> 1);
    if (datagram->used_count < VERBS_REPOST)
        return;
    int error = post(datagram, datagram->used, datagram->used_count);
    datagram->used_count = 0;
    if (error != 0)
        broke(datagram, strerror(error));
}
