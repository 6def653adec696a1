/* SPDX-License-Identifier: Apache-2.0
 * verbs_send.c - see verbs_send.h. */
#include "tl/verbs/verbs_send.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_STEP (UINT64_C(2) * VERBS_SLOTS_MAX) /* bit 0 marks receives */
#define HELD_BYTES 32768u                           /* that requests without a completion may keep in buffers */

vbn_status_t verbs_slots_open(verbs_slots_t *slots, const verbs_port_t *port, const mpool_source_t *pages,
                              size_t large_bytes, unsigned count, counters_t *counters)
{
    memset(slots, 0, sizeof(*slots));
    slots->counters = counters;
    verbs_pool_open(&slots->small, port, pages, VERBS_SMALL, 0);
    verbs_pool_open(&slots->large, port, pages, large_bytes, 0);
    slots->array = calloc(count, sizeof(*slots->array));
    if (slots->array == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for %u send requests", count);
    for (unsigned i = count; i > 0; i--) {
        verbs_slot_t *slot = &slots->array[i - 1];
        slot->wr.wr_id = 2 * (i - 1);
        slot->next = slots->free;
        slots->free = slot;
    }
    slots->count = slots->free_count = count;
    return VBN_OK;
}

void verbs_slots_close(verbs_slots_t *slots)
{
    if (slots->array == NULL)
        return;
    verbs_pool_close(&slots->small);
    verbs_pool_close(&slots->large);
    free(slots->array);
    slots->array = NULL;
}

vbn_status_t verbs_sq_open(verbs_sq_t *sq, verbs_slots_t *slots, const verbs_port_t *port,
                           struct ibv_qp_init_attr *attr, void *owner)
{
    memset(sq, 0, sizeof(*sq));
    sq->slots = slots;
    sq->owner = owner;
    attr->cap.max_send_wr = VERBS_DEPTH;
    attr->cap.max_send_sge = VERBS_SGES;
    attr->cap.max_inline_data = VERBS_INLINE;
    uint64_t ops = attr->qp_type == IBV_QPT_UD ? IBV_QP_EX_WITH_SEND : VERBS_SEND_OPS;
    sq->qp = verbs_create_qp(port->api, port->pd, attr, ops, &sq->extended);
    if (sq->qp == NULL && errno == EINVAL) { /* too much inline data for this device */
        attr->cap.max_inline_data = 0;
        sq->qp = verbs_create_qp(port->api, port->pd, attr, ops, &sq->extended);
    }
    if (sq->qp == NULL)
        return verbs_failed(port, "a queue pair", errno);
    sq->inline_max = attr->cap.max_inline_data;
    slots->queues++;
    return VBN_OK;
}

struct ibv_qp *verbs_sq_leave(verbs_sq_t *sq)
{
    struct ibv_qp *qp = sq->qp;
    sq->qp = NULL;
    for (verbs_slot_t *slot; (slot = verbs_sq_pop(sq)) != NULL;)
        verbs_slot_free(sq->slots, slot);
    sq->slots->queues--;
    return qp;
}

void verbs_sq_close(verbs_sq_t *sq, const verbs_port_t *port)
{
    if (sq->qp == NULL)
        return;
    (void)port->api->destroy_qp(sq->qp); /* before its buffers are given to others */
    (void)verbs_sq_leave(sq);
}

bool verbs_sq_waited(const verbs_sq_t *sq)
{
    for (const verbs_slot_t *slot = sq->first; slot != NULL; slot = slot->next)
        if (slot->cookie != NULL)
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------------ slots */

static void free_buffer(verbs_slots_t *slots, verbs_slot_t *slot)
{
    if (slot->buffer != NULL)
        verbs_pool_put(slot->large ? &slots->large : &slots->small, slot->buffer);
    slot->buffer = NULL;
}

verbs_slot_t *verbs_sq_take(verbs_sq_t *sq, size_t bytes)
{
    verbs_slots_t *slots = sq->slots;
    verbs_slot_t *slot = slots->free;
    if (slot == NULL || sq->used >= VERBS_DEPTH)
        return NULL;
    slot->large = bytes > VERBS_SMALL;
    slot->buffer = bytes == 0 ? NULL : verbs_pool_get(slot->large ? &slots->large : &slots->small);
    if (slot->buffer == NULL && bytes > 0)
        return NULL;
    slots->free = slot->next;
    slots->free_count--;
    sq->used++;
    slot->sq = sq;
    slot->next = NULL;
    slot->cookie = NULL;
    slot->scatter = NULL;
    slot->one_sided = false;
    slot->placed = 0;
    return slot;
}

void verbs_slot_free(verbs_slots_t *slots, verbs_slot_t *slot)
{
    free_buffer(slots, slot);
    if (slot->placed != 0)
        slots->placed[slot->placed - 1]--;
    slot->wr.wr_id += NUMBER_STEP;
    slot->sq = NULL;
    slot->next = slots->free;
    slots->free = slot;
    slots->free_count++;
}

void verbs_sq_give_back(verbs_sq_t *sq, verbs_slot_t *slot)
{
    sq->used--;
    verbs_slot_free(sq->slots, slot);
}

verbs_slot_t *verbs_slots_find(const verbs_slots_t *slots, uint64_t number)
{
    uint64_t index = number % NUMBER_STEP / 2;
    verbs_slot_t *slot = index < slots->count ? &slots->array[index] : NULL;
    return slot != NULL && slot->sq != NULL && slot->wr.wr_id == number ? slot : NULL;
}

verbs_slot_t *verbs_sq_pop(verbs_sq_t *sq)
{
    verbs_slot_t *slot = sq->first;
    if (slot == NULL)
        return NULL;
    sq->first = slot->next;
    if (sq->last == slot)
        sq->last = NULL;
    if (sq->pending == slot)
        sq->pending = slot->next;
    sq->used--;
    return slot;
}

/* --------------------------------------------------------------------------------------------- posting */

/* What an unknown end keeps from others: bytes of buffers. */
static uint32_t held_by(const verbs_slot_t *slot)
{
    return (slot->wr.send_flags & IBV_SEND_INLINE) != 0 || slot->buffer == NULL ? 0 : slot->sges[0].length;
}

void verbs_sq_add(verbs_sq_t *sq, verbs_slot_t *slot)
{
    struct ibv_send_wr *wr = &slot->wr;
    bool sends = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_RDMA_WRITE;
    wr->sg_list = slot->sges;
    wr->next = NULL;
    wr->send_flags = sends && wr->num_sge == 1 && slot->sges[0].length <= sq->inline_max ? IBV_SEND_INLINE : 0;
    if (wr->num_sge > 0 && slot->sges[0].addr == (uintptr_t)slot->buffer && wr->send_flags == 0)
        slot->sges[0].lkey = verbs_pool_key(slot->large ? &sq->slots->large : &sq->slots->small, slot->buffer);
    if (sq->last != NULL) {
        sq->last->next = slot;
        sq->last->wr.next = wr;
    } else {
        sq->first = slot;
    }
    sq->last = slot;
    if (sq->pending == NULL)
        sq->pending = slot;
}

static uint32_t interval(const verbs_slots_t *slots)
{
    uint32_t fair = slots->count / 4 / (slots->queues + 1);
    return fair > VERBS_INTERVAL ? VERBS_INTERVAL : fair + (fair == 0);
}

static void ask_for_completions(verbs_sq_t *sq)
{
    uint32_t every = interval(sq->slots);
    for (verbs_slot_t *slot = sq->pending; slot != NULL; slot = slot->next) {
        sq->unsignalled++;
        sq->unsignalled_bytes += held_by(slot);
        sq->waited = sq->waited || slot->cookie != NULL;
        bool ask = sq->unsignalled >= every || sq->unsignalled_bytes >= HELD_BYTES ||
                   (slot->next == NULL && sq->waited);
        if (!ask)
            continue;
        slot->wr.send_flags |= IBV_SEND_SIGNALED;
        sq->unsignalled = sq->unsignalled_bytes = 0;
        sq->waited = false;
    }
}

static void build(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr, bool datagram)
{
    qp->wr_id = wr->wr_id;
    qp->wr_flags = wr->send_flags;
    switch (wr->opcode) {
    case IBV_WR_RDMA_WRITE: ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr); break;
    case IBV_WR_RDMA_READ: ibv_wr_rdma_read(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr); break;
    default: ibv_wr_send(qp); break;
    }
    if (datagram)
        ibv_wr_set_ud_addr(qp, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
    if ((wr->send_flags & IBV_SEND_INLINE) != 0)
        ibv_wr_set_inline_data(qp, (void *)(uintptr_t)wr->sg_list[0].addr, wr->sg_list[0].length);
    else
        ibv_wr_set_sge_list(qp, (size_t)wr->num_sge, wr->sg_list);
}

/* soft-RoCE's ibv_wr_set_sge_list (rdma-core 44) takes every piece to be as long as the first. */
static bool in_pieces(const verbs_sq_t *sq)
{
    for (const verbs_slot_t *slot = sq->pending; slot != NULL; slot = slot->next)
        if (slot->wr.num_sge > 1)
            return true;
    return false;
}

static int post(verbs_sq_t *sq)
{
    struct ibv_send_wr *bad;
    if (sq->extended == NULL || in_pieces(sq))
        return ibv_post_send(sq->qp, &sq->pending->wr, &bad);
    ibv_wr_start(sq->extended);
    for (const verbs_slot_t *slot = sq->pending; slot != NULL; slot = slot->next)
        build(sq->extended, &slot->wr, sq->qp->qp_type == IBV_QPT_UD);
    return ibv_wr_complete(sq->extended);
}

int verbs_sq_flush(verbs_sq_t *sq)
{
    uint64_t requests = 0;
    if (sq->pending == NULL)
        return 0;
    ask_for_completions(sq);
    int error = post(sq);
    for (verbs_slot_t *slot = sq->pending; slot != NULL; slot = slot->next, requests++)
        if ((slot->wr.send_flags & IBV_SEND_INLINE) != 0)
            free_buffer(sq->slots, slot); /* the device has a copy */
    sq->pending = NULL;
    counter_add(sq->slots->counters, COUNTER_VERBS_DOORBELLS, 1);
    counter_add(sq->slots->counters, COUNTER_VERBS_REQUESTS, requests);
    return error;
}
