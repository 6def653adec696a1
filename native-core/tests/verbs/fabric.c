/* SPDX-License-Identifier: Apache-2.0
 * fabric.c - the objects of the scripted libibverbs: made, changed, destroyed, counted. */
#include <endian.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric_private.h"
#include "tl/verbs/verbs_cm.h"

#define DEVICES 2u
#define REMOTE (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

fabric_script_t fabric_script;
fabric_counts_t fabric_counts;
fabric_context_t *fabric_contexts[16];
map_t fabric_qps, fabric_mrs;

static struct ibv_device devices[DEVICES];
static unsigned device_count;
static bool device_dead[DEVICES];
static uint32_t next_number = 16;
static uint64_t random_state;
static _Atomic int neighbours[DEVICES]; /* enum fabric_neighbour; these three are read and changed by any thread */
static _Atomic unsigned asked, asking;

uint64_t fabric_random(void)
{
    uint64_t x = (random_state += UINT64_C(0x9e3779b97f4a7c15)) + fabric_script.seed;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

bool fabric_lucky(unsigned ppm)
{
    return ppm > 0 && fabric_random() % 1000000 < ppm;
}

static void *make(size_t bytes, uint64_t *count)
{
    void *object = calloc(1, bytes);
    if (object == NULL)
        abort();
    (*count)++;
    return object;
}

/* --------------------------------------------------------------------------------------------- devices */

struct ibv_device *fabric_device(unsigned device)
{
    return &devices[device];
}

static struct ibv_device **get_device_list(int *count)
{
    struct ibv_device **list = calloc(DEVICES + 1, sizeof(*list)); /* NOLINT: array of pointers */
    *count = (int)device_count;
    for (unsigned i = 0; list != NULL && i < device_count; i++) {
        (void)snprintf(devices[i].name, sizeof(devices[i].name), "fab%u", i);
        devices[i].transport_type = fabric_script.iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
        list[i] = &devices[i];
    }
    return list;
}

static void free_device_list(struct ibv_device **list)
{
    free(list);
}

static const char *get_device_name(struct ibv_device *device)
{
    return device->name;
}

static uint16_t fabric_lid(unsigned device)
{
    return (uint16_t)(1 + device + 16 * fabric_script.moved[device]);
}

static int query_port_ex(struct ibv_context *context, uint8_t number, struct ibv_port_attr *attr, size_t bytes)
{
    unsigned mtu = fabric_script.mtu != 0 ? fabric_script.mtu : 4096;
    memset(attr, 0, bytes);
    if (number != 1)
        return EINVAL;
    attr->state = fabric_script.port_state != 0 ? (enum ibv_port_state)fabric_script.port_state : IBV_PORT_ACTIVE;
    attr->active_mtu = mtu == 1024 ? IBV_MTU_1024 : mtu == 2048 ? IBV_MTU_2048 : IBV_MTU_4096;
    attr->gid_tbl_len = 4;
    attr->max_msg_sz = 8u << 20;
    attr->lid = fabric_lid(fabric_context_of(context)->device);
    attr->link_layer = fabric_script.infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
    return 0;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

static struct ibv_context *open_device(struct ibv_device *device)
{
    fabric_context_t *context = make(sizeof(*context), &fabric_counts.contexts);
    unsigned at = 0;
    context->device = (unsigned)(device - devices);
    list_init(&context->qps);
    context->v.sz = sizeof(context->v);
    context->v.query_port = query_port_ex;
    context->v.create_qp_ex = fabric_script.classic ? NULL : create_qp_ex;
    context->v.context = (struct ibv_context){.device = device, .abi_compat = __VERBS_ABI_IS_EXTENDED,
                                              .async_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC), .cmd_fd = -1,
                                              .num_comp_vectors = 1};
    context->v.context.ops.poll_cq = fabric_poll_cq;
    context->v.context.ops.req_notify_cq = fabric_req_notify_cq;
    context->v.context.ops.post_send = fabric_post_send;
    context->v.context.ops.post_recv = fabric_post_recv;
    context->v.context.ops.post_srq_recv = fabric_post_srq_recv;
    while (at < 16 && fabric_contexts[at] != NULL)
        at++;
    if (at == 16 || context->v.context.async_fd < 0)
        abort();
    fabric_contexts[at] = context;
    return &context->v.context;
}

static int close_device(struct ibv_context *base)
{
    fabric_context_t *context = fabric_context_of(base);
    for (unsigned i = 0; i < 16; i++)
        if (fabric_contexts[i] == context)
            fabric_contexts[i] = NULL;
    close(base->async_fd);
    free(context);
    fabric_counts.contexts--;
    return 0;
}

int fabric_read_pieces(void)
{
    return fabric_script.read_pieces != 0 ? (int)fabric_script.read_pieces : FABRIC_SGES;
}

static int query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    (void)context;
    *attr = (struct ibv_device_attr){.phys_port_cnt = 1, .max_qp = 65536, .max_qp_wr = 16384, .max_sge = FABRIC_SGES,
                                     .max_sge_rd = fabric_read_pieces(), .max_cqe = 32767, .max_srq_wr = 16384, .max_qp_rd_atom = 16,
                                     .max_qp_init_rd_atom = 16, .max_mr_size = UINT64_MAX};
    return 0;
}

