/* SPDX-License-Identifier: Apache-2.0
 * ud_life.c - see ud_life.h. */
#include "tl/ud/ud_life.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/os.h"

#define SLOTS 32u
#define ANSWERS_AT_ONCE 16u
#define LEAVE_NS UINT64_C(10000000) /* that answers may take to leave: a device takes microseconds */
#define DATAGRAM_MOST 64u

/* -------------------------------------------------------------------------------------------- the thread */

/* What has come: sent answers are done, questions wait in life->questions. */
static void take(ud_life_t *life)
{
    const struct ibv_wc *wc;
    while (life->question_count < UD_LIFE_RECEIVES && (wc = verbs_cq_next(&life->cq)) != NULL) {
        ud_question_t *question = &life->questions[life->question_count];
        question->number = wc->wr_id;
        question->at = verbs_datagram_completion(&life->datagram, wc, &question->bytes);
        life->question_count += question->at != NULL;
    }
}

/* Lock held. */
static void answer(ud_life_t *life, const ud_question_t *question)
{
    ud_life_word_t word;
    if (!ud_life_decode(question->at, question->bytes, &word) || word.answer)
        return;
    const ud_life_peer_t *peer = map_get(&life->peers, word.to);
    verbs_slot_t *slot = NULL;
    if (peer != NULL && peer->remote_id == word.from && !life->datagram.broken)
        slot = verbs_sq_take(&life->datagram.sq, UD_LIFE_BYTES);
    if (slot == NULL)
        return; /* not ours, or it asks again */
    ud_life_encode(&(ud_life_word_t){.answer = true, .from = word.to, .to = word.from}, slot->buffer);
    slot->cookie = life; /* its completion is waited for (L2) */
    verbs_datagram_send(&life->datagram, slot, UD_LIFE_BYTES, &peer->route, peer->qpn);
}

/* Some of the questions; the lock is let go now and then. */
static void answer_some(ud_life_t *life)
{
    unsigned count = life->question_count < ANSWERS_AT_ONCE ? life->question_count : ANSWERS_AT_ONCE;
    pthread_mutex_lock(&life->lock);
    for (unsigned i = 0; i < count; i++)
        answer(life, &life->questions[life->question_count - 1 - i]);
    verbs_datagram_flush(&life->datagram);
    for (unsigned i = 0; i < count; i++)
        verbs_datagram_release(&life->datagram, life->questions[--life->question_count].number);
    uint64_t until = os_now_ns() + LEAVE_NS;
    while (life->datagram.sq.used > 0 && !life->port.dead && os_now_ns() < until)
        take(life);
    pthread_mutex_unlock(&life->lock);
}

static void serve(ud_life_t *life)
{
    take(life);
    while (life->question_count > 0)
        answer_some(life);
    if (life->datagram.broken)
        verbs_datagram_restart(&life->datagram);
}

static void *run(void *arg)
{
    ud_life_t *life = arg;
    for (;;) {
        struct pollfd fds[2] = {{.fd = life->stop_fd, .events = POLLIN},
                                {.fd = life->port.dead ? -1 : life->cq.channel->fd, .events = POLLIN}};
        bool busy = !life->port.dead && verbs_cq_arm(&life->cq) == VBN_BUSY;
        if (busy)
            serve(life);
        if (poll(fds, 2, busy ? 0 : -1) < 0 && errno != EINTR)
            return NULL;
        if ((fds[0].revents & POLLIN) != 0)
            return NULL;
        life->port.dead = life->port.dead || (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    }
}

/* The program's signals are for the program's threads. */
static int start(ud_life_t *life)
{
    sigset_t all, before;
    sigfillset(&all);
    int error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error != 0)
        return error;
    error = pthread_create(&life->thread, NULL, run, life);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* ---------------------------------------------------------------------------------------- the interface's */

static void close_parts(ud_life_t *life)
{
    verbs_datagram_close(&life->datagram);
    verbs_cq_close(&life->cq);
    verbs_slots_close(&life->slots);
    if (life->stop_fd >= 0)
        close(life->stop_fd);
    life->stop_fd = -1;
    free(life->counters);
    map_free(&life->peers);
    pthread_mutex_destroy(&life->lock);
}

vbn_status_t ud_life_open(ud_life_t *life, verbs_iface_t *iface, const tl_params_t *params)
{
    memset(life, 0, sizeof(*life));
    life->port = iface->port;
    life->cq.epoll_fd = -1;
    map_init(&life->peers);
    pthread_mutex_init(&life->lock, NULL);
    life->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    vbn_status_t status = life->stop_fd < 0 ? err_sys(errno, "cannot create an eventfd (see ulimit -n)") : VBN_OK;
    life->counters = calloc(1, sizeof(*life->counters));
    if (status >= 0 && life->counters == NULL)
        status = err_set(VBN_ERR_NO_MEMORY, "no heap for a ud interface");
    if (status >= 0)
        status = verbs_cq_open(&life->cq, &life->port, UD_LIFE_RECEIVES + 2 * SLOTS);
    if (status >= 0)
        status = verbs_slots_open(&life->slots, &life->port, &iface->pages, VERBS_SMALL, SLOTS, life->counters);
    if (status >= 0)
        status = verbs_datagram_open(&life->datagram, &life->port, &life->cq, &life->slots, &iface->pages,
                                     params->job_key, UD_LIFE_RECEIVES, DATAGRAM_MOST);
    if (status < 0) {
        close_parts(life);
        return status;
    }
    int error = start(life);
    if (error != 0) {
        close_parts(life);
        return err_sys(error, "cannot start the thread that answers for this process (see ulimit -u)");
    }
    iface->address.life = life->datagram.qpn;
    return VBN_OK;
}

void ud_life_close(ud_life_t *life)
{
    if (life->stop_fd < 0)
        return;
    (void)eventfd_write(life->stop_fd, 1);
    pthread_join(life->thread, NULL);
    close_parts(life);
}

void ud_life_vouch(ud_life_t *life, ud_life_peer_t *peer)
{
    pthread_mutex_lock(&life->lock);
    if (map_put(&life->peers, peer->id, peer) < 0)
        peer->id = 0; /* no heap: a program that computes for long may be lost */
    pthread_mutex_unlock(&life->lock);
}

void ud_life_withdraw(ud_life_t *life, ud_life_peer_t *peer)
{
    if (peer->id == 0)
        return;
    pthread_mutex_lock(&life->lock);
    (void)map_remove(&life->peers, peer->id);
    pthread_mutex_unlock(&life->lock);
    peer->id = 0;
}
