/* SPDX-License-Identifier: Apache-2.0
 * shm_pingpong.c - latency of an 8-byte packet through the shared-memory transport against a bare cache line that two
 * pinned processes pass to and fro. Blocks of both alternate, the best block of each is printed, all as one-way ns.
 * Usage: shm_pingpong [cpu_a cpu_b [blocks]] */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "tl/tl.h"

#define ROUNDS 20000u
#define HEADER_BYTES 16u
#define PAYLOAD_BYTES 8u
#define TIMEOUT_NS (20u * UINT64_C(1000000000))

typedef struct shared {
    _Alignas(CACHE_LINE) _Atomic uint64_t ball;
    _Alignas(CACHE_LINE) _Atomic uint32_t address_bytes;
    uint8_t address[TL_ADDRESS_MAX];
} shared_t;

typedef struct player {
    tl_iface_t *iface;
    tl_ep_t *ep;
    uint64_t received;
    bool ready;
    bool lost;
} player_t;

static player_t player;

static void on_accepted(void *arg, tl_ep_t *ep)
{
    (void)arg;
    player.ep = ep;
    (void)tl_shm_ops.trust(ep);
}

static void on_ready(tl_ep_t *ep)
{
    (void)ep;
    player.ready = true;
}

static void on_rx(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes)
{
    (void)ep;
    (void)header;
    (void)payload;
    if (header_bytes == HEADER_BYTES && payload_bytes == PAYLOAD_BYTES)
        player.received++;
}

static void on_tx_done(tl_ep_t *ep, void *cookie, vbn_status_t status)
{
    (void)ep;
    (void)cookie;
    (void)status;
}

static void on_tx_ready(tl_ep_t *ep)
{
    (void)ep;
}

static void on_error(tl_ep_t *ep, vbn_status_t status, const char *text)
{
    (void)ep;
    (void)status;
    (void)text;
    player.lost = true;
}

static void die(const char *what)
{
    fprintf(stderr, "shm_pingpong: %s: %s\n", what, err_text());
    exit(1);
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        fprintf(stderr, "shm_pingpong: cannot pin to cpu %d, figures will be noisy\n", cpu);
}

static void wait_until(const bool *flag)
{
    uint64_t limit = os_now_ns() + TIMEOUT_NS;
    while (!*flag && !player.lost && os_now_ns() < limit)
        (void)tl_shm_ops.progress(player.iface);
    if (!*flag)
        die("peer did not become ready");
}

static void send_one(void)
{
    static const uint8_t header[HEADER_BYTES] = {1};
    static uint64_t value = 1;
    struct iovec iov = {&value, PAYLOAD_BYTES};
    tl_packet_t packet = {
        .header = header, .header_bytes = HEADER_BYTES, .payload_bytes = PAYLOAD_BYTES, .iov = &iov, .iov_count = 1};
    if (tl_shm_ops.send(player.ep, &packet) != VBN_OK)
        die("send");
}

/* A spin of about 2^28 polls is far beyond any block: the peer has died. */
static void await_packet(uint64_t number)
{
    for (uint64_t spins = 0; player.received < number && !player.lost; spins++) {
        (void)tl_shm_ops.progress(player.iface);
        if (spins > (UINT64_C(1) << 28))
            die("no answer");
    }
}

static double packet_block(bool first, uint64_t *number)
{
    uint64_t start = os_now_ns();
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (first)
            send_one();
        await_packet(++*number);
        if (!first)
            send_one();
    }
    return (double)(os_now_ns() - start) / ROUNDS / 2;
}

static double bare_block(shared_t *shared, bool first, uint64_t *number)
{
    uint64_t start = os_now_ns();
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t mine = *number + (first ? 2 : 1);
        if (first)
            atomic_set_release(&shared->ball, *number + 1);
        for (uint64_t spins = 0; atomic_get_acquire(&shared->ball) != mine; spins++)
            if (spins > (UINT64_C(1) << 30))
                die("bare ping-pong: no answer");
        if (!first)
            atomic_set_release(&shared->ball, *number + 2);
        *number += 2;
    }
    return (double)(os_now_ns() - start) / ROUNDS / 2;
}

static void open_player(uint64_t uid, const settings_t *settings, counters_t *counters, const log_sink_t *log)
{
    mem_registry_t *memory;
    if (mem_registry_open(log, counters, &memory) != VBN_OK)
        die("registry");
    tl_params_t params = {.settings = settings,
                          .log = log,
                          .counters = counters,
                          .memory = memory,
                          .worker_uid = uid,
                          .upcalls = {.accepted = on_accepted,
                                      .ready = on_ready,
                                      .rx = on_rx,
                                      .tx_done = on_tx_done,
                                      .tx_ready = on_tx_ready,
                                      .ep_error = on_error}};
    if (tl_shm_ops.open(&params, &player.iface) != VBN_OK)
        die("open");
}

static void play(shared_t *shared, bool first, unsigned blocks)
{
    uint64_t packets = 0;
    uint64_t balls = 0;
    double best_bare = 1e9;
    double best_packet = 1e9;
    for (unsigned i = 0; i < blocks; i++) {
        double bare = bare_block(shared, first, &balls);
        double packet = packet_block(first, &packets);
        best_bare = bare < best_bare ? bare : best_bare;
        best_packet = packet < best_packet ? packet : best_packet;
    }
    if (first)
        printf("{\"row\":\"shm_pingpong\",\"unit\":\"ns one way\",\"size\":%u,\"bare\":%.1f,\"packet\":%.1f,"
               "\"ratio\":%.2f}\n",
               PAYLOAD_BYTES, best_bare, best_packet, best_packet / best_bare);
}

static void answer(shared_t *shared, int cpu, unsigned blocks, const settings_t *settings, counters_t *counters,
                   const log_sink_t *log)
{
    pin(cpu);
    open_player(2, settings, counters, log);
    size_t length = sizeof(shared->address);
    if (tl_shm_ops.address(player.iface, shared->address, &length) != VBN_OK)
        die("address");
    atomic_set_release(&shared->address_bytes, (uint32_t)length); /* pairs with the acquire in start() */
    wait_until(&player.ready);
    play(shared, false, blocks);
    exit(0);
}

static void start(shared_t *shared, int cpu, const settings_t *settings, counters_t *counters, const log_sink_t *log)
{
    pin(cpu);
    open_player(1, settings, counters, log);
    uint64_t limit = os_now_ns() + TIMEOUT_NS;
    while (atomic_get_acquire(&shared->address_bytes) == 0 && os_now_ns() < limit)
        os_cpu_relax();
    if (tl_shm_ops.connect(player.iface, shared->address, shared->address_bytes, NULL, &player.ep) != VBN_OK)
        die("connect");
    if (tl_shm_ops.trust(player.ep) != VBN_OK)
        die("trust");
    wait_until(&player.ready);
}

int main(int argc, char **argv)
{
    int cpu_a = argc > 2 ? atoi(argv[1]) : 0;
    int cpu_b = argc > 2 ? atoi(argv[2]) : 1;
    unsigned blocks = argc > 3 ? (unsigned)atoi(argv[3]) : 20;
    static settings_t settings;
    static counters_t counters;
    log_sink_t log = {.level = VBN_LOG_WARN};
    settings_defaults(&settings);
    shared_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        die("mmap");
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0)
        answer(shared, cpu_b, blocks, &settings, &counters, &log);
    start(shared, cpu_a, &settings, &counters, &log);
    play(shared, true, blocks);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
