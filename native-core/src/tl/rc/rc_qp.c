/* SPDX-License-Identifier: Apache-2.0
 * rc_qp.c - the queue pair of a connection: made at trust(), connected when the peer's number is known, destroyed. */
#include <errno.h>
#include <stdlib.h>

#include "base/os.h"
#include "tl/rc/rc_private.h"

/* Time-outs: 4.096 us * 2^16 = 268 ms, seven times: about 2 s until a dead peer is noticed. Seven retries would mean for
 * ever on soft-RoCE; a receiver that has no buffer is waited for without end, as on a full socket. */
#define TIMEOUT 16u
#define RETRIES 6u
#define RNR_FOR_EVER 7u
#define RNR_TIMER 12u /* 0.64 ms */
#define DRAIN_NS UINT64_C(1000000000)

static uint8_t reads(int limit, unsigned most)
{
    return (uint8_t)(limit <= 0 ? 1 : (unsigned)limit < most ? (unsigned)limit : most);
}

unsigned rc_qp_serves(const rc_iface_t *iface)
{
    return reads(iface->verbs.port.limits.max_qp_rd_atom, RC_READS_MOST);
}

void rc_qp_limit_reads(rc_ep_t *ep)
{
    ep->reads_most = reads(rc_iface_of(ep->base.iface)->verbs.port.limits.max_qp_init_rd_atom, ep->remote_reads);
}

static vbn_status_t change(const rc_ep_t *ep, struct ibv_qp_attr *attr, int mask, const char *what)
{
    const verbs_port_t *port = &rc_iface_of(ep->base.iface)->verbs.port;
    int error = port->api->modify_qp(ep->sq.qp, attr, mask);
    return error == 0 ? VBN_OK : verbs_failed(port, what, error);
}

vbn_status_t rc_qp_by_cm(rc_ep_t *ep, enum ibv_qp_state state)
{
    const rc_iface_t *iface = rc_iface_of(ep->base.iface);
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask = 0;
    if (state != IBV_QPS_INIT && iface->verbs.port.iwarp)
        return VBN_OK;
    if (iface->cm.api->init_qp_attr(ep->cm, &attr, &mask) != 0)
        return verbs_failed(&iface->verbs.port, "a connection by rdma_cm", errno);
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    attr.min_rnr_timer = RNR_TIMER;
    attr.timeout = TIMEOUT;
    attr.retry_cnt = RETRIES;
    attr.rnr_retry = RNR_FOR_EVER;
    attr.max_rd_atomic = ep->reads_most;
    attr.max_dest_rd_atomic = (uint8_t)rc_qp_serves(iface);
    return change(ep, &attr, mask, "a connection by rdma_cm");
}

vbn_status_t rc_qp_open(rc_ep_t *ep)
{
    rc_iface_t *iface = rc_iface_of(ep->base.iface);
    struct ibv_qp_init_attr attr = {.send_cq = iface->verbs.cq.cq,
                                    .recv_cq = iface->verbs.cq.cq,
                                    .srq = iface->receives.srq,
                                    .qp_type = IBV_QPT_RC};
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
                               .port_num = iface->verbs.port.number,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
    vbn_status_t status = verbs_sq_open(&ep->sq, &iface->verbs.slots, &iface->verbs.port, &attr, ep);
    if (status < 0)
        return status;
    rc_receives_join(iface);
    os_random(&ep->psn, sizeof(ep->psn));
    ep->psn &= VERBS_QPN_MAX;
    status = map_put(&iface->by_qp, ep->sq.qp->qp_num, ep);
    if (status >= 0)
        status = ep->cm != NULL
                     ? rc_qp_by_cm(ep, IBV_QPS_INIT)
                     : change(ep, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                              "a connection (INIT)");
    if (status < 0)
        rc_qp_close(ep);
    return status;
}

vbn_status_t rc_qp_arm(rc_ep_t *ep)
{
    const rc_iface_t *iface = rc_iface_of(ep->base.iface);
    const verbs_port_t *port = &iface->verbs.port;
    rc_qp_limit_reads(ep);
    struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR,
                                  .path_mtu = port->mtu,
                                  .dest_qp_num = ep->remote_qpn,
                                  .rq_psn = ep->remote_psn,
                                  .max_dest_rd_atomic = (uint8_t)rc_qp_serves(iface),
                                  .min_rnr_timer = RNR_TIMER};
    struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS,
                               .timeout = TIMEOUT,
                               .retry_cnt = RETRIES,
                               .rnr_retry = RNR_FOR_EVER,
                               .sq_psn = ep->psn,
                               .max_rd_atomic = ep->reads_most};
    verbs_port_route(port, &ep->remote, &receive.ah_attr);
    vbn_status_t status = change(ep, &receive,
                                 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                                 "a connection (RTR)");
    if (status < 0)
        return status;
    return change(ep, &send,
                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                      IBV_QP_MAX_QP_RD_ATOMIC,
                  "a connection (RTS)");
}

/* false: it has to be destroyed at once. */
static bool drain(rc_iface_t *iface, rc_ep_t *ep)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    rc_drain_t *drained = ep->armed && !iface->verbs.port.dead && !verbs_sq_waited(&ep->sq) ? malloc(sizeof(*drained))
                                                                                            : NULL;
    if (drained == NULL || iface->verbs.port.api->modify_qp(ep->sq.qp, &attr, IBV_QP_STATE) != 0) {
        free(drained);
        return false;
    }
    *drained = (rc_drain_t){.qp = verbs_sq_leave(&ep->sq), .until_ns = os_now_ns() + DRAIN_NS};
    list_append(&iface->draining, &drained->link);
    rc_tick_soon(iface);
    return true;
}

void rc_qp_close(rc_ep_t *ep)
{
    rc_iface_t *iface = rc_iface_of(ep->base.iface);
    if (ep->sq.qp == NULL)
        return;
    rc_receives_leave(iface);
    list_remove(&ep->ringing);
    (void)map_remove(&iface->by_qp, ep->sq.qp->qp_num);
    if (!drain(iface, ep))
        verbs_sq_close(&ep->sq, &iface->verbs.port);
}

void rc_qp_last_receive(rc_iface_t *iface, const struct ibv_qp *qp)
{
    list_for_each(link, &iface->draining) {
        rc_drain_t *drained = container_of(link, rc_drain_t, link);
        if (drained->qp == qp)
            drained->until_ns = 0;
    }
}

void rc_qp_drained_look(rc_iface_t *iface, uint64_t now)
{
    for (list_link_t *link = iface->draining.next, *next; link != &iface->draining; link = next) {
        rc_drain_t *drained = container_of(link, rc_drain_t, link);
        next = link->next;
        if (drained->until_ns > now)
            continue;
        list_remove(link);
        (void)iface->verbs.port.api->destroy_qp(drained->qp);
        free(drained);
    }
}
