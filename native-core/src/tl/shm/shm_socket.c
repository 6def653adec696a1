/* SPDX-License-Identifier: Apache-2.0
 * shm_socket.c - messages on the wire-up socket, with and without descriptors. */
#include "tl/shm/shm_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union shm_control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
} shm_control_t;

/* A message as received: note, then the packet. */
typedef struct shm_incoming {
    shm_note_t note;
    uint8_t packet[TL_SIGNAL_MAX];
} shm_incoming_t;

void shm_ep_want_out(shm_ep_t *ep, bool wanted)
{
    if (ep->wants_out == wanted || ep->gone || ep->hup || ep->dialing)
        return;
    ep->wants_out = wanted;
    struct epoll_event event = {.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = ep};
    (void)epoll_ctl(shm_ep_iface(ep)->epoll_fd, EPOLL_CTL_MOD, ep->fd, &event);
}

/* VBN_BUSY: the socket takes nothing now. */
static vbn_status_t send_now(shm_ep_t *ep, const shm_note_t *note, int fd)
{
    struct iovec iov = {(void *)(uintptr_t)note, sizeof(*note)};
    shm_control_t control = {.bytes = {0}};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd >= 0) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
    }
    if (sendmsg(ep->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return VBN_OK;
    /* ETOOMANYREFS: too many descriptors in flight for this user; they drain as peers read. */
    if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ETOOMANYREFS)
        return VBN_BUSY;
    if (errno == EPIPE || errno == ECONNRESET)
        return err_set(VBN_ERR_PEER_LOST, "same-host peer closed its socket");
    return err_sys(errno, "cannot send to a same-host peer");
}

/* NULL: no layer above handles such notes. */
static const shm_receiver_t *receiver_of(const shm_ep_t *ep, uint8_t type)
{
    const shm_receiver_t *receiver = &shm_ep_iface(ep)->receivers[type < SHM_NOTES ? type : 0];
    return receiver->receive == NULL ? NULL : receiver;
}

static void note_sent(shm_ep_t *ep, const shm_note_t *note)
{
    const shm_receiver_t *receiver = receiver_of(ep, note->type);
    if (receiver != NULL && receiver->sent != NULL)
        receiver->sent(ep);
}

static void queue(shm_ep_t *ep, const shm_note_t *note, int fd)
{
    shm_outgoing_t *out = ep->outbox_count < SHM_OUTBOX_MAX ? malloc(sizeof(*out)) : NULL;
    if (out == NULL) {
        if (fd >= 0)
            close(fd);
        shm_ep_fail(ep, VBN_ERR_LIMIT, "same-host peer does not read its socket");
        return;
    }
    *out = (shm_outgoing_t){.note = *note, .fd = fd};
    list_append(&ep->outbox, &out->link);
    ep->outbox_count++;
    shm_ep_want_out(ep, true);
}

void shm_note_send(shm_ep_t *ep, const shm_note_t *note, int fd)
{
    vbn_status_t status = VBN_BUSY;
    if (!ep->dialing && list_empty(&ep->outbox))
        status = send_now(ep, note, fd);
    if (status == VBN_BUSY) {
        queue(ep, note, fd);
        return;
    }
    if (fd >= 0)
        close(fd);
    if (status == VBN_OK)
        note_sent(ep, note);
    else if (status == VBN_ERR_PEER_LOST)
        shm_attend(shm_ep_iface(ep)); /* read what is left, then the end of the stream says it */
    else
        shm_ep_fail(ep, status, err_text());
}

void shm_outbox_flush(shm_ep_t *ep)
{
    while (!list_empty(&ep->outbox) && !ep->gone && !ep->broken) {
        shm_outgoing_t *out = container_of(ep->outbox.next, shm_outgoing_t, link);
        vbn_status_t status = send_now(ep, &out->note, out->fd);
        if (status == VBN_BUSY) {
            shm_ep_want_out(ep, true);
            return;
        }
        if (status != VBN_OK) {
            shm_attend(shm_ep_iface(ep));
            return;
        }
        shm_note_t note = out->note;
        list_remove(&out->link);
        ep->outbox_count--;
        if (out->fd >= 0)
            close(out->fd);
        free(out);
        note_sent(ep, &note);
    }
    if (ep->gone || ep->broken)
        return;
    shm_ep_want_out(ep, false);
    if (ep->blocked && !ep->tx_open) {
        ep->blocked = false;
        shm_ep_iface(ep)->params.upcalls.tx_ready(&ep->base);
    }
}

