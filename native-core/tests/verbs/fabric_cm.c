/* SPDX-License-Identifier: Apache-2.0
 * fabric_cm.c - the scripted librdmacm: listeners, calls and answers between all ids of the process. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric_private.h"
#include "tl/verbs/verbs_cm.h"

#define NO_SERVICE 8
#define CONSUMER 28
#define PRIVATE_BYTES 56u /* a request's, padded */

typedef struct fabric_channel {
    struct rdma_event_channel channel; /* first */
    list_link_t events;
} fabric_channel_t;

typedef struct fabric_id {
    struct rdma_cm_id id; /* first */
    list_link_t link;
    struct fabric_id *other;
    unsigned device, unacked;
    uint32_t qpn;
    bool listens, connected;
} fabric_id_t;

typedef struct fabric_notice {
    struct rdma_cm_event event; /* first */
    list_link_t link;
    uint8_t data[PRIVATE_BYTES];
} fabric_notice_t;

static list_link_t ids = {&ids, &ids};
static struct ibv_context contexts[2];
static uint16_t next_port = 4000;

static fabric_id_t *of(struct rdma_cm_id *id)
{
    return (fabric_id_t *)id;
}

/* ---------------------------------------------------------------------------------------------- events */

static void notify(fabric_id_t *to, enum rdma_cm_event_type type, int status, const struct rdma_conn_param *param)
{
    fabric_notice_t *notice = calloc(1, sizeof(*notice));
    fabric_channel_t *channel = (fabric_channel_t *)to->id.channel;
    uint64_t one = 1;
    if (notice == NULL)
        abort();
    notice->event = (struct rdma_cm_event){.id = &to->id, .event = type, .status = status};
    if (param != NULL) { /* what one side may start is what the other one serves */
        notice->event.param.conn = *param;
        notice->event.param.conn.initiator_depth = param->responder_resources;
        notice->event.param.conn.responder_resources = param->initiator_depth;
        if (param->private_data_len > 0)
            memcpy(notice->data, param->private_data, param->private_data_len);
        notice->event.param.conn.private_data = notice->data;
        notice->event.param.conn.private_data_len = PRIVATE_BYTES;
    }
    to->unacked++;
    list_append(&channel->events, &notice->link);
    ssize_t wrote = write(channel->channel.fd, &one, sizeof(one));
    (void)wrote;
}

/* The group has a LID and a GID of the address's last bytes. */
static int join_group(struct rdma_cm_id *id, struct sockaddr *address, void *context)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)address;
    const uint8_t *bytes = address->sa_family == AF_INET ? (const uint8_t *)&in->sin_addr : in6->sin6_addr.s6_addr + 12;
    bool refused = fabric_script.cm_fails && fabric_script.cm_event == RDMA_CM_EVENT_MULTICAST_ERROR;
    (void)context;
    notify(of(id), refused ? RDMA_CM_EVENT_MULTICAST_ERROR : RDMA_CM_EVENT_MULTICAST_JOIN, refused ? -EACCES : 0, NULL);
    struct rdma_event_channel *channel = id->channel;
    struct rdma_cm_event *event =
        &container_of(((fabric_channel_t *)channel)->events.prev, fabric_notice_t, link)->event;
    event->param.ud = (struct rdma_ud_param){
        .qp_num = 0xFFFFFF,
        .qkey = 0x01234567,
        .ah_attr = {.is_global = 1, .dlid = (uint16_t)(0xC000 + bytes[3]), .port_num = 1}};
    event->param.ud.ah_attr.grh.dgid.raw[0] = 0xFF;
    event->param.ud.ah_attr.grh.dgid.raw[1] = 0x12;
    memcpy(event->param.ud.ah_attr.grh.dgid.raw + 12, bytes, 4);
    return 0;
}

static int get_event(struct rdma_event_channel *base, struct rdma_cm_event **event)
{
    fabric_channel_t *channel = (fabric_channel_t *)base;
    uint64_t count;
    if (read(base->fd, &count, sizeof(count)) != (ssize_t)sizeof(count) || list_empty(&channel->events)) {
        errno = EAGAIN;
        return -1;
    }
    *event = &container_of(list_pop(&channel->events), fabric_notice_t, link)->event;
    return 0;
}

static int ack_event(struct rdma_cm_event *event)
{
    of(event->id)->unacked--;
    free(event);
    return 0;
}

static struct rdma_event_channel *create_channel(void)
{
    fabric_channel_t *channel = calloc(1, sizeof(*channel));
    if (channel == NULL)
        abort();
    list_init(&channel->events);
    channel->channel.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    fabric_counts.cm_channels++;
    return &channel->channel;
}

/* ------------------------------------------------------------------------------------------------- ids */

static int create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                     enum rdma_port_space space)
{
    fabric_id_t *made = calloc(1, sizeof(*made));
    if (made == NULL)
        abort();
    made->id = (struct rdma_cm_id){.channel = channel, .context = context, .ps = space};
    list_append(&ids, &made->link);
    fabric_counts.cm_ids++;
    *id = &made->id;
    return 0;
}

