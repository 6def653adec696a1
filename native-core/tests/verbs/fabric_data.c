/* SPDX-License-Identifier: Apache-2.0
 * fabric_data.c - requests, receives, completions of the scripted libibverbs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric_private.h"

#define GRH_BYTES 40u
#define MULTICAST_QPN 0xFFFFFFu

/* ----------------------------------------------------------------------------------------- completions */

static void wake(fabric_cq_t *cq)
{
    uint64_t one = 1;
    if (!cq->armed || cq->cq.channel == NULL)
        return;
    cq->armed = false;
    ssize_t wrote = write(cq->cq.channel->fd, &one, sizeof(one));
    (void)wrote;
}

static void complete(struct ibv_cq *base, const struct ibv_wc *wc)
{
    fabric_cq_t *cq = (fabric_cq_t *)base;
    if (cq->count == cq->capacity) {
        fabric_counts.overruns++;
        return;
    }
    cq->wcs[(cq->first + cq->count++) % cq->capacity] = *wc;
    wake(cq);
}

/* A request has ended; failed ones always have a completion. */
static void end_request(fabric_qp_t *qp, fabric_request_t *request, enum ibv_wc_status status)
{
    struct ibv_wc wc = {.wr_id = request->wr.wr_id, .status = status, .qp_num = qp->qp.qp_base.qp_num};
    list_remove(&request->link);
    qp->unsignalled++;
    if (status != IBV_WC_SUCCESS || (request->wr.send_flags & IBV_SEND_SIGNALED) != 0) {
        fabric_counts.completions++;
        qp->used -= qp->unsignalled;
        qp->unsignalled = 0;
        complete(qp->qp.qp_base.send_cq, &wc);
    }
    free(request->inlined);
    free(request);
}

static fabric_srq_t *receives_of(fabric_qp_t *qp)
{
    return qp->srq != NULL ? qp->srq : &qp->own;
}

void fabric_look_at_limit(fabric_srq_t *srq)
{
    if (srq->count >= srq->limit)
        return;
    srq->limit = 0;
    fabric_add_event(fabric_context_of(srq->srq.context),
                     (struct ibv_async_event){.element.srq = &srq->srq, .event_type = IBV_EVENT_SRQ_LIMIT_REACHED});
}

static void end_receive(fabric_qp_t *qp, fabric_receive_t *receive, enum ibv_wc_status status, uint32_t bytes)
{
    struct ibv_wc wc = {.wr_id = receive->wr_id,
                        .status = status,
                        .opcode = IBV_WC_RECV,
                        .byte_len = bytes,
                        .qp_num = qp->qp.qp_base.qp_num};
    receives_of(qp)->count--;
    list_remove(&receive->link);
    complete(qp->qp.qp_base.recv_cq, &wc);
    free(receive);
    if (qp->srq != NULL)
        fabric_look_at_limit(qp->srq);
}

void fabric_fail_qp(fabric_qp_t *qp, enum ibv_wc_status status)
{
    FABRIC_GUARD;
    qp->qp.qp_base.state = IBV_QPS_ERR;
    while (!list_empty(&qp->requests)) {
        end_request(qp, container_of(qp->requests.next, fabric_request_t, link), status);
        status = IBV_WC_WR_FLUSH_ERR;
    }
    while (qp->srq == NULL && !list_empty(&qp->own.receives))
        end_receive(qp, container_of(qp->own.receives.next, fabric_receive_t, link), IBV_WC_WR_FLUSH_ERR, 0);
}

void fabric_drop_requests(fabric_qp_t *qp)
{
    for (list_link_t *link; (link = list_pop(&qp->requests)) != NULL;) {
        fabric_request_t *request = container_of(link, fabric_request_t, link);
        free(request->inlined);
        free(request);
    }
    qp->used = qp->unsignalled = 0;
}

void fabric_drop_receives(fabric_srq_t *srq)
{
    for (list_link_t *link; (link = list_pop(&srq->receives)) != NULL;)
        free(container_of(link, fabric_receive_t, link));
    srq->count = 0;
}

/* ---------------------------------------------------------------------------------------------- memory */

/* NULL: not within memory registered with this key and these rights. */
static uint8_t *look_up(const struct ibv_pd *pd, uint32_t key, uint64_t address, uint64_t length, int access)
{
    const fabric_mr_t *mr = map_get(&fabric_mrs, key);
    uint64_t start = mr == NULL ? 0 : (uintptr_t)mr->mr.addr;
    bool good = mr != NULL && mr->mr.pd == pd && (mr->access & access) == access && address >= start &&
                length <= mr->mr.length && address - start <= mr->mr.length - length;
    return good ? (uint8_t *)(uintptr_t)address : NULL;
}

