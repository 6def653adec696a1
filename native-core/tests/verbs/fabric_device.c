/* SPDX-License-Identifier: Apache-2.0
 * fabric_device.c - devices of the scripted libibverbs: ports, addresses, events. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric_private.h"

fabric_context_t *fabric_contexts[FABRIC_CONTEXTS];

static struct ibv_device devices[FABRIC_DEVICES];
static unsigned count;

struct ibv_device *fabric_device(unsigned device)
{
    return &devices[device];
}

static struct ibv_device **get_device_list(int *found)
{
    struct ibv_device **list = calloc(FABRIC_DEVICES + 1, sizeof(*list)); /* NOLINT: array of pointers */
    *found = (int)count;
    for (unsigned i = 0; list != NULL && i < count; i++) {
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

static struct ibv_context *open_device(struct ibv_device *device)
{
    FABRIC_GUARD;
    fabric_context_t *context = fabric_make(sizeof(*context), &fabric_counts.contexts);
    unsigned at = 0;
    context->device = (unsigned)(device - devices);
    list_init(&context->qps);
    context->v.sz = sizeof(context->v);
    context->v.query_port = query_port_ex;
    context->v.create_qp_ex = fabric_script.classic ? NULL : fabric_create_qp_ex;
    context->v.context = (struct ibv_context){.device = device,
                                              .abi_compat = __VERBS_ABI_IS_EXTENDED,
                                              .async_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC),
                                              .cmd_fd = eventfd(0, EFD_CLOEXEC),
                                              .num_comp_vectors = 1};
    context->v.context.ops.poll_cq = fabric_poll_cq;
    context->v.context.ops.req_notify_cq = fabric_req_notify_cq;
    context->v.context.ops.post_send = fabric_post_send;
    context->v.context.ops.post_recv = fabric_post_recv;
    context->v.context.ops.post_srq_recv = fabric_post_srq_recv;
    while (at < FABRIC_CONTEXTS && fabric_contexts[at] != NULL)
        at++;
    if (at == FABRIC_CONTEXTS || context->v.context.async_fd < 0 || context->v.context.cmd_fd < 0)
        abort();
    fabric_contexts[at] = context;
    return &context->v.context;
}

unsigned fabric_descriptors(int fds[FABRIC_DESCRIPTORS])
{
    unsigned found = 0;
    for (unsigned at = 0; at < FABRIC_CONTEXTS; at++) {
        if (fabric_contexts[at] == NULL)
            continue;
        fds[found++] = fabric_contexts[at]->v.context.cmd_fd;
        fds[found++] = fabric_contexts[at]->v.context.async_fd;
    }
    return found;
}

static int close_device(struct ibv_context *base)
{
    FABRIC_GUARD;
    fabric_context_t *context = fabric_context_of(base);
    for (unsigned i = 0; i < FABRIC_CONTEXTS; i++)
        if (fabric_contexts[i] == context)
            fabric_contexts[i] = NULL;
    close(base->async_fd);
    close(base->cmd_fd);
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
    *attr = (struct ibv_device_attr){.phys_port_cnt = 1,
                                     .max_qp = 65536,
                                     .max_qp_wr = 16384,
                                     .max_sge = FABRIC_SGES,
                                     .max_sge_rd = fabric_read_pieces(),
                                     .max_cqe = 32767,
                                     .max_srq_wr = fabric_script.srq_most != 0 ? (int)fabric_script.srq_most : 16384,
                                     .max_qp_rd_atom = 16,
                                     .max_qp_init_rd_atom = 16,
                                     .max_mr_size = UINT64_MAX};
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
    case 0:
        gid[0] = 0xFE;
        gid[1] = 0x80;
        break;
    case 1:
        gid[0] = 0xFD;
        gid[1] = 0x01;
        break;
    case 2: entry->gid_type = IBV_GID_TYPE_ROCE_V1; /* the same address, as the kernel lists it */ /* fall through */
    case 3:
        gid[10] = gid[11] = 0xFF;
        gid[12] = 10;
        break;
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
        if (query_gid(there, 1, i, &entry, 0, sizeof(entry)) == 0 &&
            memcmp(entry.gid.raw, route->grh.dgid.raw, 16) == 0)
            return true;
    return false;
}

void fabric_add_event(fabric_context_t *context, struct ibv_async_event event)
{
    FABRIC_GUARD;
    uint64_t one = 1;
    if (context->event_count == FABRIC_EVENTS)
        return;
    context->events[context->event_count++] = event;
    ssize_t wrote = write(context->v.context.async_fd, &one, sizeof(one));
    (void)wrote;
}

static int get_async_event(struct ibv_context *base, struct ibv_async_event *event)
{
    FABRIC_GUARD;
    fabric_context_t *context = fabric_context_of(base);
    uint64_t one;
    if (context->event_count == 0 || read(base->async_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
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
    return event == IBV_EVENT_DEVICE_FATAL ? "local catastrophic error"
           : event == IBV_EVENT_PORT_ERR   ? "port error"
                                           : "an event";
}

void fabric_device_reset(unsigned devices_wanted)
{
    count = devices_wanted < FABRIC_DEVICES ? devices_wanted : FABRIC_DEVICES;
}

void fabric_device_calls(verbs_api_t *api)
{
    api->get_device_list = get_device_list;
    api->free_device_list = free_device_list;
    api->get_device_name = get_device_name;
    api->open_device = open_device;
    api->close_device = close_device;
    api->query_device = query_device;
    api->query_gid = query_gid;
    api->query_pkey = query_pkey;
    api->get_async_event = get_async_event;
    api->ack_async_event = ack_async_event;
    api->event_text = event_text;
}
