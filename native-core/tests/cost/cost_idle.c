/* SPDX-License-Identifier: Apache-2.0
 * cost_idle.c - turns of progress of a worker with many idle peers over shared memory, for tools that count what a turn
 * costs. Usage: cost_idle rounds peers. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "vbn/vbn.h"

#define SETUP_TURNS 1000000u
#define PEERS_MAX 600u
#define DESCRIPTORS 16u /* of one worker, at most */

void cost_round(vbn_worker_t *worker, unsigned long rounds); /* not static: callgrind finds it by name */

static void check(vbn_status_t status, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "cost_idle: %s: %s\n", what, vbn_error_text());
        exit(1);
    }
}

static void on_message(void *arg, const vbn_am_message_t *message)
{
    (void)message;
    ++*(unsigned *)arg;
}

__attribute__((noinline)) void cost_round(vbn_worker_t *worker, unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
        (void)vbn_progress(worker);
}

static vbn_context_t *open_context(void)
{
    static const uint8_t key[VBN_JOB_KEY_BYTES] = {1};
    vbn_config_t *config;
    vbn_context_t *context;
    check(vbn_config_create(&config), "vbn_config_create");
    check(vbn_config_set(config, "tl.enable", "shm"), "tl.enable");
    check(vbn_config_set(config, "tl.shm.ring_slots", "8"), "tl.shm.ring_slots");
    check(vbn_config_set(config, "tl.shm.chunks", "4"), "tl.shm.chunks");
    check(vbn_config_set(config, "tl.shm.chunk_bytes", "1K"), "tl.shm.chunk_bytes");
    check(vbn_config_set_job_key(config, key), "job key");
    check(vbn_open(config, &context), "vbn_open");
    vbn_config_destroy(config);
    return context;
}

/* Connects and sends one message, whose arrival shows that the rings are there. */
static void add_peer(vbn_worker_t *hub, vbn_worker_t *worker, const unsigned *received)
{
    static uint64_t data = 42;
    const struct iovec iov = {&data, sizeof(data)};
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    vbn_peer_t *peer;
    vbn_op_t op = {0};
    unsigned before = *received;
    check(vbn_worker_address(hub, blob, &length), "vbn_worker_address");
    check(vbn_connect(worker, blob, length, NULL, NULL, &peer), "vbn_connect");
    check(vbn_am_send(peer, 1, NULL, 0, &iov, 1, 0, &op), "vbn_am_send");
    for (unsigned i = 0; i < SETUP_TURNS && (*received == before || op.complete == 0); i++) {
        (void)vbn_progress(worker);
        (void)vbn_progress(hub);
    }
    if (*received == before) {
        fprintf(stderr, "cost_idle: a peer did not connect\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static vbn_worker_t *workers[PEERS_MAX];
    unsigned long rounds = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned peers = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    struct rlimit limit;
    unsigned received = 0;
    if (rounds == 0 || peers == 0 || peers > PEERS_MAX) {
        fprintf(stderr, "usage: cost_idle rounds peers (1 to %u)\n", PEERS_MAX);
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1;
    limit.rlim_cur = (rlim_t)(peers + 2) * DESCRIPTORS + 64;
    if (limit.rlim_cur > limit.rlim_max || setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        printf("skipped: %u peers need %llu descriptors\n", peers, (unsigned long long)limit.rlim_cur);
        return 0;
    }
    vbn_context_t *context = open_context();
    vbn_worker_t *hub;
    check(vbn_worker_create(context, &hub), "vbn_worker_create");
    check(vbn_am_handler(hub, 1, on_message, &received), "vbn_am_handler");
    for (unsigned i = 0; i < peers; i++) {
        check(vbn_worker_create(context, &workers[i]), "vbn_worker_create");
        add_peer(hub, workers[i], &received);
    }
    for (unsigned i = 0; i < 100; i++) { /* idle for 30 ms: nobody uses the rings any more */
        usleep(300);
        for (unsigned j = 0; j < 100; j++)
            (void)vbn_progress(hub);
    }
    cost_round(hub, rounds);
    printf("turns %lu\n", rounds);
    for (unsigned i = 0; i < peers; i++)
        vbn_worker_destroy(workers[i]);
    vbn_worker_destroy(hub);
    check(vbn_close(context), "vbn_close");
    return 0;
}
