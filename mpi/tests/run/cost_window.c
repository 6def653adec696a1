/* SPDX-License-Identifier: Apache-2.0
 * cost_window.c - windows of 64 messages of 8 bytes between two ranks, for a tool that counts rank 0's instructions (costs.py).
 * Usage: cost_window send|receive FILE, with two ranks; rank 0 prints "operations N".
 *
 * A word in FILE, which both ranks map, orders them: a rank that waits there makes no progress, so how many calls look in vain
 * is no matter of chance. Rank 0 receives a window that has arrived as a whole.
 */
#define RULE_OWN_MAIN
#include "rule.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS 40
#define WARM 10 /* of them: the ring grows, requests and credits are there */
#define WINDOW 64

static MPI_Request requests[WINDOW];
static int64_t value = 7;
static int64_t values[WINDOW];

static void send_all(void)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(&value, 1, MPI_INT64_T, 1 - rank, 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
}

static void post_all(void)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(&values[i], 1, MPI_INT64_T, 1 - rank, 1, MPI_COMM_WORLD, &requests[i]);
}

static void wait_all(void)
{
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
}

void cost_round(void (*call)(void)); /* not static: callgrind finds it by name */

__attribute__((noinline)) void cost_round(void (*call)(void))
{
    call();
}

static void call_counted(void (*call)(void), int round)
{
    if (round < WARM)
        call();
    else
        cost_round(call);
}

static _Atomic uint64_t *map_word(const char *path)
{
    const int fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    void *word = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(word != MAP_FAILED);
    close(fd);
    return word;
}

static void wait_until(const _Atomic uint64_t *word, uint64_t turn)
{
    while (atomic_load(word) < turn)
        sched_yield();
}

/* The sender's window goes into the ring, and the receiver begins behind it. */
static void exchange(_Atomic uint64_t *word, int round, int is_sender)
{
    const uint64_t first = 2 * (uint64_t)round + 1;
    if (is_sender) {
        wait_until(word, first);
        rank == 0 ? call_counted(send_all, round) : send_all();
        atomic_store(word, first + 1);
        return;
    }
    rank == 0 ? call_counted(post_all, round) : post_all();
    atomic_store(word, first);
    wait_until(word, first + 1);
    rank == 0 ? call_counted(wait_all, round) : wait_all();
    for (int i = 0; i < WINDOW; i++)
        CHECK(values[i] == 7);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2 && argc == 3);
    _Atomic uint64_t *word = map_word(argv[2]);
    const int sender = strcmp(argv[1], "send") == 0 ? 0 : 1;
    MPI_Barrier(MPI_COMM_WORLD);
    int answer = 0;
    for (int round = 0; round < ROUNDS; round++) {
        exchange(word, round, rank == sender);
        if (rank == sender)
            MPI_Recv(&answer, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&answer, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("operations %d\n", (ROUNDS - WARM) * WINDOW);
    MPI_Finalize();
    return 0;
}
