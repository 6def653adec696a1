/* SPDX-License-Identifier: Apache-2.0
 * shm_user.c - the user of the process behind a socket, as the kernel says. */
#include "tl/shm/shm_private.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static vbn_status_t peer_of(int fd, struct ucred *peer)
{
    socklen_t bytes = sizeof(*peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &bytes) != 0)
        return err_sys(errno, "cannot read the peer's user id");
    return VBN_OK;
}

vbn_status_t shm_host_user(const tl_ep_t *tl_ep, uint32_t *user_p)
{
    const shm_ep_t *ep = (const shm_ep_t *)tl_ep;
    struct ucred peer;
    if (ep->dialing)
        return err_set(VBN_ERR_PEER_LOST, "not connected yet, so the peer's user is not known");
    vbn_status_t status = peer_of(ep->fd, &peer);
    if (status == VBN_OK)
        *user_p = (uint32_t)peer.uid;
    return status;
}

vbn_status_t shm_check_user(int fd)
{
    struct ucred peer;
    vbn_status_t status = peer_of(fd, &peer);
    if (status != VBN_OK)
        return status;
    if (peer.uid != geteuid())
        return err_set(VBN_ERR_ACCESS,
                       "same-host peer (process %d) runs as user %u, this one as %u; set "
                       "security.same_user=false to allow that",
                       (int)peer.pid, (unsigned)peer.uid, (unsigned)geteuid());
    return VBN_OK;
}