static uint8_t *memory(const struct ibv_pd *pd, uint32_t key, uint64_t address, uint64_t length, int access)
{
    uint8_t *found = look_up(pd, key, address, length, access);
    fabric_counts.bad_memory += found == NULL;
    return found;
}

/* Memory of the other side: the queue pair must allow it, too. */
static uint8_t *remote_memory(const fabric_qp_t *to, uint32_t key, uint64_t address, uint64_t length, int access)
{
    uint8_t *found = (to->access & access) == access ? look_up(to->qp.qp_base.pd, key, address, length, access) : NULL;
    fabric_counts.refused += found == NULL;
    return found;
}

static bool gather(const fabric_qp_t *qp, const fabric_request_t *request, uint8_t *to)
{
    for (int i = 0; i < request->wr.num_sge; i++) {
        const struct ibv_sge *sge = &request->sges[i];
        const uint8_t *from = request->inlined != NULL
                                  ? request->inlined
                                  : memory(qp->qp.qp_base.pd, sge->lkey, sge->addr, sge->length, 0);
        if (from == NULL)
            return false;
        memcpy(to, from, sge->length);
        to += sge->length;
    }
    return true;
}

static bool scatter(const fabric_qp_t *qp, const fabric_request_t *request, const uint8_t *from)
{
    for (int i = 0; i < request->wr.num_sge; i++) {
        const struct ibv_sge *sge = &request->sges[i];
        int rights = IBV_ACCESS_LOCAL_WRITE | (fabric_script.iwarp ? IBV_ACCESS_REMOTE_WRITE : 0);
        uint8_t *to = memory(qp->qp.qp_base.pd, sge->lkey, sge->addr, sge->length, rights);
        if (to == NULL)
            return false;
        memcpy(to, from, sge->length);
        from += sge->length;
    }
    return true;
}

static uint32_t length_of(const fabric_request_t *request)
{
    uint32_t bytes = 0;
    for (int i = 0; i < request->wr.num_sge; i++)
        bytes += request->sges[i].length;
    return bytes;
}

/* -------------------------------------------------------------------------------------------- carrying out */

#define AGAIN ((enum ibv_wc_status) - 1)

/* Puts the bytes into the first receive, after `skip` bytes of GRH. */
static bool place(fabric_qp_t *to, const uint8_t *bytes, uint32_t length, uint32_t skip)
{
    fabric_srq_t *queue = receives_of(to);
    fabric_receive_t *receive = container_of(queue->receives.next, fabric_receive_t, link);
    const struct ibv_sge *sge = &receive->sge;
    uint8_t *place = length + skip <= sge->length
                         ? memory(to->qp.qp_base.pd, sge->lkey, sge->addr, sge->length, IBV_ACCESS_LOCAL_WRITE)
                         : NULL;
    if (place == NULL) {
        end_receive(to, receive, IBV_WC_LOC_LEN_ERR, 0);
        return false;
    }
    memset(place, 0xEE, skip);
    memcpy(place + skip, bytes, length);
    end_receive(to, receive, IBV_WC_SUCCESS, length + skip);
    return true;
}

bool fabric_place_datagram(fabric_qp_t *to, const void *bytes, uint32_t length)
{
    FABRIC_GUARD;
    bool takes = to->qp.qp_base.state >= IBV_QPS_RTR && to->qp.qp_base.state <= IBV_QPS_RTS &&
                 !list_empty(&to->own.receives);
    return takes && place(to, bytes, length, GRH_BYTES);
}

static void send_to_group(const fabric_request_t *request, const uint8_t *bytes, uint32_t length)
{
    const union ibv_gid *gid = &((const fabric_ah_t *)request->wr.wr.ud.ah)->route.grh.dgid;
    size_t cursor = 0;
    for (fabric_qp_t *to; (to = map_next(&fabric_qps, &cursor, NULL)) != NULL;) {
        if (to->qp.qp_base.qp_type != IBV_QPT_UD || to->qkey != request->wr.wr.ud.remote_qkey ||
            !fabric_in_group(to, gid))
            continue;
        unsigned times = fabric_lucky(fabric_script.drop_ppm) ? 0 : fabric_lucky(fabric_script.double_ppm) ? 2 : 1;
        while (times-- > 0)
            (void)fabric_place_datagram(to, bytes, length);
    }
}

