/* SPDX-License-Identifier: Apache-2.0
 * cost_rdma.c - what the core does for one operation over rc or ud, between two workers of one thread on the scripted libibverbs
 * of tests/verbs, for tools that count it: an 8-byte active message there and back, or a put, a get or a message to be pulled of
 * 1 MiB, between memory of vbn_mem_alloc. Warm before cost_round() is entered first.
 * Usage: cost_rdma transport rounds turns [message|put|get|pull]: each round makes so many idle turns of both workers, too. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../verbs/fabric.h"
#include "vbn/vbn.h"

#define WARM_ROUNDS 2000u /* test_cost.py knows it */
#define WARM_BULK 20u
#define BULK_BYTES (1u << 20)
#define SETUP_TURNS 1000000u

typedef struct side {
    vbn_context_t *context;
    vbn_worker_t *worker;
    uint64_t received;
    bool answers;
    vbn_mem_t *memory;
    vbn_op_t op; /* sides[1]: of a pull */
} side_t;

typedef enum operation { MESSAGE, PUT, GET, PULL, OPERATIONS } operation_t;
static const char *const NAMES[OPERATIONS] = {"message", "put", "get", "pull"};
static operation_t operation;
static vbn_key_t *key; /* of sides[1]'s memory */

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

static void on_announced(void *arg, const vbn_am_message_t *message)
{
    side_t *side = arg;
    const struct iovec iov = {vbn_mem_address(side->memory), BULK_BYTES};
    side->op = (vbn_op_t){0};
    check(vbn_am_pull(message->remote, &iov, 1, &side->op), "vbn_am_pull");
}

/* One operation on 1 MiB, until it is complete. */
static void bulk(side_t *sides, vbn_peer_t *peer)
{
    const struct iovec iov = {vbn_mem_address(sides[0].memory), BULK_BYTES};
    vbn_op_t op = {0};
    vbn_status_t status = operation == PUT   ? vbn_put(key, 0, &iov, 1, &op)
                          : operation == GET ? vbn_get(key, 0, &iov, 1, &op)
                                             : vbn_am_send(peer, 2, NULL, 0, &iov, 1, VBN_AM_PULL, &op);
    check(status, NAMES[operation]);
    while (op.complete == 0) {
        (void)vbn_progress(sides[1].worker);
        (void)vbn_progress(sides[0].worker);
    }
    check((vbn_status_t)op.status, NAMES[operation]);
}

static void message(side_t *sides, vbn_peer_t *peer)
{
    uint64_t expected = sides[0].received + 1;
    send_to(peer);
    while (sides[0].received != expected) {
        (void)vbn_progress(sides[1].worker);
        (void)vbn_progress(sides[0].worker);
    }
}

/* The measured part: its name is what tests/cost/test_cost.py lets the counter toggle on. */
__attribute__((noinline)) void cost_round(side_t *sides, vbn_peer_t *peer, unsigned long turns)
{
    if (operation == MESSAGE)
        message(sides, peer);
    else
        bulk(sides, peer);
    for (; turns > 0; turns--) {
        (void)vbn_progress(sides[1].worker);
        (void)vbn_progress(sides[0].worker);
    }
}

static void open_side(side_t *side, const char *transport)
{
    static const uint8_t job_key[VBN_JOB_KEY_BYTES] = {1};
    vbn_config_t *config;
    check(vbn_config_create(&config), "vbn_config_create");
    check(vbn_config_set(config, "tl.enable", transport), "tl.enable");
    if (operation != MESSAGE) /* so that devices may work over the only connection */
        check(vbn_config_set(config, "link.resume_timeout", "10s"), "link.resume_timeout");
    check(vbn_config_set_job_key(config, job_key), "job key");
    check(vbn_open(config, &side->context), "vbn_open");
    vbn_config_destroy(config);
    check(vbn_worker_create(side->context, &side->worker), "vbn_worker_create");
    check(vbn_am_handler(side->worker, 1, on_message, side), "vbn_am_handler");
    check(vbn_am_handler(side->worker, 2, on_announced, side), "vbn_am_handler");
    check(vbn_mem_alloc(side->context, BULK_BYTES, VBN_BACKING_MEMFD, NULL, &side->memory), "vbn_mem_alloc");
}

static void close_side(side_t *side)
{
    vbn_worker_destroy(side->worker);
    check(vbn_mem_free(side->memory), "vbn_mem_free");
    check(vbn_close(side->context), "vbn_close");
}

static void import_key(const side_t *owner, vbn_peer_t *peer)
{
    uint8_t blob[VBN_KEY_MAX];
    size_t length = sizeof(blob);
    check(vbn_key_export(owner->memory, 0, BULK_BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length),
          "vbn_key_export");
    check(vbn_key_import(peer, blob, length, &key), "vbn_key_import");
}

static uint64_t copied(const side_t *side)
{
    vbn_counter_t all[256];
    size_t count = vbn_counters(side->context, all, 256);
    for (size_t i = 0; i < count && i < 256; i++)
        if (strcmp(all[i].name, "verbs.copied_bytes") == 0)
            return all[i].value;
    return 0;
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

static void measure(side_t *sides, vbn_peer_t *peer, unsigned long rounds, unsigned long turns)
{
    for (unsigned i = 0; i < (operation == MESSAGE ? WARM_ROUNDS : WARM_BULK); i++)
        cost_round(sides, peer, turns);
    fabric_counts_t before = fabric_counts;
    uint64_t bytes = copied(&sides[0]) + copied(&sides[1]);
    for (unsigned long i = 0; i < rounds; i++)
        cost_round(sides, peer, turns);
    printf("rounds %lu doorbells %llu requests %llu signalled %llu copied %llu\n", rounds,
           (unsigned long long)(fabric_counts.doorbells - before.doorbells),
           (unsigned long long)(fabric_counts.requests - before.requests),
           (unsigned long long)(fabric_counts.signalled - before.signalled),
           (unsigned long long)(copied(&sides[0]) + copied(&sides[1]) - bytes));
}

int main(int argc, char **argv)
{
    side_t sides[2] = {{.answers = false}, {.answers = true}};
    unsigned long rounds = argc >= 4 ? strtoul(argv[2], NULL, 10) : 0,
                  turns = argc >= 4 ? strtoul(argv[3], NULL, 10) : 0;
    while (argc == 5 && operation < OPERATIONS && strcmp(argv[4], NAMES[operation]) != 0)
        operation++;
    if (rounds == 0 || argc > 5 || operation == OPERATIONS) {
        fprintf(stderr, "usage: cost_rdma transport rounds turns [message|put|get|pull]\n");
        return 2;
    }
    fabric_install(1);
    fabric_script.classic = true; /* one call of the library per doorbell */
    open_side(&sides[0], argv[1]);
    open_side(&sides[1], argv[1]);
    vbn_peer_t *peer = connect_sides(sides);
    import_key(&sides[1], peer);
    measure(sides, peer, rounds, turns);
    vbn_key_release(key);
    vbn_disconnect(peer, VBN_CLOSE_NOW);
    close_side(&sides[0]);
    close_side(&sides[1]);
    fabric_remove();
    return 0;
}
