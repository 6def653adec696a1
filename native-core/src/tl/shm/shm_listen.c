/* SPDX-License-Identifier: Apache-2.0
 * shm_listen.c - the wire-up socket: who may connect, and what happens when descriptors run out. */
#include "tl/shm/shm_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

static vbn_status_t make_name(shm_iface_t *iface)
{
    shm_address_t *a = &iface->address;
    const char *directory = iface->params.settings->tl_shm_socket_dir;
    unsigned long long random[2] = {os_random_u64(), os_random_u64()};
    int length;
    a->is_path = directory[0] != '\0';
    if (a->is_path)
        length = snprintf(a->name, sizeof(a->name), "%s/vbn-%016llx.sock", directory, random[0]);
    else
        length = snprintf(a->name, sizeof(a->name), "vbn-%016llx%016llx", random[0], random[1]);
    if (length < 0 || (size_t)length >= sizeof(a->name))
        return err_set(VBN_ERR_SETTING, "tl.shm.socket_dir=%s is too long for a socket name; use at most %u bytes",
                       directory, SHM_NAME_MAX - 26);
    a->uid = (uint32_t)geteuid();
    a->host_id = os_host_id();
    a->netns_id = os_netns_id();
    a->group = (uint32_t)iface->params.settings->tl_shm_group;
    return VBN_OK;
}

vbn_status_t shm_listen_open(shm_iface_t *iface)
{
    vbn_status_t status = make_name(iface);
    if (status != VBN_OK)
        return status;
    iface->listen_fd = os_own_socket(AF_UNIX, SOCK_SEQPACKET);
    if (iface->listen_fd < 0)
        return err_sys(errno, "cannot make the wire-up socket");
    struct sockaddr_un un;
    socklen_t bytes = shm_address_sockaddr(&iface->address, &un);
    if (bind(iface->listen_fd, (struct sockaddr *)&un, bytes) != 0)
        return err_sys(errno, "cannot bind the wire-up socket %s (tl.shm.socket_dir)", iface->address.name);
    /* Nobody can connect before listen(), so the mode is right in time. */
    if (iface->address.is_path && chmod(iface->address.name, 0600) != 0)
        return err_sys(errno, "cannot restrict the wire-up socket %s", iface->address.name);
    if (listen(iface->listen_fd, 4096) != 0)
        return err_sys(errno, "cannot listen on the wire-up socket %s", iface->address.name);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(iface->epoll_fd, EPOLL_CTL_ADD, iface->listen_fd, &event) != 0)
        return err_sys(errno, "cannot watch the wire-up socket");
    iface->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return VBN_OK;
}

void shm_listen_close(shm_iface_t *iface)
{
    if (iface->listen_fd >= 0) {
        os_own_close(iface->listen_fd);
        if (iface->address.is_path)
            unlink(iface->address.name);
    }
    if (iface->reserve_fd >= 0)
        close(iface->reserve_fd);
}

/* Tells whoever dialled why, if the socket takes it, and hangs up. */
static void refuse(int fd, vbn_status_t status)
{
    shm_note_t note = {.type = SHM_REFUSED, .status = status};
    (void)!send(fd, &note, sizeof(note), MSG_DONTWAIT | MSG_NOSIGNAL);
    os_own_close(fd);
}

/* Without a descriptor left the backlog would stay readable for ever: take the connection with the reserve and drop
 * it, so that the peer learns at once that it is not wanted. */
static void refuse_one(shm_iface_t *iface)
{
    int error = errno;
    LOG_ERROR(iface->params.log, "no descriptor left for a same-host peer, connection refused: %s%s", strerror(error),
              err_cure(error));
    if (iface->reserve_fd >= 0)
        close(iface->reserve_fd);
    int fd = os_own_accept(iface->listen_fd, NULL, NULL);
    if (fd >= 0)
        refuse(fd, VBN_ERR_LIMIT);
    iface->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void shm_listen_accept(shm_iface_t *iface)
{
    for (unsigned i = 0; i < SHM_ACCEPTS_PER_POLL; i++) {
        int fd = os_own_accept(iface->listen_fd, NULL, NULL);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                refuse_one(iface);
            return;
        }
        if (iface->same_user && shm_check_user(fd) != VBN_OK) {
            LOG_PEER_LOST(iface->params.log, VBN_LOG_WARN, 0, "connection refused: %s", err_text());
            refuse(fd, VBN_ERR_ACCESS);
            continue;
        }
        shm_ep_t *ep = shm_ep_new(iface, fd);
        if (ep == NULL || shm_ep_watch(ep) != VBN_OK) {
            LOG_PEER_LOST(iface->params.log, VBN_LOG_ERROR, 0, "connection of a same-host peer dropped: %s",
                          err_text());
            if (ep != NULL)
                shm_disconnect(&ep->base, VBN_CLOSE_NOW, 0);
            else
                os_own_close(fd);
            continue;
        }
        iface->params.upcalls.accepted(iface->params.upcalls.arg, &ep->base);
    }
}
