/* SPDX-License-Identifier: Apache-2.0
 * tcp_iface.c - the TCP interface of a worker: its listeners, one epoll, one timer; the table of operations. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tl/tcp/tcp_private.h"

#define LOOK_GAP_NS 1000u        /* between two looks at epoll while nothing arrives */
#define HOT_TURNS 64u            /* turns without a packet after which the hot endpoint is one as the others */
#define HOT_LOOKS 8u             /* turns between two looks at epoll while an endpoint is hot */
#define LOOK_GAP_ALONE_NS 20000u /* the same without any connection: only a new one can come */

#define HOST_MBYTES_PER_S 5000u /* what the kernel's stack moves without a wire in between */

static void init_fields(tcp_iface_t *iface, const tl_params_t *params)
{
    uint32_t chunk = (uint32_t)params->settings->tl_tcp_chunk_bytes;
    iface->base.ops = &tl_tcp_ops;
    iface->params = *params;
    iface->epoll_fd = iface->timer_fd = iface->reserve_fd = -1;
    list_init(&iface->eps);
    list_init(&iface->pending);
    tcp_places_init(iface);
    list_init(&iface->timed);
    list_init(&iface->watched);
    list_init(&iface->gone);
    mpool_init(&iface->tx_pool, sizeof(tcp_tx_t), 16, 0);
    iface->caps.flags = TL_CAP_RELIABLE | TL_CAP_BREAKS;
    iface->caps.packet_max = chunk + TL_HEADER_MAX;
    iface->caps.traffic = TRAFFIC_AT(TRAFFIC_TCP);
    iface->caps.eager_best = TCP_EAGER_BEST < chunk ? TCP_EAGER_BEST : chunk;
    iface->caps.stream_chunk = chunk;
    iface->caps.latency_ns = 10000;
    iface->caps.mbytes_per_s = HOST_MBYTES_PER_S;
    iface->caps.syscalls = 3;
    iface->caps.copies = 2;
}

static void tcp_close(tl_iface_t *base)
{
    tcp_iface_t *iface = tcp_iface_of(base);
    while (!list_empty(&iface->eps))
        tcp_ep_retire(container_of(iface->eps.next, tcp_ep_t, all));
    tcp_listen_close(iface);
    tcp_places_close(iface);
    const int fds[] = {iface->timer_fd, iface->reserve_fd, iface->epoll_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    tcp_tls_close(iface->tls);
    mpool_free(&iface->tx_pool);
    free(iface->rx_spare);
    free(iface);
}

static vbn_status_t open_descriptors(tcp_iface_t *iface)
{
    iface->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (iface->epoll_fd < 0)
        return err_sys(errno, "cannot create an epoll descriptor");
    iface->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (iface->timer_fd < 0)
        return err_sys(errno, "cannot create a timer descriptor");
    iface->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (iface->reserve_fd < 0)
        return err_sys(errno, "cannot open /dev/null");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &iface->timer_fd};
    if (epoll_ctl(iface->epoll_fd, EPOLL_CTL_ADD, iface->timer_fd, &event) != 0)
        return err_sys(errno, "cannot watch the timer");
    return tcp_listen_open(iface);
}

static vbn_status_t open_tls(tcp_iface_t *iface)
{
    if (!iface->params.settings->tl_tcp_tls)
        return VBN_OK;
    if (iface->params.job_key == NULL)
        return err_set(VBN_ERR_SETTING, "tl.tcp.tls derives its key from the job key: it needs security.auth=job-key");
    iface->address.tls = true;
    iface->caps.flags |= TL_CAP_TLS;
    return tcp_tls_open(iface->params.job_key, &iface->tls);
}

static void set_speed(tcp_iface_t *iface)
{
    uint32_t wire = iface->choice.mbytes_per_s;
    iface->near_caps = iface->caps;
    if (wire > 0 && wire < HOST_MBYTES_PER_S)
        iface->caps.mbytes_per_s = wire;
}

static void say_addresses(const tcp_iface_t *iface)
{
    char texts[TCP_ADDRESS_IPS * (TCP_ENDPOINT_TEXT + 2)];
    size_t used = 0;
    for (unsigned i = 0; i < iface->address.count; i++) {
        char text[TCP_ENDPOINT_TEXT];
        tcp_ip_text(&iface->address.ips[i], iface->address.port, text);
        used += (size_t)snprintf(texts + used, sizeof(texts) - used, "%s%s", i > 0 ? ", " : "", text);
    }
    LOG_INFO(iface->params.log, "tcp listens on %s: %s", texts, iface->choice.why);
}

static vbn_status_t tcp_open(const tl_params_t *params, tl_iface_t **iface_p)
{
    tcp_iface_t *iface = calloc(1, sizeof(*iface));
    if (!iface)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a tcp interface");
    init_fields(iface, params);
    vbn_status_t status = open_tls(iface);
    if (status == VBN_OK)
        status = open_descriptors(iface);
    if (status != VBN_OK) {
        tcp_close(&iface->base);
        return status;
    }
    set_speed(iface);
    say_addresses(iface);
    *iface_p = &iface->base;
    return VBN_OK;
}