static bool is_lost(void)
{
    bool chosen = fabric_script.drop_at > 0 && --fabric_script.drop_at == 0;
    return chosen || fabric_lucky(fabric_script.drop_ppm);
}

static enum ibv_wc_status send_datagram(fabric_qp_t *qp, const fabric_request_t *request, const uint8_t *bytes,
                                        uint32_t length)
{
    fabric_qp_t *to = map_get(&fabric_qps, request->wr.wr.ud.remote_qpn);
    unsigned times = fabric_lucky(fabric_script.double_ppm) ? 2 : 1;
    if (fabric_script.link_down)
        return IBV_WC_LOC_QP_OP_ERR;
    if (request->wr.wr.ud.remote_qpn == MULTICAST_QPN) {
        send_to_group(request, bytes, length);
        return IBV_WC_SUCCESS;
    }
    if (to == NULL || to->qp.qp_base.qp_type != IBV_QPT_UD || to->qkey != request->wr.wr.ud.remote_qkey ||
        to->qp.qp_base.state < IBV_QPS_RTR || to->qp.qp_base.state > IBV_QPS_RTS ||
        !fabric_is_at(to->qp.qp_base.context, &((const fabric_ah_t *)request->wr.wr.ud.ah)->route) || is_lost())
        return IBV_WC_SUCCESS; /* nobody tells the sender */
    (void)qp;
    while (times-- > 0 && !list_empty(&to->own.receives))
        (void)place(to, bytes, length, GRH_BYTES);
    return IBV_WC_SUCCESS;
}

static enum ibv_wc_status send_message(fabric_qp_t *qp, fabric_request_t *request, fabric_qp_t *to,
                                       const uint8_t *bytes, uint32_t length)
{
    (void)qp;
    if (list_empty(&receives_of(to)->receives)) {
        fabric_counts.rnr_waits++;
        fabric_counts.rnr_naks += request->waited++ == 0;
        if (fabric_script.rnr_limit > 0 && request->waited > fabric_script.rnr_limit)
            return IBV_WC_RNR_RETRY_EXC_ERR;
        return AGAIN;
    }
    if (place(to, bytes, length, 0))
        return IBV_WC_SUCCESS;
    fabric_fail_qp(to, IBV_WC_LOC_LEN_ERR);
    return IBV_WC_REM_INV_REQ_ERR;
}

/* A refused access ends both sides of a connection. */
static enum ibv_wc_status refuse(fabric_qp_t *to)
{
    fabric_fail_qp(to, IBV_WC_WR_FLUSH_ERR);
    return IBV_WC_REM_ACCESS_ERR;
}

