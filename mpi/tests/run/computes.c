/* SPDX-License-Identifier: Apache-2.0
 * computes.c - a rank that computes is answered for: first contacts, long messages and synchronous ones complete while
 * it calls nothing of MPI.
 * ranks: 2 3 4 tcp
 */
#include "rule.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define LENGTH 3000000

/* What ranks of one host tell each other without MPI. */
static struct board {
    atomic_int computing; /* rank 1 calls nothing of MPI */
    atomic_int done;      /* so many ranks have what they wait for */
} *board;

static void open_board(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/dev/shm/verbena-computes-%d", (int)getppid()); /* mpiexec's */
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && ftruncate(fd, sizeof(*board)) == 0);
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(board != MAP_FAILED);
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    unlink(path);
}

/* The other ranks' calls end only by what happens here meanwhile. */
static void compute(void)
{
    atomic_store(&board->computing, 1);
    while (atomic_load(&board->done) < size - 1)
        ;
    atomic_store(&board->computing, 0);
    atomic_store(&board->done, 0);
}

static void others_wait(void)
{
    while (!atomic_load(&board->computing))
        usleep(100);
}

/* board is shared over tcp, too: the hosts are fakes. */
static void messages(unsigned char *bytes, int source)
{
    MPI_Request requests[8];
    if (rank == 1) {
        for (int i = 0; i + 1 < size; i++)
            MPI_Irecv(bytes + i * LENGTH, LENGTH, MPI_BYTE, source, 1, MPI_COMM_WORLD, &requests[i]);
        compute();
        MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i + 1 < size; i++)
            CHECK(is_filled(bytes + i * LENGTH, LENGTH, 1));
        return;
    }
    others_wait();
    fill(bytes, LENGTH, 1);
    MPI_Ssend(bytes, LENGTH, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    atomic_fetch_add(&board->done, 1);
}

static void test(void)
{
    unsigned char *bytes = malloc((size_t)size * LENGTH);
    open_board(); /* its barrier is a first contact of some ranks only */
    messages(bytes, MPI_ANY_SOURCE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) { /* in and out while the keeper looks */
        messages(bytes, MPI_ANY_SOURCE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(bytes);
}
