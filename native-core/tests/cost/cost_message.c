/* SPDX-License-Identifier: Apache-2.0
 * cost_message.c - sends messages over shared memory between two workers of one thread, for tools that count what one
 * send and its receipt cost. Everything is set up and warm before cost_round() is entered for the first time.
 * Usage: cost_message am|tag|post|large rounds batch [bytes]: each round sends `batch` messages of `bytes` (8), then receives
 * them. am: active messages; tag: tagged ones, whose receives are posted before the round; post: within it; large: tagged
 * ones one by one, of which the sender hears that they have come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vbn/vbn.h"

#define WARM_ROUNDS 500u
#define SETUP_TURNS 1000000u
#define BATCH_MAX 32u
#define TAG 5u
#define BYTES_MAX 65536u

typedef enum kind { AM, TAGGED, TAGGED_POST, LARGE, KINDS } kind_t;
static const char *const NAMES[KINDS] = {"am", "tag", "post", "large"};

typedef struct pair {
    vbn_worker_t *sender;
    vbn_worker_t *receiver;
    vbn_peer_t *peer;
    vbn_peer_t *back; /* the sender, as its receiver knows it */
    uint64_t received;
    unsigned batch;
    kind_t kind;
    struct iovec places;
    vbn_tag_info_t info;
    vbn_op_t receives[BATCH_MAX];
} pair_t;

void cost_round(pair_t *pair, vbn_op_t *op, const struct iovec *iov); /* not static: callgrind finds it by name */

static void fail(const char *what)
{
    fprintf(stderr, "cost_message: %s: %s\n", what, vbn_error_text());
    exit(1);
}

static void check(vbn_status_t status, const char *what)
{
    if (status < 0)
        fail(what);
}

static void on_message(void *arg, const vbn_am_message_t *message)
{
    pair_t *pair = arg;
    pair->back = message->peer;
    pair->received++;
}

static void on_received(vbn_op_t *op, vbn_status_t status, size_t length)
{
    pair_t *pair = op->user;
    if (status != VBN_OK || length != pair->places.iov_len)
        fail("receive");
    pair->received++;
}

static void post(pair_t *pair, unsigned i)
{
    vbn_op_t *op = &pair->receives[i];
    op->done = on_received;
    op->user = pair;
    if (vbn_tag_recv(pair->receiver, pair->back, TAG, UINT64_MAX, &pair->places, 1, &pair->info, op) != VBN_INPROGRESS)
        fail("vbn_tag_recv");
}

static inline vbn_status_t send_one(const pair_t *pair, vbn_op_t *op, const struct iovec *iov)
{
    return pair->kind == AM ? vbn_am_send(pair->peer, 1, NULL, 0, iov, 1, 0, op)
                            : vbn_tag_send(pair->peer, TAG, iov, 1, 0, op);
}

/* Both sides' part of a message that is announced. */
static void send_large(pair_t *pair, vbn_op_t *op, const struct iovec *iov)
{
    const uint64_t expected = pair->received + 1;
    post(pair, 0);
    check(send_one(pair, op, iov), "send");
    while (pair->received != expected || op->complete == 0) {
        (void)vbn_progress(pair->receiver);
        (void)vbn_progress(pair->sender);
    }
}

/* The measured part: its name is what tests/cost/test_cost.py lets the counter toggle on. */
__attribute__((noinline)) void cost_round(pair_t *pair, vbn_op_t *op, const struct iovec *iov)
{
    uint64_t expected = pair->received + pair->batch;
    if (pair->kind == LARGE) {
        for (unsigned i = 0; i < pair->batch; i++)
            send_large(pair, op, iov);
        return;
    }
    for (unsigned i = 0; i < pair->batch && pair->kind == TAGGED_POST; i++)
        post(pair, i);
    for (unsigned i = 0; i < pair->batch; i++)
        if (send_one(pair, op, iov) != VBN_OK)
            fail("a message had to wait");
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
    const struct iovec byte = {iov->iov_base, 1};
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    check(vbn_am_handler(pair->receiver, 1, on_message, pair), "vbn_am_handler");
    check(vbn_worker_address(pair->receiver, blob, &length), "vbn_worker_address");
    check(vbn_connect(pair->sender, blob, length, NULL, NULL, &pair->peer), "vbn_connect");
    check(vbn_am_send(pair->peer, 1, NULL, 0, &byte, 1, 0, op), "first message");
    for (unsigned i = 0; i < SETUP_TURNS && (pair->received == 0 || op->complete == 0); i++)
        turn(pair);
    if (pair->received == 0) {
        fprintf(stderr, "cost_message: the two workers did not connect\n");
        exit(1);
    }
}

/* What a round needs besides, outside of what is counted: receives, and credits back at the sender. */
static void prepare(pair_t *pair)
{
    turn(pair);
    for (unsigned i = 0; i < pair->batch && pair->kind == TAGGED; i++)
        post(pair, i);
}

/* Messages of one, until the sender has the credit that it will ever have. */
static void warm(pair_t *pair, vbn_op_t *op, const struct iovec *iov)
{
    const unsigned batch = pair->batch;
    pair->batch = 1;
    for (unsigned i = 0; i < WARM_ROUNDS; i++) {
        uint64_t expected = pair->received + 1;
        if (pair->kind != AM)
            post(pair, 0);
        check(send_one(pair, op, iov), "send");
        for (unsigned j = 0; j < SETUP_TURNS && (pair->received != expected || op->complete == 0); j++)
            turn(pair);
    }
    pair->batch = batch;
}

static int usage(void)
{
    fprintf(stderr, "usage: cost_message am|tag|post|large rounds batch (1 to %u) [bytes (1 to %u)]\n", BATCH_MAX,
            BYTES_MAX);
    return 2;
}

int main(int argc, char **argv)
{
    static uint8_t data[BYTES_MAX], place[BYTES_MAX];
    unsigned long rounds = argc >= 4 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long bytes = argc >= 5 ? strtoul(argv[4], NULL, 10) : 8;
    const struct iovec iov = {data, bytes};
    vbn_context_t *contexts[2];
    static pair_t pair;
    vbn_op_t op = {0};
    pair.batch = argc >= 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    pair.places = (struct iovec){place, bytes};
    while (argc >= 4 && pair.kind < KINDS && strcmp(argv[1], NAMES[pair.kind]) != 0)
        pair.kind++;
    if (pair.kind == KINDS || rounds == 0 || pair.batch == 0 || pair.batch > BATCH_MAX || bytes == 0 ||
        bytes > sizeof(data))
        return usage();
    pair.sender = open_worker(&contexts[0]);
    pair.receiver = open_worker(&contexts[1]);
    connect_pair(&pair, &op, &iov);
    warm(&pair, &op, &iov);
    for (unsigned long i = 0; i < rounds; i++) {
        prepare(&pair);
        cost_round(&pair, &op, &iov);
    }
    printf("messages %lu\n", rounds * pair.batch);
    vbn_worker_destroy(pair.sender);
    vbn_worker_destroy(pair.receiver);
    check(vbn_close(contexts[0]), "vbn_close");
    check(vbn_close(contexts[1]), "vbn_close");
    return 0;
}
