/* SPDX-License-Identifier: Apache-2.0
 * win_memory.c - memory of windows: on a node it costs no descriptor, and freed windows give it back. A window for which one rank
 * has no memory is made at no rank (12.2.2).
 * ranks: 1 2 3 4 tcp nodes
 */
#include <dirent.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/sysinfo.h>

#include "win.h"

#define WINDOWS 64
#define WORDS 1024
#define ROUNDS 200
#define HEAP (16384 + 256 * size) /* bytes that a window may take where all ranks access all */

static int descriptors(void)
{
    int found = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        found++;
    closedir(folder);
    return found;
}

static long *make(MPI_Win *win, MPI_Aint bytes)
{
    long *base;
    MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, win);
    return base;
}

static void write_all(MPI_Win win, long value)
{
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < size; i++)
        MPI_Put(&value, 1, MPI_LONG, i, rank, 1, MPI_LONG, win);
    MPI_Win_unlock_all(win);
}

/* Whether the memory of this rank's windows is mapped by the others. */
static int are_near(MPI_Win win)
{
    int near = 1;
    for (int i = 0; i < size; i++) {
        MPI_Aint bytes;
        void *base;
        int unit;
        MPI_Win_shared_query(win, i, &bytes, &unit, &base);
        near &= base != NULL;
    }
    return near;
}

static void many(void)
{
    MPI_Win wins[WINDOWS];
    long *bases[WINDOWS];
    bases[0] = make(&wins[0], WORDS * sizeof(long)); /* connects, maps node memory, starts the keeper */
    write_all(wins[0], 0);
    const int near = are_near(wins[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    const int before = descriptors();
    const size_t heap = mallinfo2().uordblks;
    for (int i = 1; i < WINDOWS; i++) {
        bases[i] = make(&wins[i], WORDS * sizeof(long));
        write_all(wins[i], 1000 * i + rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const size_t more = (mallinfo2().uordblks - heap) / (WINDOWS - 1);
    CHECK(!near || descriptors() == before);
    CHECK((MPI_Aint)more < HEAP);
    if (rank == 0)
        printf("%d windows of %d ranks: %d more descriptors, %zu bytes of heap each\n", WINDOWS, size,
               descriptors() - before, more);
    for (int i = 1; i < WINDOWS; i++)
        for (int from = 0; from < size; from++)
            CHECK(bases[i][from] == 1000 * i + from);
    for (int i = 0; i < WINDOWS; i++)
        MPI_Win_free(&wins[i]);
}

/* A window in the memory of an earlier one begins with free locks and no lock of an element held. */
static void again(void)
{
    const long one = 1;
    uintptr_t lowest = UINTPTR_MAX;
    uintptr_t highest = 0;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Win win;
        long before;
        long *base = make(&win, (MPI_Aint)(1 + i % 7) * 4096);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        memset(base, 255, (size_t)(1 + i % 7) * 4096);
        base[0] = i;
        MPI_Win_unlock(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % size, 0, win);
        MPI_Fetch_and_op(&one, &before, MPI_LONG, (rank + 1) % size, 0, MPI_SUM, win);
        MPI_Win_unlock((rank + 1) % size, win);
        CHECK(before == i);
        lowest = (uintptr_t)base < lowest ? (uintptr_t)base : lowest;
        highest = (uintptr_t)base > highest ? (uintptr_t)base : highest;
        MPI_Win_free(&win);
    }
    CHECK(highest - lowest < (uintptr_t)ROUNDS * 4096);
}

static void refused(MPI_Aint bytes, int at)
{
    MPI_Win win = MPI_WIN_NULL;
    void *base;
    const int code = MPI_Win_allocate(rank == at ? bytes : 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    CHECK(class_of(code) == MPI_ERR_NO_MEM && win == MPI_WIN_NULL);
}

static void too_much(void)
{
    struct sysinfo host;
    CHECK(sysinfo(&host) == 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int at = 0; at < size; at++) {
        refused((MPI_Aint)1 << 55, at);                                   /* of addresses */
        refused((MPI_Aint)(host.totalram * (uint64_t)host.mem_unit), at); /* of pages: nobody is killed */
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    again();
}

static void test(void)
{
    many();
    again();
    too_much();
}