static enum ibv_wc_status one_sided(const fabric_qp_t *qp, const fabric_request_t *request, fabric_qp_t *to,
                                    const uint8_t *bytes, uint32_t length)
{
    bool reads = request->wr.opcode == IBV_WR_RDMA_READ;
    int access = reads ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
    if (length == 0 && !reads) { /* names no memory */
        fabric_counts.asked += (to->access & access) != 0;
        return (to->access & access) != 0 ? IBV_WC_SUCCESS : refuse(to);
    }
    uint8_t *at = remote_memory(to, request->wr.wr.rdma.rkey, request->wr.wr.rdma.remote_addr, length, access);
    if (at == NULL)
        return refuse(to);
    fabric_counts.reads += reads;
    fabric_counts.writes += !reads;
    if (!reads) {
        memcpy(at, bytes, length);
        return IBV_WC_SUCCESS;
    }
    return scatter(qp, request, at) ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

static enum ibv_wc_status over_connection(fabric_qp_t *qp, fabric_request_t *request, const uint8_t *bytes,
                                          uint32_t length)
{
    fabric_qp_t *to = map_get(&fabric_qps, qp->dest);
    if (fabric_script.fail_request_at > 0 && --fabric_script.fail_request_at == 0)
        return (enum ibv_wc_status)fabric_script.fail_status;
    if (fabric_script.link_down || to == NULL || to->dest != qp->qp.qp_base.qp_num ||
        !fabric_is_at(to->qp.qp_base.context, &qp->route) || to->qp.qp_base.state < IBV_QPS_RTR ||
        to->qp.qp_base.state > IBV_QPS_RTS)
        return IBV_WC_RETRY_EXC_ERR;
    return request->wr.opcode == IBV_WR_SEND ? send_message(qp, request, to, bytes, length)
                                             : one_sided(qp, request, to, bytes, length);
}

/* false: the queue waits. */
static bool carry_out(fabric_qp_t *qp, fabric_request_t *request)
{
    uint32_t length = length_of(request);
    uint8_t *bytes = malloc(length + 1);
    bool outwards = request->wr.opcode == IBV_WR_SEND || request->wr.opcode == IBV_WR_RDMA_WRITE;
    enum ibv_wc_status status = IBV_WC_LOC_PROT_ERR;
    if (bytes == NULL)
        abort();
    if (!outwards || gather(qp, request, bytes))
        status = qp->qp.qp_base.qp_type == IBV_QPT_UD ? send_datagram(qp, request, bytes, length)
                                                      : over_connection(qp, request, bytes, length);
    free(bytes);
    if (status == AGAIN)
        return false;
    fabric_counts.device_bytes[fabric_context_of(qp->qp.qp_base.context)->device] += length;
    qp->bytes += length;
    if (status == IBV_WC_SUCCESS)
        end_request(qp, request, status);
    else
        fabric_fail_qp(qp, status);
    return true;
}

static void work(void)
{
    size_t cursor = 0;
    for (fabric_qp_t *qp; (qp = map_next(&fabric_qps, &cursor, NULL)) != NULL;)
        while (!list_empty(&qp->requests) && carry_out(qp, container_of(qp->requests.next, fabric_request_t, link))) {
        }
}

/* --------------------------------------------------------------------------------------------- posting */

static void count_reads(const fabric_qp_t *qp)
{
    uint64_t reads = 1;
    list_for_each(link, &qp->requests)
        reads += container_of(link, fabric_request_t, link)->wr.opcode == IBV_WR_RDMA_READ;
    if (reads > fabric_counts.most_reads)
        fabric_counts.most_reads = reads;
}

static int take(fabric_qp_t *qp, const struct ibv_send_wr *wr, list_link_t *to)
{
    fabric_request_t *request = calloc(1, sizeof(*request));
    int most = wr->opcode == IBV_WR_RDMA_READ ? fabric_read_pieces() : FABRIC_SGES;
    if (request == NULL || wr->num_sge > most || qp->qp.qp_base.state < IBV_QPS_RTS || qp->used == qp->max) {
        free(request);
        return ENOMEM;
    }
    request->wr = *wr;
    if (wr->num_sge > 0)
        memcpy(request->sges, wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
    if ((wr->send_flags & IBV_SEND_INLINE) != 0) {
        uint32_t length = length_of(request);
        if (length > qp->inline_max || wr->num_sge != 1) {
            free(request);
            return ENOMEM;
        }
        request->inlined = malloc(length + 1);
        if (request->inlined == NULL)
            abort();
        memcpy(request->inlined, (const void *)(uintptr_t)wr->sg_list[0].addr, length);
        fabric_counts.inlined++;
    }
    fabric_counts.requests++;
    if (wr->opcode == IBV_WR_RDMA_READ)
        count_reads(qp);
    fabric_counts.signalled += (wr->send_flags & IBV_SEND_SIGNALED) != 0;
    qp->used++;
    list_append(to, &request->link);
    return 0;
}

static void ring(fabric_qp_t *qp)
{
    fabric_counts.doorbells++;
    if (qp->qp.qp_base.state == IBV_QPS_ERR)
        fabric_fail_qp(qp, IBV_WC_WR_FLUSH_ERR);
}

int fabric_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    FABRIC_GUARD;
    fabric_qp_t *qp = (fabric_qp_t *)base;
    int error = 0;
    for (; wr != NULL && error == 0; wr = error == 0 ? wr->next : wr)
        error = take(qp, wr, &qp->requests);
    *bad = wr;
    ring(qp);
    return error;
}

static int post_receives(const fabric_qp_t *qp, fabric_srq_t *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)qp;
    for (; wr != NULL; wr = wr->next) {
        fabric_receive_t *receive = calloc(1, sizeof(*receive));
        *bad = wr;
        if (receive == NULL || wr->num_sge != 1 || srq->count == srq->max) {
            free(receive);
            return ENOMEM;
        }
        *receive = (fabric_receive_t){.wr_id = wr->wr_id, .sge = wr->sg_list[0]};
        list_append(&srq->receives, &receive->link);
        srq->count++;
    }
    return 0;
}

