/* SPDX-License-Identifier: Apache-2.0
 * crowd.c - row core.crowd.latency: four busy workers, each a process, on two processors, in two pairs that pass a message
 * to and fro and sleep while they wait (progress, arm, poll). Beside it: the same with a futex in place of the worker. */
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

#define WORKERS 4
#define WAIT_MS 1000

typedef struct crowd {
    _Atomic int ready; /* workers that have come so far */
    size_t address_length[WORKERS];
    uint8_t address[WORKERS][VBN_ADDRESS_MAX];
    double seconds[WORKERS]; /* of the first of each pair */
    struct {
        _Alignas(128) _Atomic uint32_t value; /* messages that this worker has got */
    } word[WORKERS];
} crowd_t;

typedef struct member {
    crowd_t *crowd;
    int rank;
    uint64_t count;
    size_t size;
    const char *transport;
} member_t;

typedef void (*role_t)(const member_t *member);

/* All have come to this point. */
static void gather(crowd_t *crowd, int turn)
{
    double end = now() + DEADLINE_S;
    atomic_fetch_add(&crowd->ready, 1);
    while (atomic_load(&crowd->ready) < WORKERS * turn) {
        if (now() > end)
            fail("a worker of the crowd did not come");
        usleep(200);
    }
}

/* ------------------------------------------------------------------------------------------------- workers */

static void on_crowd(void *arg, const vbn_am_message_t *message)
{
    (void)message;
    ++*(uint64_t *)arg;
}

static vbn_worker_t *open_worker(const member_t *m, uint64_t *received)
{
    static const uint8_t key[VBN_JOB_KEY_BYTES] = {7};
    vbn_config_t *config;
    vbn_context_t *context;
    vbn_worker_t *worker;
    check(vbn_config_create(&config), "config");
    check(vbn_config_set(config, "tl.enable", m->transport), "tl.enable");
    check(vbn_config_set(config, "tl.tcp.interface", "lo"), "tl.tcp.interface");
    check(vbn_config_set_job_key(config, key), "job key");
    check(vbn_open(config, &context), "vbn_open");
    vbn_config_destroy(config);
    check(vbn_worker_create(context, &worker), "worker");
    check(vbn_am_handler(worker, 1, on_crowd, received), "handler");
    m->crowd->address_length[m->rank] = VBN_ADDRESS_MAX;
    check(vbn_worker_address(worker, m->crowd->address[m->rank], &m->crowd->address_length[m->rank]), "address");
    return worker;
}

/* The documented loop. */
static void sleep_until(vbn_worker_t *worker, const uint64_t *received, uint64_t wanted)
{
    double end = 0;
    while (*received < wanted) {
        if (vbn_progress(worker) > 0 || vbn_arm(worker) != VBN_OK)
            continue;
        struct pollfd fd = {vbn_event_fd(worker), POLLIN, 0};
        if (poll(&fd, 1, WAIT_MS) != 0)
            continue;
        if (end == 0)
            end = now() + DEADLINE_S;
        else if (now() > end)
            fail("a worker of the crowd waits in vain");
    }
}

static void work(const member_t *m)
{
    static uint8_t data[4096];
    static uint64_t received;
    struct iovec iov = {data, m->size < sizeof(data) ? m->size : sizeof(data)};
    int other = m->rank ^ 1;
    bool first = m->rank % 2 == 0;
    vbn_op_t op = {0};
    vbn_peer_t *peer;
    vbn_worker_t *worker = open_worker(m, &received);
    gather(m->crowd, 1);
    check(vbn_connect(worker, m->crowd->address[other], m->crowd->address_length[other], NULL, NULL, &peer), "connect");
    check(vbn_am_send(peer, 1, NULL, 0, &iov, 1, 0, &op), "first message");
    sleep_until(worker, &received, 1);
    while (op.complete == 0)
        (void)vbn_progress(worker);
    double start = now();
    for (uint64_t i = 1; i <= m->count; i++) {
        if (!first)
            sleep_until(worker, &received, i + 1);
        check(vbn_am_send(peer, 1, NULL, 0, &iov, 1, 0, &op), "message");
        if (first)
            sleep_until(worker, &received, i + 1);
    }
    m->crowd->seconds[m->rank] = now() - start;
    for (int i = 0; i < 100; i++) /* what is owed to the other one leaves */
        (void)vbn_progress(worker);
    gather(m->crowd, 2);
}

/* --------------------------------------------------------------------------------------------------- futex */

static void hand_over(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store(word, value);
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void await(_Atomic uint32_t *word, uint32_t value)
{
    for (uint32_t seen; (seen = atomic_load(word)) < value;) {
        struct timespec limit = {.tv_sec = (time_t)DEADLINE_S};
        (void)syscall(SYS_futex, word, FUTEX_WAIT, seen, &limit, NULL, 0);
    }
}

static void pass(const member_t *m)
{
    crowd_t *crowd = m->crowd;
    int other = m->rank ^ 1;
    gather(crowd, 1);
    double start = now();
    for (uint32_t i = 1; i <= (uint32_t)m->count; i++) {
        if (m->rank % 2 != 0)
            await(&crowd->word[m->rank].value, i);
        hand_over(&crowd->word[other].value, i);
        if (m->rank % 2 == 0)
            await(&crowd->word[m->rank].value, i);
    }
    crowd->seconds[m->rank] = now() - start;
    gather(crowd, 2);
}

/* ----------------------------------------------------------------------------------------------------- both */

static void be(const side_t *side, const member_t *m, role_t role)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)side->cpus[0], &set);
    CPU_SET((size_t)side->cpus[1], &set);
    (void)alarm((unsigned)(2 * DEADLINE_S));
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        fail_system("processors of the crowd");
    role(m);
    _exit(0);
}

/* Our own server rests meanwhile. Latency one way, mean of both pairs. */
static double run_crowd(side_t *side, size_t size, uint64_t count, role_t role)
{
    crowd_t *crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[WORKERS];
    const pid_t own = getpid();
    if (crowd == MAP_FAILED)
        fail_system("pages of the crowd");
    rival_rest(side);
    for (int i = 0; i < WORKERS; i++) {
        member_t member = {crowd, i, count, size, side->transport};
        pids[i] = fork();
        if (pids[i] == 0) {
            end_with(own);
            be(side, &member, role);
        }
    }
    bool good = true;
    for (int i = 0; i < WORKERS; i++) {
        int status = 1;
        good = pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i] && status == 0 && good;
    }
    rival_rest_end(side);
    double seconds = (crowd->seconds[0] + crowd->seconds[2]) / 2;
    (void)munmap(crowd, sizeof(*crowd));
    if (!good)
        fail("a worker of the crowd ended early");
    return seconds / (double)count / 2 * 1e9;
}

double crowd_latency(side_t *side, size_t size, uint64_t count)
{
    return run_crowd(side, size, count, work);
}

double crowd_futex(side_t *side, size_t size, uint64_t count)
{
    return run_crowd(side, size, count, pass);
}
