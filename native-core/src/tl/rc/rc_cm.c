/* SPDX-License-Identifier: Apache-2.0
 * rc_cm.c - connections by rdma_cm, where the device (iWARP) or the user wants them: called, accepted, ended.
 *
 *   caller    resolve address, route --> queue pair, call (rc_wire.h) --> CONNECT_RESPONSE: armed   (iWARP: ESTABLISHED)
 *   called    CONNECT_REQUEST with the job key's mac --> queue pair, accept --> ESTABLISHED: armed
 *
 * The link's packets wait as signals do until then and go over the connection afterwards, also before trust(). Queue pairs
 * are our own: rdma_cm says how to change their states; for iWARP the driver does that. How long an attempt may take is the
 * link's business (link.wireup_timeout). */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "tl/rc/rc_private.h"

#define RESOLVE_MS 4000 /* for the address, and for the route */
#define REFUSED_KEY 1u  /* first byte of a refusal's private data */
#define REFUSED_QP 2u
#define NO_SERVICE 8 /* status of a refusal by the peer's kernel: nobody listens */
#define UNAVAILABLE "its queue pair cannot be connected"

/* An event, copied. */
typedef struct notice {
    struct rdma_cm_id *id;
    enum rdma_cm_event_type type;
    int status;
    struct rdma_conn_param param;
    uint8_t data[256];
} notice_t;

/* --------------------------------------------------------------------------------------------- queue pair */

static vbn_status_t arm(rc_ep_t *ep)
{
    vbn_status_t status = rc_qp_by_cm(ep, IBV_QPS_RTR);
    return status < 0 ? status : rc_qp_by_cm(ep, IBV_QPS_RTS);
}

/* How many reads the peer serves. */
static bool take_reads(rc_ep_t *ep, const notice_t *notice)
{
    ep->remote_reads = notice->param.initiator_depth;
    rc_qp_limit_reads(ep);
    return ep->reads_most > 0;
}

static struct rdma_conn_param parameters(const rc_ep_t *ep)
{
    return (struct rdma_conn_param){.responder_resources = (uint8_t)rc_qp_serves(rc_iface_of(ep->base.iface)),
                                    .initiator_depth = ep->reads_most,
                                    .flow_control = 1,
                                    .retry_count = 6,
                                    .rnr_retry_count = 7,
                                    .srq = 1,
                                    .qp_num = ep->sq.qp->qp_num};
}

static void fail(rc_ep_t *ep, const char *why)
{
    LOG_INFO(rc_iface_of(ep->base.iface)->params.log, "a connection by rdma_cm: %s", err_text());
    rc_ep_fail(ep, why);
}

/* Both sides' queue pairs work: what waited goes, then everything. */
static void connected(rc_ep_t *ep)
{
    if (ep->armed)
        return;
    ep->armed = ep->remote_armed = true;
    rc_send_waiting(ep);
    if (ep->state == RC_CLOSING)
        rc_send_nothing(ep);
    else
        rc_signal_step(ep);
}

/* ------------------------------------------------------------------------------------------------- caller */

vbn_status_t rc_cm_call(rc_ep_t *ep)
{
    rc_iface_t *iface = rc_iface_of(ep->base.iface);
    const rc_cm_t *cm = &iface->cm;
    verbs_address_t here = iface->verbs.address;
    struct sockaddr_storage from, to;
    char text[96];
    uint8_t traffic_class = iface->verbs.port.traffic_class;
    verbs_address_text(&ep->remote, text, sizeof(text));
    if (cm->api->create_id(cm->channel, &ep->cm, ep, RDMA_PS_TCP) != 0)
        return err_sys(errno, "an rdma_cm id for %s", text);
    if (traffic_class != 0)
        (void)cm->api->set_option(ep->cm, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &traffic_class, sizeof(traffic_class));
    here.qpn = 0;
    rc_cm_to_socket(&here, &from);
    rc_cm_to_socket(&ep->remote, &to);
    if (cm->api->resolve_addr(ep->cm, (struct sockaddr *)&from, (struct sockaddr *)&to, RESOLVE_MS) != 0)
        return err_sys(errno, "rdma_cm finds no way from %s to %s (ip route)", iface->verbs.port.name, text);
    return VBN_OK;
}

