/* SPDX-License-Identifier: Apache-2.0
 * shm_tell.c - how a side of a ring tells the other one: the bell, a wake-up or a kick, and the order of flags and packets. */
#include "tl/shm/shm_private.h"

#include <linux/membarrier.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wake(shm_ep_t *ep)
{
    uint8_t word = SHM_WAKE;
    counter_add(shm_ep_iface(ep)->params.counters, COUNTER_SHM_WAKES, 1);
    /* A full socket wakes the peer as well, and a broken one is noticed when it is read. */
    (void)send(ep->fd, &word, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void shm_ep_tell_now(shm_ep_t *ep, uint32_t how)
{
    bool asleep = (how & SHM_ASLEEP) != 0;
    if ((how & SHM_COLD) != 0 && ep->tx_bell != NULL)
        asleep |= shm_bell_set(ep->tx_bell, ep->tx_bell_index);
    if (asleep)
        wake(ep);
}

void shm_ep_kick(shm_ep_t *ep)
{
    if (!ep->tx_open || ep->growing || !shm_tx_slot_free(&ep->tx))
        return; /* the peer looks at its sockets now and then by itself */
    shm_tx_publish(&ep->tx, 0, 0, SHM_KICK);
}

bool shm_barrier(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

bool shm_order(shm_iface_t *iface, bool needed)
{
    if (!needed)
        return true;
    counter_add(iface->params.counters, COUNTER_SHM_BARRIERS, 1);
    if (shm_barrier())
        return true;
    for (uint32_t i = 0; i < iface->hot; i++) /* cold ones were ordered when they became cold */
        if (iface->rings[i] != NULL)
            iface->rings[i]->rx.fenced = false;
    return false;
}

bool shm_barrier_register(void)
{
#if defined(__SANITIZE_THREAD__)
    return false; /* the race detector cannot see a membarrier */
#else
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0 && shm_barrier();
#endif
}

void shm_publish(shm_ep_t *ep)
{
    if (shm_rx_publish(&ep->rx))
        wake(ep);
}