static int query_gid(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
                     uint32_t flags, size_t bytes)
{
    unsigned device = fabric_context_of(context)->device;
    (void)port;
    (void)flags;
    (void)bytes;
    if (fabric_script.no_address[device])
        return ENODATA;
    *entry = (struct ibv_gid_entry){.gid_index = index, .port_num = 1, .gid_type = IBV_GID_TYPE_ROCE_V2};
    uint8_t *gid = entry->gid.raw;
    switch (index) {
    case 0: gid[0] = 0xFE; gid[1] = 0x80; break;
    case 1: gid[0] = 0xFD; gid[1] = 0x01; break;
    case 2: entry->gid_type = IBV_GID_TYPE_ROCE_V1; /* the same address, as the kernel lists it */ /* fall through */
    case 3: gid[10] = gid[11] = 0xFF; gid[12] = 10; break;
    default: return ENODATA;
    }
    gid[14] = (uint8_t)fabric_script.moved[device];
    gid[15] = (uint8_t)(1 + device);
    return 0;
}

static int query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
    (void)context;
    (void)port;
    (void)index;
    *pkey = htobe16((uint16_t)(fabric_script.pkey != 0 ? fabric_script.pkey : 0xFFFF));
    return 0;
}

/* Whether the device has the port that a route leads to. */
bool fabric_is_at(const struct ibv_context *context, const struct ibv_ah_attr *route)
{
    struct ibv_context *there = (struct ibv_context *)(uintptr_t)context;
    struct ibv_gid_entry entry;
    if (!route->is_global)
        return route->dlid == fabric_lid(fabric_context_of(there)->device);
    for (uint32_t i = 0; i < 4; i++)
        if (query_gid(there, 1, i, &entry, 0, sizeof(entry)) == 0 && memcmp(entry.gid.raw, route->grh.dgid.raw, 16) == 0)
            return true;
    return false;
}

/* -------------------------------------------------------------------------------- domains, memory, queues */

static struct ibv_pd *alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = make(sizeof(*pd), &fabric_counts.pds);
    pd->context = context;
    return pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    fabric_counts.pds--;
    return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *address, size_t length, uint64_t device_address,
                                      unsigned access)
{
    (void)device_address; /* the same */
    if (fabric_script.fail_register_at > 0 && --fabric_script.fail_register_at == 0) {
        errno = ENOMEM;
        return NULL;
    }
    fabric_mr_t *mr = make(sizeof(*mr), &fabric_counts.mrs);
    mr->access = (int)access;
    fabric_counts.served += (access & REMOTE) != 0;
    next_number++;
    mr->mr = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = address, .length = length,
                             .lkey = next_number, .rkey = next_number};
    if (map_put(&fabric_mrs, mr->mr.lkey, mr) < 0)
        abort();
    return &mr->mr;
}

static int deregister_memory(struct ibv_mr *mr)
{
    (void)map_remove(&fabric_mrs, mr->lkey);
    fabric_counts.served -= (((fabric_mr_t *)mr)->access & REMOTE) != 0;
    free(mr);
    fabric_counts.mrs--;
    return 0;
}

static struct ibv_comp_channel *create_channel(struct ibv_context *context)
{
    struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));
    if (channel == NULL)
        abort();
    channel->context = context;
    channel->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    return channel;
}

static int destroy_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    free(channel);
    return 0;
}