static void call(rc_iface_t *iface, rc_ep_t *ep)
{
    uint8_t bytes[RC_CALL_BYTES];
    ep->remote_reads = RC_READS_MOST;
    rc_qp_limit_reads(ep);
    if (rc_call_encode(iface->params.job_key, &ep->remote, ep->id, bytes) < 0 || rc_qp_open(ep) < 0) {
        fail(ep, UNAVAILABLE);
        return;
    }
    struct rdma_conn_param param = parameters(ep);
    param.private_data = bytes;
    param.private_data_len = sizeof(bytes);
    if (iface->cm.api->connect(ep->cm, &param) != 0) {
        (void)err_sys(errno, "rdma_connect");
        fail(ep, UNAVAILABLE);
    }
}

static void answered(rc_iface_t *iface, rc_ep_t *ep, const notice_t *notice)
{
    vbn_status_t status = take_reads(ep, notice) ? arm(ep) : err_set(VBN_ERR_UNSUPPORTED, "the peer serves no reads");
    if (status >= 0 && iface->cm.api->establish(ep->cm) != 0)
        status = err_sys(errno, "rdma_establish");
    if (status < 0)
        fail(ep, UNAVAILABLE);
    else
        connected(ep);
}

/* ------------------------------------------------------------------------------------------------- called */

static void refuse(const rc_iface_t *iface, struct rdma_cm_id *id, uint8_t why)
{
    (void)iface->cm.api->reject(id, &why, sizeof(why));
    (void)iface->cm.api->destroy_id(id);
}

static vbn_status_t accept_call(rc_iface_t *iface, rc_ep_t *ep, const notice_t *notice)
{
    if (!take_reads(ep, notice))
        return err_set(VBN_ERR_UNSUPPORTED, "the peer serves no reads");
    vbn_status_t status = rc_qp_open(ep);
    if (status >= 0)
        status = arm(ep);
    if (status < 0)
        return status;
    struct rdma_conn_param param = parameters(ep);
    return iface->cm.api->accept(ep->cm, &param) == 0 ? VBN_OK : err_sys(errno, "rdma_accept");
}

/* A stranger, without the job key, gets no queue pair. The same call once more has been overheard by somebody. */
static void called(rc_iface_t *iface, const notice_t *notice)
{
    verbs_address_t remote = {.ethernet = true, .cm = true, .mtu = iface->verbs.address.mtu};
    uint64_t from = rc_call_decode(iface->params.job_key, &iface->verbs.address, notice->data,
                                   notice->param.private_data_len);
    if (from == 0 || map_get(&iface->by_remote, from) != NULL) {
        counter_add(iface->params.counters, COUNTER_BAD_FRAMES, 1);
        refuse(iface, notice->id, REFUSED_KEY);
        return;
    }
    rc_cm_from_socket(&notice->id->route.addr.dst_addr, &remote);
    rc_ep_t *ep = rc_ep_new(iface, NULL, &remote, from, NULL);
    if (ep == NULL) {
        refuse(iface, notice->id, REFUSED_QP);
        return;
    }
    ep->cm = notice->id;
    ep->cm->context = ep;
    iface->params.upcalls.accepted(iface->params.upcalls.arg, &ep->base);
    if (ep->state == RC_OPENING && accept_call(iface, ep, notice) < 0) {
        const uint8_t why = REFUSED_QP;
        (void)iface->cm.api->reject(ep->cm, &why, sizeof(why));
        fail(ep, UNAVAILABLE);
    }
}

/* ------------------------------------------------------------------------------------------------- events */

static const char *why_refused(const notice_t *notice)
{
    if (notice->status == NO_SERVICE || notice->status == -ECONNREFUSED)
        return "nobody listens there any more: the peer's process has ended";
    if (notice->data[0] == REFUSED_KEY)
        return "the peer refused the connection: another job key, or an address of an earlier process (security.auth)";
    if (notice->data[0] == REFUSED_QP)
        return "the peer refused the connection: its device has no queue pair for it (its log says more)";
    return "the peer refused the connection";
}

static const char *why_failed(const notice_t *notice)
{
    switch (notice->type) {
    case RDMA_CM_EVENT_ADDR_ERROR:
        return "the peer's address cannot be resolved: its host does not answer, or no route leads there (ip route, ip neigh)";
    case RDMA_CM_EVENT_ROUTE_ERROR: return "there is no path to the peer's port (InfiniBand: ask the subnet manager)";
    case RDMA_CM_EVENT_UNREACHABLE: return "the peer's host does not answer a call by rdma_cm";
    case RDMA_CM_EVENT_CONNECT_ERROR: return "the connection could not be made (dmesg may say more)";
    case RDMA_CM_EVENT_REJECTED: return why_refused(notice);
    default: return NULL;
    }
}