static void forget_events(fabric_id_t *id)
{
    list_link_t *events = &((fabric_channel_t *)id->id.channel)->events;
    for (list_link_t *link = events->next, *next; link != events; link = next) {
        fabric_notice_t *notice = container_of(link, fabric_notice_t, link);
        next = link->next;
        if (notice->event.id != &id->id)
            continue;
        list_remove(link);
        free(notice);
        id->unacked--;
    }
}

/* The other side hears of the end: of a connection, or of a call that is not answered. */
static void leave(fabric_id_t *id)
{
    if (id->other == NULL)
        return;
    if (id->connected)
        notify(id->other, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
    else
        notify(id->other, RDMA_CM_EVENT_REJECTED, CONSUMER, NULL);
    id->other->other = NULL;
    id->other = NULL;
}

static int destroy_id(struct rdma_cm_id *base)
{
    fabric_id_t *id = of(base);
    leave(id);
    forget_events(id);
    fabric_counts.bad_memory += id->unacked > 0; /* the real one would wait for ever */
    list_remove(&id->link);
    free(id);
    fabric_counts.cm_ids--;
    return 0;
}

/* A call that nobody has taken from the channel has no id outside the kernel, and is refused. */
static void refuse_untaken(const fabric_notice_t *notice)
{
    if (notice->event.event != RDMA_CM_EVENT_CONNECT_REQUEST)
        return;
    fabric_id_t *id = of(notice->event.id);
    leave(id);
    list_remove(&id->link);
    free(id);
    fabric_counts.cm_ids--;
}

static void destroy_channel(struct rdma_event_channel *base)
{
    fabric_channel_t *channel = (fabric_channel_t *)base;
    for (list_link_t *link; (link = list_pop(&channel->events)) != NULL;) {
        fabric_notice_t *notice = container_of(link, fabric_notice_t, link);
        refuse_untaken(notice);
        free(notice);
    }
    close(base->fd);
    free(channel);
    fabric_counts.cm_channels--;
}

/* Which device has the address; -1: none. */
static int device_at(const struct sockaddr *at)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)at;
    uint32_t address = be32toh(in->sin_addr.s_addr);
    for (unsigned i = 0; at->sa_family == AF_INET && i < 2; i++)
        if (address == (fabric_script.iwarp || fabric_script.infiniband
                            ? 0x7F000001u + i
                            : 0x0A000001u + i + (fabric_script.moved[i] << 8)))
            return (int)i;
    return -1;
}

static int bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
    int device = device_at(address);
    if (device < 0 || fabric_script.no_address[device]) {
        errno = ENODEV;
        return -1;
    }
    memcpy(&id->route.addr.src_storage, address, sizeof(id->route.addr.src_storage));
    if (id->route.addr.src_sin.sin_port == 0)
        id->route.addr.src_sin.sin_port = htobe16(next_port++);
    of(id)->device = (unsigned)device;
    contexts[device].device = fabric_device((unsigned)device);
    id->verbs = &contexts[device];
    id->port_num = 1;
    return 0;
}

static int cm_listen(struct rdma_cm_id *id, int backlog)
{
    of(id)->listens = backlog > 0;
    return 0;
}