static struct ibv_cq *create_cq(struct ibv_context *context, int entries, void *arg, struct ibv_comp_channel *channel,
                                int vector)
{
    fabric_cq_t *cq = make(sizeof(*cq), &fabric_counts.cqs);
    (void)vector;
    cq->cq = (struct ibv_cq){.context = context, .channel = channel, .cq_context = arg, .cqe = entries};
    cq->capacity = (unsigned)entries;
    cq->wcs = calloc(cq->capacity, sizeof(*cq->wcs));
    if (cq->wcs == NULL)
        abort();
    return &cq->cq;
}

static int destroy_cq(struct ibv_cq *cq)
{
    free(((fabric_cq_t *)cq)->wcs);
    free(cq);
    fabric_counts.cqs--;
    return 0;
}

static int get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **arg)
{
    uint64_t count;
    *cq = NULL;
    *arg = NULL;
    return read(channel->fd, &count, sizeof(count)) == (ssize_t)sizeof(count) ? 0 : -1;
}

static void ack_cq_events(struct ibv_cq *cq, unsigned count)
{
    (void)cq;
    (void)count;
}

static struct ibv_srq *create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    fabric_srq_t *srq = make(sizeof(*srq), &fabric_counts.srqs);
    srq->srq = (struct ibv_srq){.context = pd->context, .pd = pd};
    srq->max = attr->attr.max_wr;
    list_init(&srq->receives);
    return &srq->srq;
}

static int destroy_srq(struct ibv_srq *srq)
{
    fabric_drop_receives((fabric_srq_t *)srq);
    free(srq);
    fabric_counts.srqs--;
    return 0;
}

/* ------------------------------------------------------------------------------------------ queue pairs */

static fabric_qp_t *new_qp(struct ibv_pd *pd, enum ibv_qp_type type, struct ibv_qp_cap *cap)
{
    if (fabric_script.iwarp && type != IBV_QPT_RC) {
        errno = EINVAL;
        return NULL;
    }
    fabric_qp_t *qp = make(sizeof(*qp), &fabric_counts.qps);
    if (fabric_counts.qps > fabric_counts.most_qps)
        fabric_counts.most_qps = fabric_counts.qps;
    if (cap->max_inline_data > fabric_script.inline_max)
        cap->max_inline_data = fabric_script.inline_max;
    qp->inline_max = cap->max_inline_data;
    qp->max = cap->max_send_wr;
    qp->own.max = cap->max_recv_wr;
    struct ibv_qp *base = &qp->qp.qp_base;
    base->context = pd->context;
    base->pd = pd;
    base->qp_type = type;
    base->qp_num = ++next_number;
    list_init(&qp->requests);
    list_init(&qp->own.receives);
    list_append(&fabric_context_of(pd->context)->qps, &qp->link);
    if (map_put(&fabric_qps, base->qp_num, qp) < 0)
        abort();
    return qp;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    fabric_qp_t *qp = new_qp(pd, attr->qp_type, &attr->cap);
    if (qp == NULL)
        return NULL;
    qp->srq = (fabric_srq_t *)attr->srq;
    qp->qp.qp_base.send_cq = attr->send_cq;
    qp->qp.qp_base.recv_cq = attr->recv_cq;
    qp->qp.qp_base.srq = attr->srq;
    return &qp->qp.qp_base;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
    struct ibv_qp_init_attr classic = {.send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .srq = attr->srq,
                                       .cap = attr->cap, .qp_type = attr->qp_type};
    (void)context;
    struct ibv_qp *qp = create_qp(attr->pd, &classic);
    if (qp == NULL)
        return NULL;
    attr->cap = classic.cap;
    fabric_wr_calls((struct ibv_qp_ex *)qp);
    return qp;
}

static struct ibv_qp_ex *extended_qp(struct ibv_qp *qp)
{
    return (struct ibv_qp_ex *)qp;
}

static void add_event(fabric_context_t *context, struct ibv_async_event event)
{
    uint64_t one = 1;
    if (context->event_count == FABRIC_EVENTS)
        return;
    context->events[context->event_count++] = event;
    ssize_t wrote = write(context->v.context.async_fd, &one, sizeof(one));
    (void)wrote;
}