static const tl_caps_t *tcp_caps(const tl_iface_t *base)
{
    return &tcp_iface_of(base)->caps;
}

static const tl_caps_t *tcp_ep_caps(const tl_ep_t *base)
{
    const tcp_ep_t *ep = container_of(base, tcp_ep_t, base);
    const tcp_iface_t *iface = ep->iface;
    bool near = tcp_ip_is_loopback(&ep->peer_ip) || tcp_nets_own(&iface->nets, &ep->peer_ip);
    return near ? &iface->near_caps : &iface->caps;
}

static vbn_status_t tcp_address(const tl_iface_t *base, void *buffer, size_t *length_p)
{
    const tcp_iface_t *iface = tcp_iface_of(base);
    uint8_t bytes[TCP_ADDRESS_BYTES_MAX];
    size_t length = tcp_address_encode(&iface->address, bytes);
    if (length > *length_p)
        return err_set(VBN_ERR_LIMIT, "tcp address takes %zu bytes, the buffer has %zu", length, *length_p);
    memcpy(buffer, bytes, length);
    *length_p = length;
    return VBN_OK;
}

static vbn_status_t tcp_reachable(const tl_iface_t *base, const void *bytes, size_t length, char *reason,
                                  size_t capacity)
{
    const tcp_iface_t *iface = tcp_iface_of(base);
    tcp_address_t address;
    vbn_status_t status = tcp_connect_targets(iface, bytes, length, &address);
    if (status == VBN_OK && address.tls != iface->address.tls)
        status = err_set(VBN_ERR_UNREACHABLE, "tl.tcp.tls is %s there and %s here; set it alike in the whole job",
                         address.tls ? "on" : "off", iface->address.tls ? "on" : "off");
    if (status != VBN_OK) {
        snprintf(reason, capacity, "%s", err_text());
        return status == VBN_ERR_UNREACHABLE ? status : VBN_ERR_PROTOCOL;
    }
    bool same_stack = address.host_id == iface->address.host_id && address.netns_id == iface->address.netns_id;
    for (unsigned i = 0; i < address.count; i++) {
        char text[TCP_ENDPOINT_TEXT];
        if (tcp_route_check(&address.ips[i], address.port) != VBN_OK)
            continue;
        tcp_ip_text(&address.ips[i], address.port, text);
        snprintf(reason, capacity, "%s %s", same_stack ? "same host," : "routed to", text);
        return VBN_OK;
    }
    snprintf(reason, capacity, "%s", err_text());
    return VBN_ERR_UNREACHABLE;
}

/* Work that the kernel does not announce (T4). What is added meanwhile waits for the next call. */
static unsigned run_pending(tcp_iface_t *iface)
{
    unsigned events = 0;
    list_link_t todo;
    list_init(&todo);
    list_link_t *link;
    while ((link = list_pop(&iface->pending)) != NULL)
        list_append(&todo, link);
    while ((link = list_pop(&todo)) != NULL) {
        tcp_ep_t *ep = container_of(link, tcp_ep_t, pending);
        events++;
        if (ep->state == TCP_CONNECTING && ep->broken)
            tcp_connect_event(ep);
        if (ep->state == TCP_OPENING && ep->announce_ready) {
            ep->announce_ready = false;
            ep->state = TCP_READY;
            iface->params.upcalls.ready(&ep->base);
        }
        if (tcp_ep_is_open(ep))
            events += tcp_rx_progress(ep);
    }
    return events;
}

static unsigned ep_event(tcp_ep_t *ep, uint32_t mask)
{
    unsigned events = 1;
    if (ep->state == TCP_CONNECTING) {
        tcp_connect_event(ep);
        return events;
    }
    if ((mask & EPOLLOUT) && tcp_ep_is_open(ep))
        events += tcp_tx_progress(ep);
    if ((mask & ~(uint32_t)EPOLLOUT) && tcp_ep_is_open(ep)) {
        events += tcp_rx_progress(ep);
        if (ep->state == TCP_READY) {
            ep->iface->hot = ep;
            ep->iface->hot_turns = 0;
        }
    }
    /* TLS: what could not be written waited for the peer's bytes. */
    if (ep->tls != NULL && ep->tx_count > 0 && tcp_ep_is_open(ep))
        events += tcp_tx_progress(ep);
    if ((mask & (EPOLLHUP | EPOLLERR)) && ep->state == TCP_FLUSHING && ep->read_ended)
        tcp_ep_retire(ep); /* both directions are dead: nothing is left to wait for */
    return events;
}

