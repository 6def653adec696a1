/* SPDX-License-Identifier: Apache-2.0
 * tcp_alive.c - hosts that have gone: the kernel's keep-alive while nothing is under way (tcp_options.c), and a look at what it
 * knows while something is.
 *
 * A program that does not read is no dead host: its window is full, and its kernel acknowledges every probe of that. So
 * TCP_USER_TIMEOUT is of no use, which counts such time too (and the kernel sends no keep-alive with data under way). What
 * counts instead is that the peer's kernel has acknowledged nothing for link.peer_timeout although ours has repeated or
 * probed TCP_ALIVE_TRIES times since. A socket that was written to is looked at four times in that time until all has arrived; idle
 * ones never. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "tl/tcp/tcp_private.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define LOOKS 4u /* in link.peer_timeout */
#define LOOK_MIN_NS (100 * NS_PER_MS)
#define LOOK_MAX_NS (10 * NS_PER_S)
#define SAME_ACK_MS 50u /* the kernel's times have the grain of its clock */

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static uint64_t period(const tcp_iface_t *iface)
{
    return within(iface->params.settings->link_peer_timeout / LOOKS, LOOK_MIN_NS, LOOK_MAX_NS);
}

void tcp_alive_watch(tcp_ep_t *ep)
{
    tcp_iface_t *iface = ep->iface;
    list_append(&iface->watched, &ep->watched);
    ep->acked_ms = 0;
    if (iface->look_ns != 0)
        return;
    iface->look_ns = os_now_ns() + period(iface);
    tcp_timer_by(iface, iface->look_ns);
}

static bool under_way(const tcp_ep_t *ep)
{
    int bytes = 0;
    return ep->tx_count > 0 || (ioctl(ep->fd, TIOCOUTQ, &bytes) == 0 && bytes > 0);
}

static uint32_t more(uint32_t now, uint32_t before)
{
    return now > before ? now - before : 0;
}

/* 0, or for how many milliseconds the peer's kernel has been silent although it was asked often enough. */
static uint32_t silent_ms(tcp_ep_t *ep, uint64_t now_ms)
{
    struct tcp_info info;
    socklen_t length = sizeof(info);
    if (getsockopt(ep->fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || length < sizeof(info))
        return 0; /* the kernel's own limits count */
    uint64_t acked_ms = now_ms - info.tcpi_last_ack_recv;
    if (acked_ms > ep->acked_ms + SAME_ACK_MS) {
        ep->acked_ms = acked_ms;
        ep->repeated = info.tcpi_total_retrans;
        ep->timed_out = info.tcpi_retransmits;
    }
    uint32_t tries = info.tcpi_probes;
    uint32_t repeated = more(info.tcpi_total_retrans, ep->repeated),
             timed_out = more(info.tcpi_retransmits, ep->timed_out);
    tries = tries > repeated ? tries : repeated;
    tries = tries > timed_out ? tries : timed_out;
    uint64_t limit_ms = ep->iface->params.settings->link_peer_timeout / NS_PER_MS;
    return tries >= TCP_ALIVE_TRIES && info.tcpi_last_ack_recv >= limit_ms ? info.tcpi_last_ack_recv : 0;
}

static void look(tcp_ep_t *ep, uint64_t now_ms)
{
    char text[TCP_ENDPOINT_TEXT];
    bool connecting = ep->state == TCP_CONNECTING; /* which has a time-out of its own */
    if (!connecting && (!tcp_ep_is_open(ep) || ep->broken || !under_way(ep)))
        return;
    uint32_t silent = connecting ? 0 : silent_ms(ep, now_ms);
    if (silent == 0) {
        list_append(&ep->iface->watched, &ep->watched);
        return;
    }
    tcp_ep_peer_text(ep, text);
    tcp_ep_fail(ep, VBN_ERR_PEER_LOST,
                "the host of %s has acknowledged nothing for %u ms (link.peer_timeout=%llu ms): it is "
                "down, or the network between is (ip route get)",
                text, silent, (unsigned long long)(ep->iface->params.settings->link_peer_timeout / NS_PER_MS));
}

void tcp_alive_look(tcp_iface_t *iface, uint64_t now_ns)
{
    list_link_t todo, *link;
    if (iface->look_ns == 0 || now_ns < iface->look_ns)
        return;
    list_init(&todo);
    while ((link = list_pop(&iface->watched)) != NULL)
        list_append(&todo, link);
    while ((link = list_pop(&todo)) != NULL) /* an upcall may end others, which takes them off */
        look(container_of(link, tcp_ep_t, watched), now_ns / NS_PER_MS);
    iface->look_ns = list_empty(&iface->watched) ? 0 : now_ns + period(iface);
}
