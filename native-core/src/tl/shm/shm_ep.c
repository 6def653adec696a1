/* SPDX-License-Identifier: Apache-2.0
 * shm_ep.c - life of an endpoint: connect, disconnect, free. */
#include "tl/shm/shm_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/os.h"

shm_ep_t *shm_ep_new(shm_iface_t *iface, int fd)
{
    shm_ep_t *ep = calloc(1, sizeof(*ep));
    if (ep == NULL) {
        (void)err_set(VBN_ERR_NO_MEMORY, "no heap for a shm endpoint");
        return NULL;
    }
    ep->base.iface = &iface->base;
    ep->fd = fd;
    ep->bell_index = SHM_BELL_NONE;
    ep->source = mem_new_source(iface->params.memory);
    list_init(&ep->failed_link);
    list_init(&ep->outbox);
    list_init(&ep->asks_queued);
    list_init(&ep->asks_sent);
    list_append(&iface->eps, &ep->link);
    iface->opening++;
    iface->clock.in = 0;
    return ep;
}

vbn_status_t shm_ep_watch(shm_ep_t *ep)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = ep};
    if (epoll_ctl(shm_ep_iface(ep)->epoll_fd, EPOLL_CTL_ADD, ep->fd, &event) != 0)
        return err_sys(errno, "cannot watch the socket of a same-host peer");
    return VBN_OK;
}

/* VBN_OK: connected. VBN_BUSY: the peer's backlog is full, try again. */
static vbn_status_t dial(shm_iface_t *iface, shm_ep_t *ep, const struct sockaddr_un *un, socklen_t bytes)
{
    if (connect(ep->fd, (const struct sockaddr *)un, bytes) != 0) {
        if (errno == EAGAIN || errno == EINTR)
            return VBN_BUSY;
        if (errno == ECONNREFUSED || errno == ENOENT)
            return err_set(VBN_ERR_UNREACHABLE, "nobody listens on the peer's socket: the process has ended");
        return err_sys(errno, "cannot connect to the peer's socket");
    }
    if (iface->same_user) {
        vbn_status_t status = shm_check_user(ep->fd);
        if (status != VBN_OK)
            return status;
    }
    return shm_ep_watch(ep);
}

static vbn_status_t keep_target(shm_ep_t *ep, const struct sockaddr_un *un, socklen_t bytes)
{
    ep->target = malloc(sizeof(*un));
    if (ep->target == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a peer's socket name");
    *ep->target = *un;
    ep->target_bytes = bytes;
    ep->dialing = true;
    shm_ep_iface(ep)->dialing++;
    return VBN_OK;
}

vbn_status_t shm_connect(tl_iface_t *tl_iface, const void *address, size_t length, void *owner, tl_ep_t **ep_p)
{
    shm_iface_t *iface = (shm_iface_t *)tl_iface;
    char reason[256];
    vbn_status_t status = tl_iface->ops->reachable(tl_iface, address, length, reason, sizeof(reason));
    shm_address_t a;
    if (status == VBN_OK)
        status = shm_address_decode(address, length, &a);
    if (status != VBN_OK)
        return status;
    int fd = os_own_socket(AF_UNIX, SOCK_SEQPACKET);
    if (fd < 0)
        return err_sys(errno, "cannot make a socket to a same-host peer");
    shm_ep_t *ep = shm_ep_new(iface, fd);
    if (ep == NULL) {
        os_own_close(fd);
        return VBN_ERR_NO_MEMORY;
    }
    ep->base.owner = owner;
    struct sockaddr_un un;
    socklen_t bytes = shm_address_sockaddr(&a, &un);
    status = dial(iface, ep, &un, bytes);
    if (status == VBN_BUSY)
        status = keep_target(ep, &un, bytes);
    if (status != VBN_OK) {
        shm_disconnect(&ep->base, VBN_CLOSE_NOW, 0);
        return status;
    }
    *ep_p = &ep->base;
    return VBN_OK;
}

void shm_ep_redial(shm_ep_t *ep)
{
    vbn_status_t status = dial(shm_ep_iface(ep), ep, ep->target, ep->target_bytes);
    if (status == VBN_BUSY)
        return;
    shm_ep_stop_dialing(ep);
    if (status != VBN_OK)
        shm_ep_fail(ep, status, err_text());
    else
        shm_outbox_flush(ep);
}

void shm_ep_check_ready(shm_ep_t *ep)
{
    if (ep->ready || !ep->tx_open || !ep->rx_open)
        return;
    ep->ready = true;
    shm_ep_iface(ep)->opening--;
    shm_ep_iface(ep)->params.upcalls.ready(&ep->base);
    if (!ep->gone)
        shm_import_ask_more(ep);
}

/* Packets in the ring or the socket's buffer stay readable for the peer after we have gone, so both modes are one. */
void shm_disconnect(tl_ep_t *tl_ep, vbn_close_mode_t mode, uint64_t timeout_ns)
{
    (void)mode;
    (void)timeout_ns;
    shm_ep_t *ep = (shm_ep_t *)tl_ep;
    shm_iface_t *iface = shm_ep_iface(ep);
    if (ep->gone)
        return;
    shm_direct_close(ep);
    ep->gone = true;
    shm_ep_stop_dialing(ep);
    if (!ep->ready)
        iface->opening--;
    shm_ep_close_rings(ep);
    shm_ring_leave(ep);
    list_remove(&ep->failed_link);
    (void)epoll_ctl(iface->epoll_fd, EPOLL_CTL_DEL, ep->fd, NULL);
    os_own_close(ep->fd);
    ep->fd = -1;
    list_remove(&ep->link);
    list_append(&iface->dead, &ep->link);
    iface->untidy = true;
    if (!list_empty(&ep->asks_sent) || !list_empty(&ep->asks_queued)) {
        (void)err_set(VBN_ERR_CLOSED, "the connection was closed while a memory was being mapped");
        shm_import_end(ep, VBN_ERR_CLOSED, true);
    }
    if (!iface->in_progress) {
        list_remove(&ep->link);
        shm_ep_free(ep);
    }
}

void shm_ep_free(shm_ep_t *ep)
{
    shm_import_end(ep, VBN_ERR_CLOSED, false);
    list_link_t *link;
    while ((link = list_pop(&ep->outbox)) != NULL) {
        shm_outgoing_t *out = container_of(link, shm_outgoing_t, link);
        if (out->fd >= 0)
            close(out->fd);
        free(out);
    }
    if (ep->fd >= 0)
        os_own_close(ep->fd);
    if (ep->tx.control != NULL)
        os_unmap(ep->tx.control, ep->tx_bytes);
    if (ep->rx.control != NULL)
        os_unmap(ep->rx.control, ep->rx_bytes);
    if (ep->tx_bell != NULL)
        os_unmap(ep->tx_bell, ep->tx_bell_bytes);
    shm_small_end(ep);
    shm_bell_leave(ep);
    free(ep->target);
    free(ep->error_text);
    free(ep);
}