int fabric_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    FABRIC_GUARD;
    fabric_qp_t *qp = (fabric_qp_t *)base;
    if (qp->srq != NULL || base->state == IBV_QPS_RESET) {
        *bad = wr;
        return EINVAL;
    }
    int error = post_receives(qp, &qp->own, wr, bad);
    if (base->state == IBV_QPS_ERR)
        fabric_fail_qp(qp, IBV_WC_WR_FLUSH_ERR);
    return error;
}

int fabric_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    FABRIC_GUARD;
    return post_receives(NULL, (fabric_srq_t *)srq, wr, bad);
}

int fabric_poll_cq(struct ibv_cq *base, int count, struct ibv_wc *wcs)
{
    FABRIC_GUARD;
    fabric_cq_t *cq = (fabric_cq_t *)base;
    int found = 0;
    work();
    if (fabric_lucky(fabric_script.late_ppm))
        return 0;
    for (; found < count && cq->count > 0; found++) {
        wcs[found] = cq->wcs[cq->first];
        cq->first = (cq->first + 1) % cq->capacity;
        cq->count--;
    }
    return found;
}

int fabric_req_notify_cq(struct ibv_cq *base, int solicited)
{
    FABRIC_GUARD;
    fabric_cq_t *cq = (fabric_cq_t *)base;
    (void)solicited;
    cq->armed = true;
    return 0;
}

/* ---------------------------------------------------------------------------------------- ibv_wr_* calls */

static fabric_qp_t *of(struct ibv_qp_ex *qp)
{
    return (fabric_qp_t *)qp;
}

static void start(struct ibv_qp_ex *qp)
{
    list_init(&of(qp)->built);
    of(qp)->building = NULL;
}

static void begin(struct ibv_qp_ex *base, enum ibv_wr_opcode opcode)
{
    fabric_request_t *request = calloc(1, sizeof(*request));
    if (request == NULL)
        abort();
    request->wr = (struct ibv_send_wr){.wr_id = base->wr_id, .send_flags = base->wr_flags, .opcode = opcode};
    of(base)->building = request;
    list_append(&of(base)->built, &request->link);
}

static void wr_send(struct ibv_qp_ex *qp)
{
    begin(qp, IBV_WR_SEND);
}

static void remote(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t address)
{
    begin(qp, opcode);
    of(qp)->building->wr.wr.rdma.rkey = rkey;
    of(qp)->building->wr.wr.rdma.remote_addr = address;
}

static void wr_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address)
{
    remote(qp, IBV_WR_RDMA_WRITE, rkey, address);
}

static void wr_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address)
{
    remote(qp, IBV_WR_RDMA_READ, rkey, address);
}

static void set_address(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
    struct ibv_send_wr *wr = &of(qp)->building->wr;
    wr->wr.ud.ah = ah;
    wr->wr.ud.remote_qpn = qpn;
    wr->wr.ud.remote_qkey = qkey;
}

static void set_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *list)
{
    fabric_request_t *request = of(qp)->building;
    request->wr.num_sge = (int)count;
    if (count <= FABRIC_SGES)
        memcpy(request->sges, list, count * sizeof(*list));
    for (size_t i = 1; i < count && i < FABRIC_SGES; i++) /* as soft-RoCE of rdma-core 44 does */
        request->sges[i].length = list[0].length;
}

static void set_inline(struct ibv_qp_ex *qp, void *address, size_t length)
{
    struct ibv_sge sge = {.addr = (uintptr_t)address, .length = (uint32_t)length};
    set_list(qp, 1, &sge);
}

static int complete_all(struct ibv_qp_ex *base)
{
    FABRIC_GUARD;
    fabric_qp_t *qp = of(base);
    int error = 0;
    for (list_link_t *link; (link = list_pop(&qp->built)) != NULL;) {
        fabric_request_t *request = container_of(link, fabric_request_t, link);
        request->wr.sg_list = request->sges;
        if (error == 0)
            error = take(qp, &request->wr, &qp->requests);
        free(request);
    }
    ring(qp);
    return error;
}

void fabric_wr_calls(struct ibv_qp_ex *qp)
{
    qp->wr_start = start;
    qp->wr_complete = complete_all;
    qp->wr_send = wr_send;
    qp->wr_rdma_write = wr_write;
    qp->wr_rdma_read = wr_read;
    qp->wr_set_ud_addr = set_address;
    qp->wr_set_sge_list = set_list;
    qp->wr_set_inline_data = set_inline;
}
