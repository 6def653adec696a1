/* SPDX-License-Identifier: Apache-2.0
 * tcp_places.c - the places of unauthenticated connections (tl.tcp.max_unauthenticated). While all are taken a new connection
 * waits as a descriptor, without an endpoint. A place falls free when a connection has proved the job key, has ended, or has had
 * its time; whose turn it is then says tcp_sources.h. So strangers that hold connections delay a peer by about that time, however
 * many they are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/atomics.h"
#include "tl/tcp/tcp_private.h"

#define EVICT_AFTER_NS UINT64_C(1000000000) /* an unauthenticated connection has at least so long to prove the key */
#define GUESTS_MOST 1024u
#define GUESTS_LEAST 16u
#define GUESTS_PER_DESCRIPTORS                                                                                         \
    8u /* of so many that the process may have, one may wait, whichever of its interfaces it is at */
#define ADMITTED_PER_PROGRESS 16u

static _Atomic uint32_t open_interfaces; /* of the process */

void tcp_places_init(tcp_iface_t *iface)
{
    struct rlimit limit;
    rlim_t most = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / GUESTS_PER_DESCRIPTORS : 0;
    iface->process_guests = most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
    (void)atomic_fetch_add_explicit(&open_interfaces, 1, memory_order_relaxed);
    tcp_sources_init(&iface->sources);
    list_init(&iface->untrusted);
    list_init(&iface->guests_gone);
}

/* An equal share of the process's, which becomes smaller as it opens more interfaces. */
static uint32_t guests_most(const tcp_iface_t *iface)
{
    uint32_t share = iface->process_guests / atomic_get_relaxed(&open_interfaces);
    return share > GUESTS_MOST ? GUESTS_MOST : share < GUESTS_LEAST ? GUESTS_LEAST : share;
}

static bool is_full(const tcp_iface_t *iface)
{
    return iface->untrusted_count >= (uint64_t)iface->params.settings->tl_tcp_max_unauthenticated;
}

static tcp_ep_t *oldest_untrusted(const tcp_iface_t *iface)
{
    return container_of(iface->untrusted.next, tcp_ep_t, untrusted);
}

static void adopt(tcp_iface_t *iface, int fd, const tcp_ip_t *ip, uint16_t port)
{
    tcp_ep_t *ep = tcp_ep_new(iface, TCP_OPENING);
    if (!ep) {
        LOG_ERROR(iface->params.log, "tcp refuses a connection: %s", err_text());
        os_own_close(fd);
        return;
    }
    ep->fd = fd;
    ep->target_due_ns = os_now_ns() + EVICT_AFTER_NS;
    ep->peer_ip = *ip;
    ep->peer_port = port;
    tcp_socket_options(iface, fd);
    if (tcp_ep_secure(ep, false) != VBN_OK || tcp_ep_watch(ep) != VBN_OK) {
        LOG_ERROR(iface->params.log, "tcp refuses a connection: %s", err_text());
        tcp_ep_retire(ep);
        return;
    }
    tcp_stranger_enter(ep);
    iface->params.upcalls.accepted(iface->params.upcalls.arg, &ep->base);
}

/* The guest's descriptor is the caller's now; what epoll has said of it may still be looked at in this progress (T1). */
static void take_guest(tcp_iface_t *iface, tcp_guest_t *guest)
{
    (void)epoll_ctl(iface->epoll_fd, EPOLL_CTL_DEL, guest->fd, NULL);
    tcp_source_take(&iface->sources, guest);
    iface->guest_count--;
    guest->fd = -1;
    list_append(&iface->guests_gone, &guest->link);
}

static void drop_guest(tcp_iface_t *iface, tcp_guest_t *guest)
{
    int fd = guest->fd;
    take_guest(iface, guest);
    os_own_close(fd);
}

/* Has it sent something? 0: it has ended; -1: nothing yet. */
static int peek(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n > 0 ? 1 : n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? -1 : 0;
}

/* As tcp_source_last; epoll may not have told yet who has spoken. */
static tcp_guest_t *last_to_stay(tcp_iface_t *iface, bool *spoken_p)
{
    tcp_guest_t *last;
    while ((last = tcp_source_last(&iface->sources, spoken_p)) != NULL && !*spoken_p && peek(last->fd) == 1)
        tcp_source_spoke(last);
    return last;
}

/* Room for one more that waits. False: the newcomer is the one that has to go. One that has spoken goes for a known address, or
 * for one with fewer that wait; a newcomer's own words count against silence alone. */
static bool make_room(tcp_iface_t *iface, const tcp_source_t *source, int fd)
{
    if (iface->guest_count < guests_most(iface))
        return true;
    bool spoken;
    tcp_guest_t *last = last_to_stay(iface, &spoken);
    if (last == NULL)
        return false;
    bool known = tcp_source_is_known(source), last_known = tcp_source_is_known(last->source);
    bool preferred = known && !last_known, deferred = last_known && !known;
    bool fewer = source->waiting + 1 < last->source->waiting;
    if (deferred || (!preferred && !fewer && (spoken || peek(fd) != 1)))
        return false;
    drop_guest(iface, last);
    return true;
}

