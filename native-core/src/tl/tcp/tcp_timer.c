/* SPDX-License-Identifier: Apache-2.0
 * tcp_timer.c - the interface's timer: deadlines of endpoints, and the next look at the watched (tcp_alive.c). */
#include <sys/timerfd.h>
#include <unistd.h>

#include "tl/tcp/tcp_private.h"

static void arm_timer(tcp_iface_t *iface, uint64_t due_ns)
{
    struct itimerspec when = {0};
    when.it_value.tv_sec = (time_t)(due_ns / 1000000000u);
    when.it_value.tv_nsec = (long)(due_ns % 1000000000u);
    iface->timer_ns = due_ns;
    (void)timerfd_settime(iface->timer_fd, TFD_TIMER_ABSTIME, &when, NULL); /* fails for bad arguments only */
}

void tcp_timer_by(tcp_iface_t *iface, uint64_t due_ns)
{
    if (iface->timer_ns == 0 || due_ns < iface->timer_ns)
        arm_timer(iface, due_ns);
}

void tcp_ep_set_deadline(tcp_ep_t *ep, uint64_t deadline_ns)
{
    tcp_iface_t *iface = ep->iface;
    ep->deadline_ns = deadline_ns;
    if (list_empty(&ep->timed))
        list_append(&iface->timed, &ep->timed);
    tcp_timer_by(iface, deadline_ns);
}

void tcp_ep_clear_deadline(tcp_ep_t *ep)
{
    list_remove(&ep->timed);
}

uint64_t tcp_timer_take(tcp_iface_t *iface)
{
    uint64_t expirations;
    ssize_t n = read(iface->timer_fd, &expirations, sizeof(expirations));
    (void)n; /* EAGAIN when it was re-armed meanwhile: looking at the list is right in any case */
    iface->timer_ns = 0;
    return os_now_ns();
}

tcp_ep_t *tcp_timer_next(tcp_iface_t *iface, uint64_t now_ns)
{
    list_for_each(link, &iface->timed) {
        tcp_ep_t *ep = container_of(link, tcp_ep_t, timed);
        if (ep->deadline_ns <= now_ns) {
            tcp_ep_clear_deadline(ep);
            return ep;
        }
    }
    return NULL;
}

void tcp_timer_again(tcp_iface_t *iface)
{
    uint64_t next = iface->look_ns != 0 ? iface->look_ns : UINT64_MAX;
    list_for_each(link, &iface->timed) {
        const tcp_ep_t *timed = container_of(link, tcp_ep_t, timed);
        next = timed->deadline_ns < next ? timed->deadline_ns : next;
    }
    if (next != UINT64_MAX)
        arm_timer(iface, next);
}
