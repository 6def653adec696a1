/* SPDX-License-Identifier: Apache-2.0
 * cost_rdma.c - 8-byte active messages there and back over rc or ud between two workers of one thread, on the scripted
 * libibverbs of tests/verbs, for tools that count what the core does for one. Warm before cost_round() is entered first.
 * Usage: cost_rdma transport rounds turns: each round makes so many idle turns of both workers, too. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../verbs/fabric.h"
#include "vbn/vbn.h"

#define WARM_ROUNDS 2000u /* test_cost.py knows it */
#define SETUP_TURNS 1000000u

typedef struct side {
    vbn_context_t *context;
    vbn_worker_t *worker;
    uint64_t received;
    bool answers;
} side_t;

void cost_round(side_t *sides, vbn_peer_t *peer, unsigned long turns); /* not static: callgrind finds it by name */

static uint64_t data = 42;

static void check(vbn_status_t status, const char *what)
{
    if (status >= 0)
        return;
    fprintf(stderr, "cost_rdma: %s: %s\n", what, vbn_error_text());
    exit(1);
}

static void send_to(vbn_peer_t *peer)
{
    const struct iovec iov = {&data, sizeof(data)};
    vbn_op_t op = {0};
    vbn_status_t status = vbn_am_send(peer, 1, NULL, 0, &iov, 1, 0, &op);
    check(status, "vbn_am_send");
    if (status != VBN_OK) {
        fprintf(stderr, "cost_rdma: a message had to wait\n");
        exit(1);
    }
}

static void on_message(void *arg, const vbn_am_message_t *message)
{
    side_t *side = arg;
    side->received++;
    if (side->answers)
        send_to(message->peer);
}

/* The measured part: its name is what tests/cost/test_cost.py lets the counter toggle on. */
__attribute__((noinline)) void cost_round(side_t *sides, vbn_peer_t *peer, unsigned long turns)
{
    uint64_t expected = sides[0].received + 1;
    send_to(peer);
    while (sides[0].received != expected) {
        (void)vbn_progress(sides[1].worker);
        (void)vbn_progress(sides[0].worker);
    }
    for (; turns > 0; turns--) {
        (void)vbn_progress(sides[1].worker);
        (void)vbn_progress(sides[0].worker);
    }
}

static void open_side(side_t *side, const char *transport)
{
    static const uint8_t key[VBN_JOB_KEY_BYTES] = {1};
    vbn_config_t *config;
    check(vbn_config_create(&config), "vbn_config_create");
    check(vbn_config_set(config, "tl.enable", transport), "tl.enable");
    check(vbn_config_set_job_key(config, key), "job key");
    check(vbn_open(config, &side->context), "vbn_open");
    vbn_config_destroy(config);
    check(vbn_worker_create(side->context, &side->worker), "vbn_worker_create");
    check(vbn_am_handler(side->worker, 1, on_message, side), "vbn_am_handler");
}

/* The first message waits for the wire-up. */
static vbn_peer_t *connect_sides(side_t *sides)
{
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    vbn_peer_t *peer;
    const struct iovec iov = {&data, sizeof(data)};
    vbn_op_t op = {0};
    check(vbn_worker_address(sides[1].worker, blob, &length), "vbn_worker_address");
    check(vbn_connect(sides[0].worker, blob, length, NULL, NULL, &peer), "vbn_connect");
    check(vbn_am_send(peer, 1, NULL, 0, &iov, 1, 0, &op), "first message");
    for (unsigned i = 0; i < SETUP_TURNS && (sides[0].received == 0 || op.complete == 0); i++) {
        (void)vbn_progress(sides[0].worker);
        (void)vbn_progress(sides[1].worker);
    }
    if (sides[0].received == 0) {
        fprintf(stderr, "cost_rdma: the two workers did not connect\n");
        exit(1);
    }
    return peer;
}

int main(int argc, char **argv)
{
    side_t sides[2] = {{.answers = false}, {.answers = true}};
    unsigned long rounds = argc == 4 ? strtoul(argv[2], NULL, 10) : 0, turns = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    if (rounds == 0) {
        fprintf(stderr, "usage: cost_rdma transport rounds turns\n");
        return 2;
    }
    fabric_install(1);
    fabric_script.classic = true; /* one call of the library per doorbell */
    open_side(&sides[0], argv[1]);
    open_side(&sides[1], argv[1]);
    vbn_peer_t *peer = connect_sides(sides);
    for (unsigned i = 0; i < WARM_ROUNDS; i++)
        cost_round(sides, peer, turns);
    fabric_counts_t before = fabric_counts;
    for (unsigned long i = 0; i < rounds; i++)
        cost_round(sides, peer, turns);
    printf("rounds %lu doorbells %llu requests %llu signalled %llu\n", rounds,
           (unsigned long long)(fabric_counts.doorbells - before.doorbells),
           (unsigned long long)(fabric_counts.requests - before.requests),
           (unsigned long long)(fabric_counts.signalled - before.signalled));
    vbn_disconnect(peer, VBN_CLOSE_NOW);
    vbn_worker_destroy(sides[0].worker);
    vbn_worker_destroy(sides[1].worker);
    check(vbn_close(sides[0].context), "vbn_close");
    check(vbn_close(sides[1].context), "vbn_close");
    fabric_remove();
    return 0;
}