/* An answer mostly comes where the last packet came from: one read instead of epoll and a read. */
static unsigned read_hot(tcp_iface_t *iface)
{
    tcp_ep_t *ep = iface->hot;
    unsigned events = tcp_rx_progress(ep);
    iface->hot_turns = events > 0 ? 0 : iface->hot_turns + 1;
    if (iface->hot_turns > HOT_TURNS)
        iface->hot = NULL;
    return events;
}

static void timer_expired(tcp_iface_t *iface)
{
    const uint64_t now = tcp_timer_take(iface);
    for (tcp_ep_t *ep; (ep = tcp_timer_next(iface, now)) != NULL;) {
        if (ep->detached && now >= ep->flush_due_ns)
            tcp_ep_retire(ep);
        else if (ep->state == TCP_CONNECTING)
            tcp_connect_expired(ep);
    } /* of an unauthenticated one: tcp_places_admit looks */
    tcp_alive_look(iface, now);
    tcp_timer_again(iface);
}

/* While nothing arrives a system call per progress() would slow down the worker's other transports. arm() looks in
 * any case, so nobody sleeps on it. */
static bool may_skip_look(tcp_iface_t *iface)
{
    bool alone = iface->ep_count == 0;
    if (!iface->idle)
        return false;
    if (alone && iface->clock.in > 0) {
        iface->clock.in--;
        return true;
    }
    uint64_t now = os_now_ns();
    if (alone)
        seldom_asked(&iface->clock, now);
    if (now - iface->looked_ns < (alone ? LOOK_GAP_ALONE_NS : LOOK_GAP_NS))
        return true;
    iface->looked_ns = now;
    return false;
}

static unsigned look(tcp_iface_t *iface)
{
    struct epoll_event ready[TCP_EVENTS];
    unsigned events = 0;
    if (may_skip_look(iface))
        return 0;
    int count = epoll_wait(iface->epoll_fd, ready, TCP_EVENTS, 0);
    if (count <= 0) {
        if (!iface->idle)
            iface->looked_ns = os_now_ns();
        iface->idle = true;
        return 0;
    }
    iface->idle = false;
    for (int i = 0; i < count; i++) {
        if (tcp_listen_owns(iface, ready[i].data.ptr)) {
            events += tcp_listen_accept(iface, ready[i].data.ptr);
        } else if (tcp_places_owns(ready[i].data.ptr)) {
            tcp_places_event(iface, ready[i].data.ptr);
            events++;
        } else if (ready[i].data.ptr == &iface->timer_fd) {
            timer_expired(iface);
            events++;
        } else {
            events += ep_event(ready[i].data.ptr, ready[i].events); /* T1: not freed before the end of progress() */
        }
    }
    return events;
}

static unsigned tcp_progress(tl_iface_t *base)
{
    tcp_iface_t *iface = tcp_iface_of(base);
    if (iface->progressing) /* called from an upcall: the outer call goes on where it is */
        return 0;
    iface->progressing = true;
    iface->turn++;
    unsigned events = list_empty(&iface->pending) ? 0 : run_pending(iface);
    if (iface->hot != NULL)
        events += read_hot(iface);
    if (iface->hot == NULL || ++iface->unlooked >= HOT_LOOKS) {
        iface->unlooked = 0;
        events += look(iface);
    }
    if (iface->guest_count > 0)
        events += tcp_places_admit(iface);
    iface->progressing = false;
    if (!list_empty(&iface->gone))
        tcp_ep_reap(iface);
    if (!list_empty(&iface->guests_gone))
        tcp_places_reap(iface);
    return events;
}

static vbn_status_t tcp_arm(tl_iface_t *base)
{
    tcp_iface_t *iface = tcp_iface_of(base);
    struct epoll_event ready;
    if (list_empty(&iface->pending) && !tcp_places_ready(iface) && epoll_wait(iface->epoll_fd, &ready, 1, 0) == 0)
        return VBN_OK;
    iface->idle = false;
    return VBN_BUSY;
}

/* Asked again and again by a worker that is about to sleep: as often as progress() looks; arm() then looks in any case. */
static bool tcp_waiting(tl_iface_t *base)
{
    tcp_iface_t *iface = tcp_iface_of(base);
    if (list_empty(&iface->pending) && !tcp_places_ready(iface) && may_skip_look(iface))
        return false;
    return tcp_arm(base) != VBN_OK;
}

static int tcp_event_fd(const tl_iface_t *base)
{
    return tcp_iface_of(base)->epoll_fd;
}

const tl_ops_t tl_tcp_ops = {
    .name = "tcp",
    .open = tcp_open,
    .close = tcp_close,
    .caps = tcp_caps,
    .ep_caps = tcp_ep_caps,
    .address = tcp_address,
    .reachable = tcp_reachable,
    .progress = tcp_progress,
    .arm = tcp_arm,
    .waiting = tcp_waiting,
    .event_fd = tcp_event_fd,
    .connect = tcp_connect,
    .trust = tcp_trust,
    .disconnect = tcp_disconnect,
    .resink = tcp_resink,
    .send = tcp_send,
};
