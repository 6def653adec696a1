/* SPDX-License-Identifier: Apache-2.0
 * shm_sleeper.c - what one process that sleeps and wakes does to others that spin: pairs of processes pass 8-byte messages
 * over shared memory without a pause, and beside them a server sleeps between the messages of a client of its own.
 * Phases with and without that client alternate. Prints for each kind: round trips per second of a pair, their middle and
 * 99.9th percentile, messages to the sleeper, and function-call interrupts of all processors (/proc/interrupts).
 * Usage: shm_sleeper [pairs [phases [milliseconds of a phase]]] */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vbn/vbn.h"

#define PAIRS_MAX 64
#define BUCKETS 4096 /* of 16 ns */
#define GAP_NS 20000
#define OPS 8
#define YIELD_EVERY 200 /* turns without an answer: there may be fewer processors than processes */

typedef struct node {
    _Atomic unsigned address_bytes;
    unsigned char address[VBN_ADDRESS_MAX];
    _Atomic int ready;
    _Atomic unsigned long counts[2][BUCKETS]; /* quiet, beside the sleeper */
} node_t;

typedef struct shared {
    _Atomic int phase; /* 0 quiet, 1 beside the sleeper, 2 wait, 3 end */
    _Atomic unsigned long messages;
    node_t nodes[2 * PAIRS_MAX + 2];
} shared_t;

typedef struct player {
    vbn_context_t *context;
    vbn_worker_t *worker;
    vbn_peer_t *peer; /* of the client: the server */
    unsigned long received;
    int answers;
    unsigned turn;
    vbn_op_t ops[OPS]; /* in turn: a message is received before the next one but one is sent */
} player_t;

static shared_t *shared;

static unsigned long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

static void check(vbn_status_t status, const char *what)
{
    if (status >= 0)
        return;
    fprintf(stderr, "shm_sleeper: %s: %s\n", what, vbn_error_text());
    exit(1);
}

static void say(player_t *player, vbn_peer_t *peer)
{
    static unsigned long word;
    static struct iovec data = {&word, sizeof(word)}; /* stays while a message waits for the connection */
    check(vbn_am_send(peer, 1, NULL, 0, &data, 1, 0, &player->ops[player->turn++ % OPS]), "vbn_am_send");
}

static void on_message(void *arg, const vbn_am_message_t *message)
{
    player_t *player = arg;
    player->received++;
    if (player->answers)
        say(player, message->peer);
}

static void open_player(player_t *player, int answers)
{
    static const unsigned char key[VBN_JOB_KEY_BYTES] = {1};
    vbn_config_t *config;
    check(vbn_config_create(&config), "vbn_config_create");
    check(vbn_config_set(config, "tl.enable", "shm"), "tl.enable");
    check(vbn_config_set_job_key(config, key), "job key");
    check(vbn_open(config, &player->context), "vbn_open");
    check(vbn_worker_create(player->context, &player->worker), "vbn_worker_create");
    check(vbn_am_handler(player->worker, 1, on_message, player), "vbn_am_handler");
    player->answers = answers;
}

/* The server tells its address; it spins, or sleeps whenever nothing comes. */
static void serve(node_t *node, int sleeps)
{
    player_t player = {0};
    size_t length = sizeof(node->address);
    open_player(&player, 1);
    check(vbn_worker_address(player.worker, node->address, &length), "vbn_worker_address");
    atomic_store(&node->address_bytes, (unsigned)length);
    for (unsigned idle = 0; atomic_load(&shared->phase) < 3;) {
        if (vbn_progress(player.worker) > 0) {
            idle = 0;
        } else if (!sleeps) {
            if (++idle % YIELD_EVERY == 0)
                sched_yield();
        } else if (vbn_arm(player.worker) == VBN_OK) {
            struct pollfd fd = {vbn_event_fd(player.worker), POLLIN, 0};
            (void)poll(&fd, 1, 100);
        }
    }
    _exit(0);
}

static void round_trip(player_t *player)
{
    unsigned long expected = player->received + 1;
    say(player, player->peer);
    for (unsigned idle = 0; player->received != expected && atomic_load(&shared->phase) < 3;)
        if (vbn_progress(player->worker) == 0 && ++idle % YIELD_EVERY == 0)
            sched_yield();
}

static void open_client(player_t *player, node_t *server)
{
    open_player(player, 0);
    while (atomic_load(&server->address_bytes) == 0)
        sched_yield();
    check(vbn_connect(player->worker, server->address, server->address_bytes, NULL, NULL, &player->peer),
          "vbn_connect");
    for (unsigned i = 0; i < 500; i++) /* warm: the rings have grown */
        round_trip(player);
}

