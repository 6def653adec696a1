/* SPDX-License-Identifier: Apache-2.0
 * shm_direct.c - bulk data past the ring: copies between the two processes' address spaces (process_vm_readv), which
 * containers, seccomp and Yama may forbid, so each side tries one word of the peer before it relies on it. */
#include "tl/shm/shm_private.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "base/bytes.h"
#include "base/os.h"
#include "tl/claim.h"

#define BOUNCE_BYTES (64u << 10)
#define CLOSE_WAIT_NS (UINT64_C(1000) * 1000 * 1000)
#define CLOSE_STEP_NS 20000

/* The kernel's word on who the peer is, in our own numbers; 0 when it cannot be seen from here. */
static pid_t peer_process(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : 0;
}

/* Like readv or writev of the peer's memory; bytes moved, or -1 with errno. */
static ssize_t move(pid_t pid, bool write, void *local, uint64_t remote, size_t length)
{
    struct iovec here = {local, length};
    struct iovec there = {(void *)(uintptr_t)remote, length};
    return write ? process_vm_writev(pid, &here, 1, &there, 1, 0) : process_vm_readv(pid, &here, 1, &there, 1, 0);
}

/* The same by way of a buffer that lies in its page as `remote` does: twice as many copies, and four times the speed where
 * the kernel's copy meets the slow case of bytes.h. Without memory for it the slow way has to do. */
static ssize_t move_around(shm_iface_t *iface, pid_t pid, bool write, void *local, uint64_t remote, size_t length)
{
    if (iface->bounce == NULL && (iface->bounce = aligned_alloc(BYTES_PAGE, BOUNCE_BYTES + BYTES_PAGE)) == NULL)
        return move(pid, write, local, remote, length);
    uint8_t *place = iface->bounce + remote % BYTES_PAGE;
    size_t bytes = length < BOUNCE_BYTES ? length : BOUNCE_BYTES;
    if (write)
        bytes_copy_bulk(place, local, bytes);
    ssize_t moved = move(pid, write, place, remote, bytes);
    if (!write && moved > 0)
        bytes_copy_bulk(local, place, (size_t)moved);
    return moved;
}

/* Another process answers to that number (ESRCH), or none, where process namespaces differ. */
static const char *probe_cure(int error)
{
    switch (error) {
    case EPERM:
    case EACCES:
        return "process_vm_readv needs the same user and ptrace rights (sysctl kernel.yama.ptrace_scope=0, CAP_SYS_PTRACE "
               "or the seccomp profile of a container)";
    case ESRCH:
    case EFAULT: return "process_vm_readv needs a common process namespace";
    case ENOSYS: return "process_vm_readv needs CONFIG_CROSS_MEMORY_ATTACH, and a seccomp profile that allows it";
    default: return "process_vm_readv failed";
    }
}

void shm_direct_probe(shm_ep_t *ep, uint64_t address)
{
    shm_iface_t *iface = shm_ep_iface(ep);
    shm_trial_t trial = {0};
    if (!iface->params.settings->tl_shm_copy)
        return;
    ep->process = peer_process(ep->fd);
    ssize_t got = ep->process > 0 ? move(ep->process, false, &trial, address, sizeof(trial)) : -1;
    int error = ep->process > 0 ? errno : ESRCH;
    ep->copies = got == (ssize_t)sizeof(trial) && trial.word == ep->peer_word;
    ep->peer_consents = ep->copies ? trial.consents : 0;
    if (ep->copies || iface->no_copy_logged)
        return;
    iface->no_copy_logged = true;
    (void)err_sys(got < 0 ? error : ESRCH, "memory of same-host process %d cannot be read directly", (int)ep->process);
    LOG_INFO(iface->params.log, "%s; large messages from memory that is not shared go through the ring: %s", err_text(),
             probe_cure(got < 0 ? error : ESRCH));
}

bool shm_direct(tl_ep_t *tl_ep, tl_direct_t *direct_p)
{
    shm_ep_t *ep = (shm_ep_t *)tl_ep;
    if (!ep->ready || ep->gone || ep->broken)
        return false;
    *direct_p = (tl_direct_t){.copies = ep->copies,
                              .consents = ep->peer_consents,
                              .source = ep->source,
                              .ours = ep->rx.control->claims,
                              .used = &ep->claims_used,
                              .theirs = ep->tx.control->claims,
                              .lent = &ep->lent,
                              .guard = {.writing = &ep->tx.control->writing, .shut = &ep->tx.control->shut}};
    return true;
}

/* The socket ends when the process ends or lets go of us, and the process number is free for others only after that. */
static bool hung_up(const shm_ep_t *ep)
{
    struct pollfd fd = {.fd = ep->fd, .events = POLLRDHUP};
    int found;
    if (ep->hup)
        return true;
    do
        found = poll(&fd, 1, 0);
    while (found < 0 && errno == EINTR);
    return found != 0;
}

vbn_status_t shm_copy(tl_ep_t *tl_ep, bool write, void *local, uint64_t remote, size_t length)
{
    shm_ep_t *ep = (shm_ep_t *)tl_ep;
    uint8_t *at = local;
    uint64_t here = (uintptr_t)local;
    bool slow = write ? bytes_lie_behind(remote, here) : bytes_lie_behind(here, remote);
    if (!ep->copies || ep->gone || ep->broken || (write && hung_up(ep))) /* never into a stranger with its number */
        return err_set(VBN_ERR_PEER_LOST, "same-host peer is gone");
    while (length > 0) { /* each turn moves something: a range that ends in the middle fails in the next one */
        ssize_t moved = slow ? move_around(shm_ep_iface(ep), ep->process, write, at, remote, length)
                             : move(ep->process, write, at, remote, length);
        if (moved <= 0)
            return err_sys(moved < 0 ? errno : EFAULT, "cannot %s %zu bytes of same-host process %d",
                           write ? "write" : "read", length, (int)ep->process);
        at += moved;
        remote += (uint64_t)moved;
        length -= (size_t)moved;
    }
    return VBN_OK;
}

bool shm_present(tl_ep_t *tl_ep)
{
    const shm_ep_t *ep = (const shm_ep_t *)tl_ep;
    return !ep->gone && !ep->broken && !hung_up(ep);
}

/* A helper that has taken a chunk writes into our memory, and so does a peer that has mapped it: they are waited for, unless
 * they ended. They need some 20 us; one that is stopped in the middle is given up after a second. */
bool shm_settled(tl_ep_t *tl_ep)
{
    shm_ep_t *ep = (shm_ep_t *)tl_ep;
    shm_ring_control_t *control = ep->rx.control;
    if (control == NULL)
        return true;
    bool busy = ep->lent && !guard_shut(&(guard_t){.writing = &control->writing, .shut = &control->shut});
    for (unsigned i = 0; i < TL_CLAIMS; i++) {
        if ((ep->claims_used & 1u << i) == 0)
            continue;
        (void)claim_close(&control->claims[i]);
        busy = busy || (atomic_get_acquire(&control->claims[i]) & CLAIM_BUSY) != 0; /* pairs with claim_release */
    }
    if (!busy || ep->gone || hung_up(ep))
        return true;
    uint64_t now = os_now_ns();
    if (ep->settle_ns == 0)
        ep->settle_ns = now + CLOSE_WAIT_NS;
    return now >= ep->settle_ns;
}

void shm_direct_close(shm_ep_t *ep)
{
    while (!shm_settled(&ep->base))
        (void)nanosleep(&(struct timespec){.tv_nsec = CLOSE_STEP_NS}, NULL);
}
