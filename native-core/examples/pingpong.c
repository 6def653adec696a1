/* SPDX-License-Identifier: Apache-2.0
 * pingpong.c - active messages back and forth between two processes.
 *
 *   pingpong KEYFILE            prints its address, answers, ends when the other one has gone
 *   pingpong KEYFILE ADDRESS    sends 1,000 messages, one after the other, and prints what a round trip takes */
#include <time.h>

#include "example.h"

enum { PING = 1, PONG = 2, ROUNDS = 1000 };

static volatile uint32_t gone;     /* the one who answers: the other side has closed */
static volatile uint32_t answered; /* the one who asks: a pong is here */

static void on_ping(void *arg, const vbn_am_message_t *message)
{
    static vbn_op_t op; /* one is enough: the next ping comes after this pong */
    (void)arg;
    check(vbn_am_send(message->peer, PONG, message->header, message->header_length, NULL, 0, 0, &op), "pong");
}

static void on_pong(void *arg, const vbn_am_message_t *message)
{
    (void)arg, (void)message;
    answered = 1;
}

static void on_gone(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    (void)arg, (void)peer, (void)status, (void)text;
    gone = 1;
}

static void play(vbn_worker_t *worker, const char *address)
{
    struct timespec from, to;
    vbn_op_t op = {0};
    vbn_peer_t *peer = connect_to(worker, address);
    for (uint32_t i = 0; i <= ROUNDS; i++) { /* the first round connects and is not counted */
        if (i == 1)
            (void)clock_gettime(CLOCK_MONOTONIC, &from);
        answered = 0;
        vbn_status_t status = vbn_am_send(peer, PING, &i, sizeof(i), NULL, 0, 0, &op);
        run_until(worker, &answered);
        finish(worker, status, &op, "ping");
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    char why[512];
    (void)vbn_explain(peer, why, sizeof(why));
    double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    printf("%d round trips of %.0f ns over %s\n", ROUNDS, ns / ROUNDS, why);
    leave(worker, peer);
}

int main(int argc, char **argv)
{
    vbn_context_t *context;
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: pingpong KEYFILE [ADDRESS]\n");
        return 2;
    }
    vbn_worker_t *worker = open_worker(argv[1], &context);
    check(vbn_am_handler(worker, PING, on_ping, NULL), "handler");
    check(vbn_am_handler(worker, PONG, on_pong, NULL), "handler");
    vbn_worker_set_peer_lost(worker, on_gone, NULL);
    if (argc == 3) {
        play(worker, argv[2]);
    } else {
        print_address(worker);
        run_until(worker, &gone);
    }
    vbn_worker_destroy(worker);
    check(vbn_close(context), "close");
    return 0;
}
