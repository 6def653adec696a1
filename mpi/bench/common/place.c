/* SPDX-License-Identifier: Apache-2.0
 * place.c - on which processors two ranks run, and how far these are from each other right now: a cache line goes to and
 * fro between them.
 *
 * Virtual processors move: results of small messages differ two- to threefold with it. So each cell stands between two
 * probes, and who reads the figures compares those of equal distance only. No call of the library is in the probe.
 */
#include "cell.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROBE_SECONDS 0.02
#define BATCH 256 /* ways to and fro that are timed together */
#define MOST_BATCHES 4096
#define PATIENCE 16384u /* looks before a rank that may share its processor yields */
#define STOP UINT64_MAX

struct line {
    _Atomic uint64_t turn; /* odd: written by rank 0; even: answered by rank 1; STOP: rank 1 leaves and writes 0 */
};

static uint64_t await_other(line_t *line, uint64_t mine)
{
    for (unsigned looks = 1;; looks++) {
        const uint64_t turn = atomic_load_explicit(&line->turn, memory_order_acquire);
        if (turn != mine)
            return turn;
        if (looks % PATIENCE == 0)
            sched_yield();
    }
}

static void write_turn(line_t *line, uint64_t turn)
{
    atomic_store_explicit(&line->turn, turn, memory_order_release);
}

/* After the library's set-up, so that none sees fewer processors than there are. Threads that it has started stay free. */
void place_pin(int rank, const char *list)
{
    cpu_set_t set;
    const char *word = rank == 0 ? list : strchr(list, ',');
    if (word == NULL)
        bench_fail(list, "not two processors");
    CPU_ZERO(&set);
    CPU_SET((size_t)atoi(word + (rank == 0 ? 0 : 1)), &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        bench_fail(list, "cannot run on this processor");
}

/* Rank 0's page, which rank 1 finds as a descriptor of that process: no name outlives a job that is killed. */
void probe_open(const library_t *library, bench_t *bench)
{
    int fd = bench->rank == 0 ? memfd_create(library->name, MFD_CLOEXEC) : -1;
    char path[64];
    if (fd >= 0 && ftruncate(fd, (off_t)sysconf(_SC_PAGESIZE)) != 0)
        fd = -1;
    const int owner = library->agree((int)getpid()), number = library->agree(fd);
    if (bench->rank != 0) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", owner, number);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    void *page = mmap(NULL, sizeof(line_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        bench_fail("probe", "no page that both ranks share");
    bench->line = page;
    library->meet(); /* the descriptor is open until both have the page */
    close(fd);
}

static int by_value(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* Rank 0. The median of the batches: a turn of the scheduler in one of them says nothing about the processors. */
static double ask(line_t *line)
{
    static double batches[MOST_BATCHES];
    uint64_t turn = 1;
    size_t count = 0;
    const double start = seconds_now();
    while (count < MOST_BATCHES && seconds_now() - start < PROBE_SECONDS) {
        const double began = seconds_now();
        for (int i = 0; i < BATCH; i++, turn += 2) {
            write_turn(line, turn);
            (void)await_other(line, turn);
        }
        batches[count++] = (seconds_now() - began) / (2 * BATCH) * 1e9;
    }
    write_turn(line, STOP);
    (void)await_other(line, STOP);
    qsort(batches, count, sizeof(batches[0]), by_value);
    return batches[count / 2];
}

static void answer(line_t *line)
{
    for (uint64_t mine = 0;;) {
        const uint64_t turn = await_other(line, mine);
        if (turn == STOP)
            break;
        mine = turn + 1;
        write_turn(line, mine);
    }
    write_turn(line, 0);
}

double probe_run(const library_t *library, bench_t *bench)
{
    if (bench->line == NULL)
        return 0;
    library->meet();
    if (bench->rank == 0)
        return ask(bench->line);
    answer(bench->line);
    return 0;
}