static int take_descriptor(struct msghdr *msg)
{
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
    if (cmsg == NULL || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS ||
        cmsg->cmsg_len != CMSG_LEN(sizeof(int)))
        return -1;
    int fd;
    memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
    return fd;
}

static void packet_in(shm_ep_t *ep, const shm_incoming_t *in, size_t bytes)
{
    size_t packet_bytes = bytes - sizeof(in->note);
    uint32_t header_bytes = in->note.header_bytes;
    if (ep->rx_open || header_bytes > TL_HEADER_MAX || header_bytes > packet_bytes) {
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer sent a malformed packet on its socket");
        return;
    }
    shm_ep_iface(ep)->params.upcalls.rx(&ep->base, in->packet, header_bytes, in->packet + header_bytes,
                                        (uint32_t)packet_bytes - header_bytes);
}

/* Who listens takes nobody, or not this user. */
static void refused_in(shm_ep_t *ep, const shm_note_t *note)
{
    if (ep->wanted || (note->status != VBN_ERR_LIMIT && note->status != VBN_ERR_ACCESS))
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer refused a connection that it had taken");
    else if (note->status == VBN_ERR_LIMIT)
        shm_ep_fail(ep, VBN_ERR_LIMIT, "same-host peer has no descriptor left for a connection; raise ulimit -n there");
    else
        shm_ep_fail(ep, VBN_ERR_ACCESS,
                    "same-host peer accepts its own user only; set security.same_user=false there to allow others");
}

static void dispatch(shm_ep_t *ep, const shm_incoming_t *in, size_t bytes, int fd, bool fd_lost)
{
    uint8_t type = in->note.type;
    const shm_receiver_t *receiver = receiver_of(ep, type);
    bool with_fd = receiver != NULL && receiver->with_fd;
    bool sized = type == SHM_WAKE     ? bytes == 1
                 : type == SHM_PACKET ? bytes >= sizeof(in->note)
                                      : bytes == sizeof(in->note);
    if (!sized || (fd >= 0 && !with_fd)) {
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer sent a malformed message on its socket");
    } else if (type == SHM_PACKET) {
        packet_in(ep, in, bytes);
    } else if (receiver != NULL) {
        receiver->receive(ep, &in->note, fd, fd_lost);
        return;
    } else if (type == SHM_REFUSED) {
        refused_in(ep, &in->note);
    } else if (type != SHM_WAKE) {
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer sent an unknown message on its socket");
    }
    if (fd >= 0)
        close(fd);
}

static void hang_up(shm_ep_t *ep)
{
    ep->hup = true;
    ep->rx_quick = false;
    (void)epoll_ctl(shm_ep_iface(ep)->epoll_fd, EPOLL_CTL_DEL, ep->fd, NULL); /* else it stays readable for ever */
    if (!ep->rx_open)                                                         /* else the ring is drained first */
        shm_ep_fail(ep, VBN_ERR_PEER_LOST, "same-host peer closed its socket: it ended or disconnected");
}

unsigned shm_socket_read(shm_ep_t *ep)
{
    unsigned count = 0;
    shm_ring_heat(ep); /* a wake-up, or the end: in both cases the ring is looked at */
    while (count < SHM_NOTES_PER_POLL && !ep->gone && !ep->broken && !ep->hup && !ep->dialing) {
        shm_incoming_t in;
        shm_control_t control;
        struct iovec iov = {&in, sizeof(in)};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_LEN(sizeof(int))}; /* of two descriptors the kernel drops one */
        ssize_t got = recvmsg(ep->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EAGAIN)
            return count;
        if (got < 0 && (errno == EINTR || errno == ECONNRESET))
            continue; /* reset: reported once; what came before it is still there */
        count++;
        int fd = got >= 0 ? take_descriptor(&msg) : -1; /* an empty message looks like the end, and may bring one */
        if (got <= 0 && fd < 0) {
            hang_up(ep);
            return count;
        }
        if (got == 0 || (msg.msg_flags & MSG_TRUNC) != 0) {
            if (fd >= 0)
                close(fd);
            shm_ep_fail(ep, VBN_ERR_PROTOCOL,
                        got == 0 ? "same-host peer sent an empty message with a descriptor"
                                 : "same-host peer sent an oversized message on its socket");
            return count;
        }
        dispatch(ep, &in, (size_t)got, fd, (msg.msg_flags & MSG_CTRUNC) != 0);
        if (in.note.type == SHM_WAKE) /* comes alone; what may be behind it keeps the socket readable */
            return count;
    }
    return count;
}