static int modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
    fabric_qp_t *qp = (fabric_qp_t *)base;
    if (device_dead[fabric_context_of(base->context)->device])
        return EIO;
    if ((mask & IBV_QP_QKEY) != 0)
        qp->qkey = attr->qkey;
    if ((mask & IBV_QP_DEST_QPN) != 0)
        qp->dest = attr->dest_qp_num;
    if ((mask & IBV_QP_ACCESS_FLAGS) != 0)
        qp->access = (int)attr->qp_access_flags;
    if ((mask & IBV_QP_AV) != 0)
        qp->route = attr->ah_attr;
    if (fabric_script.iwarp && (attr->qp_state == IBV_QPS_RTR || attr->qp_state == IBV_QPS_RTS))
        return EINVAL; /* its driver's business */
    if (attr->qp_state == IBV_QPS_RTR && base->state != IBV_QPS_INIT)
        return EINVAL;
    if (attr->qp_state == IBV_QPS_RTS && base->state != IBV_QPS_RTR)
        return EINVAL;
    if (attr->qp_state == IBV_QPS_ERR) {
        fabric_fail_qp(qp, IBV_WC_WR_FLUSH_ERR);
        if (qp->srq != NULL)
            add_event(fabric_context_of(base->context),
                      (struct ibv_async_event){.element.qp = base, .event_type = IBV_EVENT_QP_LAST_WQE_REACHED});
    }
    if (attr->qp_state == IBV_QPS_RESET) {
        fabric_drop_requests(qp);
        fabric_drop_receives(&qp->own);
    }
    base->state = attr->qp_state;
    return 0;
}

/* As the kernel's soft-RoCE: completions that are in the queue stay there. */
static int destroy_qp(struct ibv_qp *base)
{
    fabric_qp_t *qp = (fabric_qp_t *)base;
    if (qp->group_count > 0)
        return EBUSY;
    fabric_counts.hasty += qp->srq != NULL && base->state != IBV_QPS_ERR && base->state > IBV_QPS_INIT;
    fabric_drop_requests(qp);
    fabric_drop_receives(&qp->own);
    list_remove(&qp->link);
    (void)map_remove(&fabric_qps, base->qp_num);
    free(qp);
    fabric_counts.qps--;
    return 0;
}

void fabric_set_neighbour(unsigned device, enum fabric_neighbour how)
{
    neighbours[device] = how;
}

unsigned fabric_asked(void)
{
    return asked;
}

unsigned fabric_asking(void)
{
    return asking;
}

/* The last byte of a GID is one more than the device. */
static bool answers(const struct ibv_ah_attr *attr)
{
    unsigned device = attr->is_global ? attr->grh.dgid.raw[15] - 1u : DEVICES;
    asked++;
    asking++;
    while (device < DEVICES && neighbours[device] == FABRIC_HELD)
        usleep(500);
    asking--;
    return device >= DEVICES || neighbours[device] == FABRIC_ANSWERS;
}

/* Any thread. */
static struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    if (!answers(attr)) {
        errno = ETIMEDOUT;
        return NULL;
    }
    fabric_ah_t *ah = calloc(1, sizeof(*ah));
    if (ah == NULL)
        abort();
    __atomic_add_fetch(&fabric_counts.ahs, 1, __ATOMIC_RELAXED);
    ah->ah.context = pd->context;
    ah->ah.pd = pd;
    ah->route = *attr;
    return &ah->ah;
}

/* A request that names it is still in the device's hands: soft-RoCE would drop its datagram. */
static bool is_named(const struct ibv_ah *ah)
{
    size_t cursor = 0;
    for (const fabric_qp_t *qp; (qp = map_next(&fabric_qps, &cursor, NULL)) != NULL;) {
        if (qp->qp.qp_base.qp_type != IBV_QPT_UD)
            continue;
        list_for_each(link, &qp->requests)
            if (container_of(link, fabric_request_t, link)->wr.wr.ud.ah == ah)
                return true;
    }
    return false;
}

