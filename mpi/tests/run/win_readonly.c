/* SPDX-License-Identifier: Apache-2.0
 * win_readonly.c - memory that its process may only read is a window for reading; an access that would change it is an error at
 * the origin, and the target lives on (12.2.1, 12.2.4, 12.3).
 * ranks: 1 2 3 tcp nodes
 */
#include <sys/mman.h>
#include <unistd.h>

#include "win.h"

#define WORDS 4096

static int next;

/* A file that is mapped for reading: word i is i. */
static const int *map_file(void)
{
    FILE *file = tmpfile();
    CHECK(file != NULL);
    for (int i = 0; i < WORDS; i++)
        CHECK(fwrite(&i, sizeof(i), 1, file) == 1);
    CHECK(fflush(file) == 0);
    void *map = mmap(NULL, WORDS * sizeof(int), PROT_READ, MAP_SHARED, fileno(file), 0);
    CHECK(map != MAP_FAILED);
    fclose(file);
    return map;
}

static int read_word(MPI_Win win, MPI_Aint at)
{
    int seen[3] = {-1, -1, -1};
    MPI_Get(&seen[0], 1, MPI_INT, next, at, 1, MPI_INT, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, &seen[1], 1, MPI_INT, next, at, 1, MPI_INT, MPI_NO_OP, win);
    MPI_Fetch_and_op(NULL, &seen[2], MPI_INT, next, at, MPI_NO_OP, win);
    CHECK(MPI_Win_flush(next, win) == MPI_SUCCESS && seen[0] == seen[1] && seen[0] == seen[2]);
    return seen[0];
}

/* The call itself says it: bounds and rights of a created window are known at the origin. */
static void created(const int *map)
{
    static int all[WORDS];
    MPI_Win win;
    const int one = 1;
    int seen;
    CHECK(MPI_Win_create((void *)(uintptr_t)map, WORDS * sizeof(int), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win) ==
          MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    CHECK(read_word(win, 5) == 5 && read_word(win, WORDS - 1) == WORDS - 1);
    MPI_Get(all, WORDS, MPI_INT, next, 0, WORDS, MPI_INT, win); /* by the kernel, where it copies */
    CHECK(MPI_Win_flush(next, win) == MPI_SUCCESS && all[0] == 0 && all[WORDS / 2] == WORDS / 2);
    CHECK(MPI_Put(&one, 1, MPI_INT, next, 5, 1, MPI_INT, win) == MPI_ERR_ACCESS);
    CHECK(MPI_Put(all, WORDS, MPI_INT, next, 0, WORDS, MPI_INT, win) == MPI_ERR_ACCESS);
    CHECK(MPI_Put(&one, 0, MPI_INT, next, 5, 0, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Accumulate(&one, 1, MPI_INT, next, 5, 1, MPI_INT, MPI_SUM, win) == MPI_ERR_ACCESS);
    CHECK(MPI_Fetch_and_op(&one, &seen, MPI_INT, next, 5, MPI_REPLACE, win) == MPI_ERR_ACCESS);
    CHECK(MPI_Compare_and_swap(&one, &one, &seen, MPI_INT, next, 5, win) == MPI_ERR_ACCESS);
    CHECK(MPI_Win_flush(next, win) == MPI_SUCCESS && read_word(win, 5) == 5);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* Only the target knows its regions: the next flush tells, or the request. */
static void attached(const int *map)
{
    MPI_Win win;
    MPI_Aint at, origin[64];
    const int one = 1;
    int seen;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_attach(win, (void *)(uintptr_t)map, WORDS * sizeof(int)) == MPI_SUCCESS);
    MPI_Get_address(map, &at);
    MPI_Allgather(&at, 1, MPI_AINT, origin, 1, MPI_AINT, MPI_COMM_WORLD);
    at = origin[next] + 20;
    MPI_Win_lock_all(0, win);
    CHECK(read_word(win, at) == 5);
    MPI_Put(&one, 1, MPI_INT, next, at, 1, MPI_INT, win);
    CHECK(MPI_Win_flush(next, win) == MPI_ERR_ACCESS);
    MPI_Accumulate(&one, 1, MPI_INT, next, at, 1, MPI_INT, MPI_SUM, win);
    CHECK(MPI_Win_flush(next, win) == MPI_ERR_ACCESS);
    const int called = MPI_Compare_and_swap(&one, &one, &seen, MPI_INT, next, at, win);
    const int flushed = MPI_Win_flush(next, win);
    CHECK(called == MPI_ERR_ACCESS || flushed == MPI_ERR_ACCESS);
    CHECK(read_word(win, at) == 5);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    MPI_Win_detach(win, map);
    MPI_Win_free(&win);
}

static void test(void)
{
    const int *map = map_file();
    next = (rank + 1) % size;
    created(map);
    attached(map);
    munmap((void *)(uintptr_t)map, WORDS * sizeof(int));
}