static bool let_wait(tcp_iface_t *iface, int fd, const tcp_ip_t *ip, uint16_t port)
{
    tcp_source_t *source = tcp_source_of(&iface->sources, ip);
    if (source == NULL)
        return false;
    source->held++; /* it stays whatever make_room drops */
    tcp_guest_t *guest = make_room(iface, source, fd) ? calloc(1, sizeof(*guest)) : NULL;
    source->held--;
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = guest != NULL ? (char *)guest + 1 : NULL};
    if (guest == NULL || epoll_ctl(iface->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        free(guest);
        tcp_source_left(&iface->sources, source);
        return false;
    }
    *guest = (tcp_guest_t){.fd = fd, .ip = *ip, .port = port};
    tcp_source_add(&iface->sources, source, guest);
    iface->guest_count++;
    return true;
}

void tcp_places_enter(tcp_iface_t *iface, int fd, const struct sockaddr *from)
{
    tcp_ip_t ip = {0};
    uint16_t port = 0;
    char text[TCP_ENDPOINT_TEXT];
    (void)tcp_ip_from_sockaddr(from, &ip, &port);
    if (iface->guest_count == 0 && !is_full(iface)) {
        adopt(iface, fd, &ip, port);
        return;
    }
    if (let_wait(iface, fd, &ip, port))
        return;
    tcp_ip_text(&ip, port, text);
    LOG_WARN(iface->params.log, "tcp refuses a connection from %s: %u unauthenticated ones wait already", text,
             iface->guest_count);
    os_own_close(fd);
}

bool tcp_places_owns(const void *event)
{
    return ((uintptr_t)event & 1u) != 0;
}

void tcp_places_event(tcp_iface_t *iface, void *event)
{
    tcp_guest_t *guest = (tcp_guest_t *)(void *)((char *)event - 1);
    if (guest->fd < 0)
        return;
    int said = peek(guest->fd);
    if (said == 0)
        drop_guest(iface, guest);
    else if (said > 0)
        tcp_source_spoke(guest);
}

/* Of those that have had their time the oldest of the source that holds the most places, of an unknown one if there is one. */
static tcp_ep_t *who_leaves(const tcp_iface_t *iface, uint64_t now)
{
    tcp_ep_t *most = NULL;
    bool most_known = true;
    uint32_t most_held = 0;
    list_for_each(link, &iface->untrusted) {
        tcp_ep_t *ep = container_of(link, tcp_ep_t, untrusted);
        if (now < ep->target_due_ns)
            break;
        bool known = ep->source != NULL && tcp_source_is_known(ep->source);
        uint32_t held = ep->source != NULL ? ep->source->held : 0;
        if (most != NULL && (known > most_known || (known == most_known && held <= most_held)))
            continue;
        most = ep;
        most_known = known;
        most_held = held;
    }
    return most;
}

static void drop_untrusted(tcp_iface_t *iface, tcp_ep_t *ep)
{
    LOG_PEER_LOST(iface->params.log, VBN_LOG_WARN, 0,
                  "tcp closes an old one of %u unauthenticated connection%s (tl.tcp.max_unauthenticated)",
                  iface->untrusted_count, plural(iface->untrusted_count));
    tcp_ep_fail(ep, VBN_ERR_LIMIT, "more than tl.tcp.max_unauthenticated=%lld connections wait for authentication",
                (long long)iface->params.settings->tl_tcp_max_unauthenticated);
}

bool tcp_places_ready(const tcp_iface_t *iface)
{
    return iface->guest_count > 0 && (!is_full(iface) || os_now_ns() >= oldest_untrusted(iface)->target_due_ns);
}

unsigned tcp_places_admit(tcp_iface_t *iface)
{
    unsigned admitted = 0;
    for (; admitted < ADMITTED_PER_PROGRESS && iface->guest_count > 0; admitted++) {
        tcp_ep_t *oldest = is_full(iface) ? who_leaves(iface, os_now_ns()) : NULL;
        if (oldest != NULL)
            drop_untrusted(iface, oldest);
        if (is_full(iface)) {
            tcp_ep_set_deadline(oldest_untrusted(iface), oldest_untrusted(iface)->target_due_ns);
            break;
        }
        tcp_guest_t *guest = tcp_source_next(&iface->sources);
        int fd = guest->fd;
        take_guest(iface, guest);
        adopt(iface, fd, &guest->ip, guest->port);
    }
    return admitted;
}

void tcp_places_reap(tcp_iface_t *iface)
{
    list_link_t *link;
    while ((link = list_pop(&iface->guests_gone)) != NULL)
        free(container_of(link, tcp_guest_t, link));
}

void tcp_places_close(tcp_iface_t *iface)
{
    tcp_guest_t *guest;
    while ((guest = tcp_source_next(&iface->sources)) != NULL)
        drop_guest(iface, guest);
    tcp_places_reap(iface);
    tcp_sources_free(&iface->sources);
    (void)atomic_fetch_sub_explicit(&open_interfaces, 1, memory_order_relaxed);
}
