/* SPDX-License-Identifier: Apache-2.0
 * shm_fail.c - how an endpoint fails: it sends and receives no more, and progress tells its owner (S4). */
#include "tl/shm/shm_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

void shm_ep_stop_dialing(shm_ep_t *ep)
{
    if (!ep->dialing)
        return;
    ep->dialing = false;
    shm_ep_iface(ep)->dialing--;
    free(ep->target);
    ep->target = NULL;
}

void shm_ep_close_rings(shm_ep_t *ep)
{
    shm_count_short(ep);
    ep->tx_open = false;
    ep->tx.limit = ep->tx.position;
    ep->rx_open = false;
    ep->rx_quick = false;
}

void shm_ep_fail(shm_ep_t *ep, vbn_status_t status, const char *text)
{
    if (ep->broken || ep->gone)
        return;
    shm_iface_t *iface = shm_ep_iface(ep);
    if (status == VBN_ERR_PROTOCOL)
        counter_add(iface->params.counters, COUNTER_BAD_FRAMES, 1);
    ep->broken = true;
    ep->error = status;
    ep->error_text = strdup(text); /* NULL is handled where it is used */
    shm_ep_close_rings(ep);
    shm_ep_stop_dialing(ep);
    list_append(&iface->failed, &ep->failed_link);
    iface->untidy = true;
    (void)epoll_ctl(iface->epoll_fd, EPOLL_CTL_DEL, ep->fd, NULL);
}