static void ask(node_t *node, node_t *server)
{
    player_t player = {0};
    open_client(&player, server);
    atomic_store(&node->ready, 1);
    for (int phase; (phase = atomic_load(&shared->phase)) < 3;) {
        unsigned long long start = now_ns();
        round_trip(&player);
        unsigned long long bucket = (now_ns() - start) / 16;
        if (phase < 2)
            atomic_fetch_add(&node->counts[phase][bucket < BUCKETS ? bucket : BUCKETS - 1], 1);
    }
    _exit(0);
}

static void wake_the_sleeper(node_t *node, node_t *server)
{
    player_t player = {0};
    open_client(&player, server);
    atomic_store(&node->ready, 1);
    for (int phase; (phase = atomic_load(&shared->phase)) < 3;) {
        struct timespec gap = {0, phase == 1 ? GAP_NS : 1000000};
        if (phase == 1) {
            round_trip(&player);
            atomic_fetch_add(&shared->messages, 1);
        }
        nanosleep(&gap, NULL);
    }
    _exit(0);
}

static unsigned long interrupts(void)
{
    char line[16384];
    unsigned long sum = 0;
    FILE *file = fopen("/proc/interrupts", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *at = strstr(line, "CAL:");
        char *end = at;
        for (at = at != NULL ? at + 4 : NULL; at != NULL && end != at; at = end)
            sum += strtoul(at, &end, 10);
    }
    if (file != NULL)
        fclose(file);
    return sum;
}

static void print_kind(const char *name, int phase, unsigned pairs, double seconds, unsigned long calls)
{
    unsigned long total = 0, seen = 0, middle = 0, late = 0;
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned long bucket = 0; bucket < BUCKETS; bucket++) {
            for (unsigned i = 0; i < pairs; i++)
                *(pass == 0 ? &total : &seen) += shared->nodes[2 * i].counts[phase][bucket];
            if (pass == 1 && middle == 0 && seen * 2 >= total)
                middle = bucket * 16;
            if (pass == 1 && late == 0 && seen >= total - total / 1000)
                late = bucket * 16;
        }
    printf("\"%s\": {\"round_trips_per_s\": %.0f, \"median_ns\": %lu, \"p999_ns\": %lu, \"calls_per_s\": %.0f}", name,
           (double)total / pairs / seconds, middle, late, (double)calls / seconds);
}

static pid_t child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody spins on when the measurement is given up */
    return pid;
}

int main(int argc, char **argv)
{
    unsigned pairs = argc > 1 ? (unsigned)atoi(argv[1]) : 1, phases = argc > 2 ? (unsigned)atoi(argv[2]) : 6;
    unsigned milliseconds = argc > 3 ? (unsigned)atoi(argv[3]) : 500;
    if (pairs < 1 || pairs > PAIRS_MAX || phases < 2 || milliseconds < 1)
        return fprintf(stderr, "usage: shm_sleeper [pairs [phases [milliseconds]]]\n"), 2;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    atomic_store(&shared->phase, 2);
    for (unsigned i = 0; i <= pairs; i++) {
        node_t *node = &shared->nodes[2 * i];
        if (child() == 0)
            serve(node + 1, i == pairs);
        if (child() == 0)
            (i == pairs ? wake_the_sleeper : ask)(node, node + 1);
    }
    for (unsigned i = 0; i <= pairs; i++)
        while (!atomic_load(&shared->nodes[2 * i].ready))
            usleep(1000);
    unsigned long calls[2] = {0, 0};
    unsigned long long spent[2] = {0, 0};
    for (unsigned i = 0; i < phases; i++) {
        unsigned long before = interrupts();
        unsigned long long start = now_ns();
        atomic_store(&shared->phase, (int)(i % 2));
        usleep(milliseconds * 1000);
        calls[i % 2] += interrupts() - before;
        spent[i % 2] += now_ns() - start;
    }
    atomic_store(&shared->phase, 3);
    while (wait(NULL) > 0)
        ;
    printf("{\"pairs\": %u, ", pairs);
    print_kind("quiet", 0, pairs, (double)spent[0] / 1e9, calls[0]);
    printf(", ");
    print_kind("beside_a_sleeper", 1, pairs, (double)spent[1] / 1e9, calls[1]);
    printf(", \"sleeper_messages_per_s\": %.0f}\n", (double)atomic_load(&shared->messages) / ((double)spent[1] / 1e9));
    return 0;
}
