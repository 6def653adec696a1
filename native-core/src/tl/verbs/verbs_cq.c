/* SPDX-License-Identifier: Apache-2.0
 * verbs_cq.c - completion queue, channel and epoll descriptor. */
#include "tl/verbs/verbs_cq.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

vbn_status_t verbs_cq_watch(const verbs_cq_t *cq, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(cq->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return err_sys(errno, "cannot watch a descriptor of %s", cq->port->name);
    return VBN_OK;
}

static vbn_status_t open_descriptors(verbs_cq_t *cq)
{
    const verbs_port_t *port = cq->port;
    cq->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (cq->epoll_fd < 0)
        return err_sys(errno, "cannot create an epoll descriptor");
    cq->channel = port->api->create_channel(port->context);
    if (cq->channel == NULL)
        return verbs_failed(port, "a completion channel", errno);
    int flags = fcntl(cq->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(cq->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return err_sys(errno, "the completion channel of %s", port->name);
    vbn_status_t status = verbs_cq_watch(cq, cq->channel->fd);
    return status < 0 ? status : verbs_cq_watch(cq, port->context->async_fd);
}

vbn_status_t verbs_cq_open(verbs_cq_t *cq, verbs_port_t *port, uint32_t entries)
{
    memset(cq, 0, sizeof(*cq));
    cq->port = port;
    vbn_status_t status = open_descriptors(cq);
    if (status >= 0 && entries > (uint32_t)port->limits.max_cqe)
        status = err_set(VBN_ERR_LIMIT, "%s has completion queues of %d entries, %u are needed", port->name,
                         port->limits.max_cqe, entries);
    if (status >= 0) {
        cq->cq = port->api->create_cq(port->context, (int)entries, NULL, cq->channel, 0);
        if (cq->cq == NULL)
            status = verbs_failed(port, "a completion queue", errno);
    }
    if (status < 0)
        verbs_cq_close(cq);
    return status;
}

void verbs_cq_close(verbs_cq_t *cq)
{
    if (cq->cq != NULL)
        (void)cq->port->api->destroy_cq(cq->cq);
    if (cq->channel != NULL)
        (void)cq->port->api->destroy_channel(cq->channel);
    if (cq->epoll_fd >= 0)
        close(cq->epoll_fd);
    cq->cq = NULL;
    cq->channel = NULL;
    cq->epoll_fd = -1;
}

const struct ibv_wc *verbs_cq_next(verbs_cq_t *cq)
{
    if (cq->next == cq->count) {
        cq->next = 0;
        cq->count = ibv_poll_cq(cq->cq, VERBS_POLL, cq->polled);
        if (cq->count <= 0) {
            cq->port->dead = cq->port->dead || cq->count < 0;
            cq->count = 0;
            return NULL;
        }
    }
    return &cq->polled[cq->next++];
}

static void take_events(const verbs_cq_t *cq)
{
    const verbs_api_t *api = cq->port->api;
    struct pollfd fd = {.fd = cq->channel->fd, .events = POLLIN};
    struct ibv_cq *from;
    void *arg;
    while (poll(&fd, 1, 0) > 0 && (fd.revents & POLLIN) != 0 && api->get_cq_event(cq->channel, &from, &arg) == 0)
        api->ack_cq_events(from, 1);
}

vbn_status_t verbs_cq_arm(verbs_cq_t *cq)
{
    if (cq->next < cq->count)
        return VBN_BUSY;
    take_events(cq);
    if (cq->port->dead || ibv_req_notify_cq(cq->cq, 0) != 0)
        return VBN_OK; /* the events of the device tell */
    if (verbs_cq_next(cq) == NULL)
        return VBN_OK;
    cq->next--;
    return VBN_BUSY;
}
