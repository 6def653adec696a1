/* SPDX-License-Identifier: Apache-2.0
 * cost_am.c - sends active messages over shared memory between two workers of one thread, for tools that count
 * what one send and its receipt cost. Everything is set up and warm before cost_round() is entered for the first time.
 * Usage: cost_am rounds batch [bytes]: each round sends `batch` messages of `bytes` (8), then receives them. */
#include <stdio.h>
#include <stdlib.h>

#include "vbn/vbn.h"

#define WARM_ROUNDS 500u
#define SETUP_TURNS 1000000u

typedef struct pair {
    vbn_worker_t *sender;
    vbn_worker_t *receiver;
    vbn_peer_t *peer;
    uint64_t received;
    unsigned batch;
} pair_t;

void cost_round(pair_t *pair, vbn_op_t *op, const struct iovec *iov); /* not static: callgrind finds it by name */

static void fail(const char *what)
{
    fprintf(stderr, "cost_am: %s: %s\n", what, vbn_error_text());
    exit(1);
}

static void check(vbn_status_t status, const char *what)
{
    if (status < 0)
        fail(what);
}

static void on_message(void *arg, const vbn_am_message_t *message)
{
    (void)message;
    ((pair_t *)arg)->received++;
}

/* The measured part: its name is what tests/cost/test_cost.py lets the counter toggle on. */
__attribute__((noinline)) void cost_round(pair_t *pair, vbn_op_t *op, const struct iovec *iov)
{
    uint64_t expected = pair->received + pair->batch;
    for (unsigned i = 0; i < pair->batch; i++)
        if (vbn_am_send(pair->peer, 1, NULL, 0, iov, 1, 0, op) < 0)
            fail("vbn_am_send");
    while (pair->received != expected)
        (void)vbn_progress(pair->receiver);
}

static vbn_worker_t *open_worker(vbn_context_t **context_p)
{
    static const uint8_t key[VBN_JOB_KEY_BYTES] = {1};
    vbn_config_t *config;
    vbn_worker_t *worker;
    check(vbn_config_create(&config), "vbn_config_create");
    check(vbn_config_set(config, "tl.enable", "shm"), "tl.enable");
    check(vbn_config_set_job_key(config, key), "job key");
    check(vbn_open(config, context_p), "vbn_open");
    vbn_config_destroy(config);
    check(vbn_worker_create(*context_p, &worker), "vbn_worker_create");
    return worker;
}

static void turn(pair_t *pair)
{
    (void)vbn_progress(pair->sender);
    (void)vbn_progress(pair->receiver);
}

/* The first message waits for the wire-up; afterwards packets go through the ring. */
static void connect_pair(pair_t *pair, vbn_op_t *op, const struct iovec *iov)
{
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    check(vbn_am_handler(pair->receiver, 1, on_message, pair), "vbn_am_handler");
    check(vbn_worker_address(pair->receiver, blob, &length), "vbn_worker_address");
    check(vbn_connect(pair->sender, blob, length, NULL, NULL, &pair->peer), "vbn_connect");
    check(vbn_am_send(pair->peer, 1, NULL, 0, iov, 1, 0, op), "first message");
    for (unsigned i = 0; i < SETUP_TURNS && (pair->received == 0 || op->complete == 0); i++)
        turn(pair);
    if (pair->received == 0) {
        fprintf(stderr, "cost_am: the two workers did not connect\n");
        exit(1);
    }
}

static void warm(pair_t *pair, vbn_op_t *op, const struct iovec *iov)
{
    for (unsigned i = 0; i < WARM_ROUNDS; i++) {
        uint64_t expected = pair->received + 1;
        check(vbn_am_send(pair->peer, 1, NULL, 0, iov, 1, 0, op), "vbn_am_send");
        for (unsigned j = 0; j < SETUP_TURNS && pair->received != expected; j++)
            turn(pair);
    }
}

int main(int argc, char **argv)
{
    static uint8_t data[4096];
    unsigned long rounds = argc >= 3 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned long bytes = argc >= 4 ? strtoul(argv[3], NULL, 10) : 8;
    const struct iovec iov = {data, bytes};
    vbn_context_t *contexts[2];
    pair_t pair = {.batch = argc >= 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0};
    vbn_op_t op = {0};
    if (rounds == 0 || pair.batch == 0 || pair.batch > 32 || bytes == 0 || bytes > sizeof(data)) {
        fprintf(stderr, "usage: cost_am rounds batch (1 to 32) [bytes (1 to %zu)]\n", sizeof(data));
        return 2;
    }
    pair.sender = open_worker(&contexts[0]);
    pair.receiver = open_worker(&contexts[1]);
    connect_pair(&pair, &op, &iov);
    warm(&pair, &op, &iov);
    for (unsigned long i = 0; i < rounds; i++) {
        cost_round(&pair, &op, &iov);
        (void)vbn_progress(pair.sender); /* takes the credits back, outside of what is counted */
    }
    printf("messages %lu\n", rounds * pair.batch);
    vbn_worker_destroy(pair.sender);
    vbn_worker_destroy(pair.receiver);
    check(vbn_close(contexts[0]), "vbn_close");
    check(vbn_close(contexts[1]), "vbn_close");
    return 0;
}