static void unreachable(rc_ep_t *ep, const char *why)
{
    ep->unreached = true;
    rc_ep_fail(ep, why);
}

static void resolved(rc_iface_t *iface, rc_ep_t *ep)
{
    if (!verbs_cm_is_of(ep->cm, &iface->verbs.port))
        unreachable(ep, "the way to the peer's address leads over another device (ip route)");
    else if (iface->cm.api->resolve_route(ep->cm, RESOLVE_MS) != 0)
        unreachable(ep, "there is no path to the peer's port");
}

/* A device that has no queue pair left now may have one later. */
static bool may_change(const notice_t *notice)
{
    return notice->type == RDMA_CM_EVENT_REJECTED && notice->data[0] == REFUSED_QP;
}

static void about(rc_iface_t *iface, rc_ep_t *ep, const notice_t *notice)
{
    const char *why = why_failed(notice);
    if (notice->type == RDMA_CM_EVENT_DISCONNECTED)
        ep->parted = iface->cm.parted = true;
    if (ep->state == RC_CLOSING && (why != NULL || ep->parted))
        ep->deadline_ns = 0;
    if (ep->state == RC_FAILED || ep->state == RC_GONE)
        return;
    if (why != NULL && !may_change(notice))
        unreachable(ep, why);
    else if (why != NULL)
        rc_ep_fail(ep, why);
    else if (notice->type == RDMA_CM_EVENT_ADDR_RESOLVED)
        resolved(iface, ep);
    else if (notice->type == RDMA_CM_EVENT_ROUTE_RESOLVED)
        call(iface, ep);
    else if (notice->type == RDMA_CM_EVENT_CONNECT_RESPONSE)
        answered(iface, ep, notice);
    else if (notice->type == RDMA_CM_EVENT_ESTABLISHED && (ep->accepted || take_reads(ep, notice)))
        connected(ep);
}

static bool take(const rc_iface_t *iface, notice_t *notice)
{
    const rc_cm_t *cm = &iface->cm;
    struct pollfd fd = {.fd = cm->channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    if (poll(&fd, 1, 0) <= 0 || cm->api->get_event(cm->channel, &event) != 0)
        return false;
    *notice = (notice_t){.id = event->id, .type = event->event, .status = event->status, .param = event->param.conn};
    if (notice->param.private_data != NULL)
        memcpy(notice->data, notice->param.private_data, notice->param.private_data_len);
    else
        notice->param.private_data_len = 0;
    (void)cm->api->ack_event(event); /* ids can be destroyed from here on */
    return true;
}

unsigned rc_cm_look(rc_iface_t *iface)
{
    notice_t notice;
    unsigned events = 0;
    for (; iface->cm.channel != NULL && take(iface, &notice); events++) {
        if (notice.type == RDMA_CM_EVENT_DEVICE_REMOVAL)
            iface->verbs.port.dead = true;
        else if (notice.type == RDMA_CM_EVENT_CONNECT_REQUEST)
            called(iface, &notice);
        else if (notice.id != iface->cm.listener && notice.id->context != iface)
            about(iface, notice.id->context, &notice);
    }
    return events;
}

/* What the peer sent before it left has been taken off the queue by now. */
void rc_cm_parted(rc_iface_t *iface)
{
    iface->cm.parted = false;
    list_for_each(link, &iface->eps) {
        rc_ep_t *ep = container_of(link, rc_ep_t, link);
        if (ep->parted)
            rc_ep_fail(ep, "the peer closed its side");
    }
}

bool rc_cm_ending(rc_ep_t *ep)
{
    const rc_iface_t *iface = rc_iface_of(ep->base.iface);
    if (ep->cm == NULL || !iface->verbs.port.iwarp || ep->parted)
        return false;
    if (!ep->leaving)
        (void)iface->cm.api->disconnect(ep->cm);
    ep->leaving = true;
    return true;
}

void rc_cm_close(rc_ep_t *ep)
{
    const rc_iface_t *iface = rc_iface_of(ep->base.iface);
    if (ep->cm == NULL)
        return;
    if (ep->armed)
        (void)iface->cm.api->disconnect(ep->cm);
    (void)iface->cm.api->destroy_id(ep->cm);
    ep->cm = NULL;
}
