/* SPDX-License-Identifier: Apache-2.0
 * fabric_objects.c - protection domains, memory regions, completion queues, shared receive queues. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric_private.h"

#define REMOTE (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

static struct ibv_pd *alloc_pd(struct ibv_context *context)
{
    FABRIC_GUARD;
    struct ibv_pd *pd = fabric_make(sizeof(*pd), &fabric_counts.pds);
    pd->context = context;
    return pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
    FABRIC_GUARD;
    free(pd);
    fabric_counts.pds--;
    return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *address, size_t length, uint64_t device_address,
                                      unsigned access)
{
    FABRIC_GUARD;
    (void)device_address; /* the same */
    if (fabric_script.fail_register_at > 0 && --fabric_script.fail_register_at == 0) {
        errno = ENOMEM;
        return NULL;
    }
    fabric_mr_t *mr = fabric_make(sizeof(*mr), &fabric_counts.mrs);
    mr->access = (int)access;
    fabric_counts.served += (access & REMOTE) != 0;
    uint32_t key = fabric_next_number();
    mr->mr = (struct ibv_mr){
        .context = pd->context, .pd = pd, .addr = address, .length = length, .lkey = key, .rkey = key};
    if (map_put(&fabric_mrs, mr->mr.lkey, mr) < 0)
        abort();
    return &mr->mr;
}

static int deregister_memory(struct ibv_mr *mr)
{
    FABRIC_GUARD;
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
    FABRIC_GUARD;
    fabric_cq_t *cq = fabric_make(sizeof(*cq), &fabric_counts.cqs);
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
    FABRIC_GUARD;
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
    FABRIC_GUARD;
    fabric_srq_t *srq = fabric_make(sizeof(*srq), &fabric_counts.srqs);
    srq->srq = (struct ibv_srq){.context = pd->context, .pd = pd};
    srq->max = attr->attr.max_wr;
    list_init(&srq->receives);
    return &srq->srq;
}

static int modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
    fabric_srq_t *srq = (fabric_srq_t *)base;
    if (mask != IBV_SRQ_LIMIT || attr->srq_limit > srq->max) /* resizing is what few devices do */
        return EINVAL;
    srq->limit = attr->srq_limit;
    fabric_look_at_limit(srq);
    return 0;
}

static int destroy_srq(struct ibv_srq *srq)
{
    FABRIC_GUARD;
    fabric_drop_receives((fabric_srq_t *)srq);
    free(srq);
    fabric_counts.srqs--;
    return 0;
}

static const char *status_text(enum ibv_wc_status status)
{
    static const char *const TEXTS[] = {[IBV_WC_SUCCESS] = "success",
                                        [IBV_WC_WR_FLUSH_ERR] = "flushed",
                                        [IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
                                        [IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded"};
    bool known = status < sizeof(TEXTS) / sizeof(TEXTS[0]) && TEXTS[status] != NULL;
    return known ? TEXTS[status] : "an error";
}

void fabric_object_calls(verbs_api_t *api)
{
    api->alloc_pd = alloc_pd;
    api->dealloc_pd = dealloc_pd;
    api->register_memory = register_memory;
    api->deregister_memory = deregister_memory;
    api->create_channel = create_channel;
    api->destroy_channel = destroy_channel;
    api->create_cq = create_cq;
    api->destroy_cq = destroy_cq;
    api->get_cq_event = get_cq_event;
    api->ack_cq_events = ack_cq_events;
    api->create_srq = create_srq;
    api->modify_srq = modify_srq;
    api->destroy_srq = destroy_srq;
    api->status_text = status_text;
}