static int destroy_ah(struct ibv_ah *ah)
{
    fabric_counts.bad_memory += is_named(ah);
    free(ah);
    __atomic_sub_fetch(&fabric_counts.ahs, 1, __ATOMIC_RELAXED);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- events */

static int get_async_event(struct ibv_context *base, struct ibv_async_event *event)
{
    fabric_context_t *context = fabric_context_of(base);
    uint64_t count;
    if (context->event_count == 0 || read(base->async_fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
        return -1;
    *event = context->events[0];
    memmove(&context->events[0], &context->events[1], --context->event_count * sizeof(context->events[0]));
    return 0;
}

static void ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}

static const char *event_text(enum ibv_event_type event)
{
    return event == IBV_EVENT_DEVICE_FATAL ? "local catastrophic error" : event == IBV_EVENT_PORT_ERR ? "port error"
                                                                                                        : "an event";
}

static const char *status_text(enum ibv_wc_status status)
{
    static const char *const TEXTS[] = {[IBV_WC_SUCCESS] = "success", [IBV_WC_WR_FLUSH_ERR] = "flushed",
                                        [IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
                                        [IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded"};
    bool known = status < sizeof(TEXTS) / sizeof(TEXTS[0]) && TEXTS[status] != NULL;
    return known ? TEXTS[status] : "an error";
}

static void tell(unsigned device, enum ibv_event_type type)
{
    for (unsigned i = 0; i < 16; i++)
        if (fabric_contexts[i] != NULL && fabric_contexts[i]->device == device)
            add_event(fabric_contexts[i], (struct ibv_async_event){.event_type = type});
}

static void fail_qps(unsigned device, bool connections_only, enum ibv_wc_status status)
{
    for (unsigned i = 0; i < 16; i++) {
        const fabric_context_t *context = fabric_contexts[i];
        if (context == NULL || context->device != device)
            continue;
        list_for_each(link, &context->qps) {
            fabric_qp_t *qp = container_of(link, fabric_qp_t, link);
            if (!connections_only || qp->qp.qp_base.qp_type == IBV_QPT_RC)
                fabric_fail_qp(qp, status);
        }
    }
}

void fabric_kill_device(unsigned device)
{
    device_dead[device] = true;
    fail_qps(device, false, IBV_WC_FATAL_ERR);
    tell(device, IBV_EVENT_DEVICE_FATAL);
}

void fabric_event(unsigned device, unsigned type)
{
    tell(device, (enum ibv_event_type)type);
}

void fabric_port_event(unsigned device, bool up)
{
    tell(device, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

void fabric_forget_connections(void)
{
    size_t cursor = 0;
    for (fabric_qp_t *qp; (qp = map_next(&fabric_qps, &cursor, NULL)) != NULL;)
        if (qp->qp.qp_base.qp_type == IBV_QPT_RC)
            qp->dest = 0;
}

void fabric_break_all_connections(unsigned status)
{
    for (unsigned i = 0; i < device_count; i++)
        fail_qps(i, true, (enum ibv_wc_status)status);
}

unsigned fabric_connections_with(uint64_t bytes)
{
    size_t cursor = 0;
    unsigned count = 0;
    for (const fabric_qp_t *qp; (qp = map_next(&fabric_qps, &cursor, NULL)) != NULL;)
        count += qp->qp.qp_base.qp_type == IBV_QPT_RC && qp->bytes >= bytes;
    return count;
}

static const verbs_api_t API = {
    .get_device_list = get_device_list, .free_device_list = free_device_list, .get_device_name = get_device_name,
    .open_device = open_device, .close_device = close_device, .query_device = query_device, .query_gid = query_gid, .query_pkey = query_pkey,
    .alloc_pd = alloc_pd, .dealloc_pd = dealloc_pd, .register_memory = register_memory,
    .deregister_memory = deregister_memory, .create_channel = create_channel, .destroy_channel = destroy_channel,
    .create_cq = create_cq, .destroy_cq = destroy_cq, .get_cq_event = get_cq_event, .ack_cq_events = ack_cq_events,
    .create_srq = create_srq, .destroy_srq = destroy_srq, .create_qp = create_qp, .extended_qp = extended_qp,
    .modify_qp = modify_qp, .destroy_qp = destroy_qp, .create_ah = create_ah, .destroy_ah = destroy_ah,
    .attach_group = fabric_attach_group, .detach_group = fabric_detach_group, .get_async_event = get_async_event, .ack_async_event = ack_async_event, .event_text = event_text,
    .status_text = status_text,
};

void fabric_install(unsigned count)
{
    memset(&fabric_script, 0, sizeof(fabric_script));
    memset(&fabric_counts, 0, sizeof(fabric_counts));
    memset(device_dead, 0, sizeof(device_dead));
    for (unsigned i = 0; i < DEVICES; i++)
        fabric_set_neighbour(i, FABRIC_ANSWERS);
    asked = 0;
    fabric_script.inline_max = 128;
    random_state = 0;
    device_count = count < DEVICES ? count : DEVICES;
    map_init(&fabric_qps);
    map_init(&fabric_mrs);
    verbs_api_replace(&API);
    verbs_cm_replace(&fabric_cm);
}

void fabric_remove(void)
{
    verbs_api_replace(NULL);
    verbs_cm_replace(NULL);
    map_free(&fabric_qps);
    map_free(&fabric_mrs);
}