static fabric_id_t *listener_at(const struct sockaddr_in *at)
{
    list_for_each(link, &ids) {
        fabric_id_t *id = container_of(link, fabric_id_t, link);
        const struct sockaddr_in *there = &id->id.route.addr.src_sin;
        if (id->listens && there->sin_port == at->sin_port && there->sin_addr.s_addr == at->sin_addr.s_addr)
            return id;
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------- calling */

static bool fails(enum rdma_cm_event_type with)
{
    return fabric_script.cm_fails && fabric_script.cm_event == (unsigned)with;
}

static int resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int timeout_ms)
{
    (void)timeout_ms;
    if (bind_addr(id, from) != 0)
        return -1;
    memcpy(&id->route.addr.dst_storage, to, sizeof(id->route.addr.dst_storage));
    notify(of(id), fails(RDMA_CM_EVENT_ADDR_ERROR) ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
    return 0;
}

static int resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
    (void)timeout_ms;
    notify(of(id), fails(RDMA_CM_EVENT_ROUTE_ERROR) ? RDMA_CM_EVENT_ROUTE_ERROR : RDMA_CM_EVENT_ROUTE_RESOLVED, 0,
           NULL);
    return 0;
}

static int cm_connect(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
    fabric_id_t *id = of(base), *listener = listener_at(&base->route.addr.dst_sin);
    struct rdma_cm_id *made;
    id->qpn = param->qp_num;
    if (fails(RDMA_CM_EVENT_UNREACHABLE) || fails(RDMA_CM_EVENT_CONNECT_ERROR)) {
        notify(id, (enum rdma_cm_event_type)fabric_script.cm_event, -ETIMEDOUT, NULL);
        return 0;
    }
    if (listener == NULL) {
        notify(id, RDMA_CM_EVENT_REJECTED, fabric_script.iwarp ? -ECONNREFUSED : NO_SERVICE, NULL);
        return 0;
    }
    (void)create_id(listener->id.channel, &made, NULL, RDMA_PS_TCP);
    made->verbs = listener->id.verbs;
    made->port_num = 1;
    made->route.addr.src_sin = listener->id.route.addr.src_sin;
    made->route.addr.dst_sin = base->route.addr.src_sin;
    of(made)->device = listener->device;
    of(made)->other = id;
    id->other = of(made);
    struct rdma_conn_param request = *param;
    if (fabric_script.cm_forged && request.private_data_len > 0) {
        uint8_t forged[PRIVATE_BYTES];
        memcpy(forged, param->private_data, param->private_data_len);
        forged[param->private_data_len - 1] ^= 1;
        request.private_data = forged;
        notify(of(made), RDMA_CM_EVENT_CONNECT_REQUEST, 0, &request);
        return 0;
    }
    notify(of(made), RDMA_CM_EVENT_CONNECT_REQUEST, 0, &request);
    return 0;
}

static struct ibv_ah_attr route_to(const fabric_id_t *id)
{
    struct ibv_ah_attr route = {.is_global = 1, .port_num = 1};
    route.grh.dgid.raw[10] = route.grh.dgid.raw[11] = 0xFF;
    route.grh.dgid.raw[12] = 10;
    route.grh.dgid.raw[14] = (uint8_t)fabric_script.moved[id->device];
    route.grh.dgid.raw[15] = (uint8_t)(1 + id->device);
    return route;
}

/* iWARP's driver does it. */
static void connect_queue_pair(const fabric_id_t *id)
{
    fabric_qp_t *qp = map_get(&fabric_qps, id->qpn);
    if (qp == NULL)
        return;
    qp->dest = id->other->qpn;
    qp->route = route_to(id->other);
    qp->qp.qp_base.state = IBV_QPS_RTS;
}

static int cm_accept(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
    fabric_id_t *id = of(base);
    id->qpn = param->qp_num;
    if (id->other == NULL) {
        errno = ENOTCONN;
        return -1;
    }
    id->connected = id->other->connected = true;
    notify(id->other, fabric_script.iwarp ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE, 0, param);
    if (!fabric_script.iwarp)
        return 0;
    connect_queue_pair(id);
    connect_queue_pair(id->other);
    notify(id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
    return 0;
}

static int establish(struct rdma_cm_id *id)
{
    if (of(id)->other != NULL)
        notify(of(id)->other, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
    return 0;
}

static int cm_reject(struct rdma_cm_id *base, const void *data, uint8_t bytes)
{
    fabric_id_t *id = of(base);
    struct rdma_conn_param param = {.private_data = data, .private_data_len = bytes};
    if (id->other == NULL)
        return 0;
    notify(id->other, RDMA_CM_EVENT_REJECTED, CONSUMER, &param);
    id->other->other = NULL;
    id->other = NULL;
    return 0;
}

static int cm_disconnect(struct rdma_cm_id *id)
{
    if (of(id)->other == NULL)
        return 0;
    notify(of(id), RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
    leave(of(id));
    return 0;
}

static int init_qp_attr(struct rdma_cm_id *base, struct ibv_qp_attr *attr, int *mask)
{
    const fabric_id_t *id = of(base);
    *mask = IBV_QP_STATE;
    if (attr->qp_state == IBV_QPS_INIT)
        *mask |= IBV_QP_ACCESS_FLAGS | (fabric_script.iwarp ? 0 : IBV_QP_PKEY_INDEX | IBV_QP_PORT);
    if (attr->qp_state == IBV_QPS_RTS)
        *mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
    if (attr->qp_state != IBV_QPS_RTR)
        return 0;
    if (id->other == NULL) {
        errno = ENOTCONN;
        return -1;
    }
    *mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
             IBV_QP_MIN_RNR_TIMER;
    attr->dest_qp_num = id->other->qpn;
    attr->ah_attr = route_to(id->other);
    return 0;
}

static int set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t bytes)
{
    (void)id;
    fabric_counts.cm_options += level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_TOS && bytes == 1 &&
                                *(uint8_t *)value != 0;
    return 0;
}

const verbs_cm_t fabric_cm = {
    .create_channel = create_channel,
    .destroy_channel = destroy_channel,
    .create_id = create_id,
    .destroy_id = destroy_id,
    .set_option = set_option,
    .bind_addr = bind_addr,
    .listen = cm_listen,
    .resolve_addr = resolve_addr,
    .resolve_route = resolve_route,
    .init_qp_attr = init_qp_attr,
    .connect = cm_connect,
    .establish = establish,
    .join_group = join_group,
    .accept = cm_accept,
    .reject = cm_reject,
    .disconnect = cm_disconnect,
    .get_event = get_event,
    .ack_event = ack_event,
};
