/* SPDX-License-Identifier: Apache-2.0
 * buffered.c - a buffered send returns without a receive, within the attached buffer, which is free again as soon as what was sent
 * out of it has been received; detach waits for it.
 * ranks: 2 3 tcp
 */
#include "rule.h"

#define COUNT 100000
#define OTHER_OVERHEAD 96 /* MPI_BSEND_OVERHEAD of MPICH, the least of all ABIs: programs of that ABI attach no more */

/* A buffer for so many messages, used again after a barrier that tells their sender that all were received. */
static void is_free_again(void)
{
    enum { MESSAGES = 16, LENGTH = 16384, ROUNDS = 300 };
    static char data[LENGTH];
    int bytes = MESSAGES * (LENGTH + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t)bytes);
    MPI_Buffer_attach(buffer, bytes);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MESSAGES && rank == 0; i++)
            CHECK(MPI_Bsend(data, LENGTH, MPI_BYTE, 1 + i % (size - 1), i, MPI_COMM_WORLD) == MPI_SUCCESS);
        for (int i = 0; i < MESSAGES && rank > 0; i++)
            if (1 + i % (size - 1) == rank)
                MPI_Recv(data, LENGTH, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
}

static void is_a_limit(void)
{
    int value = 1;
    if (rank > 1)
        return;
    int *data = malloc(COUNT * sizeof(int));
    if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data, COUNT, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < COUNT; i++)
            CHECK(data[i] == i);
        free(data);
        return;
    }
    const int room = COUNT * (int)sizeof(int) + OTHER_OVERHEAD;
    void *buffer = malloc((size_t)room);
    void *back;
    int back_size;
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    CHECK(class_of(MPI_Bsend(data, COUNT, MPI_INT, 1, 1, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    MPI_Buffer_attach(buffer, room);
    CHECK(MPI_Bsend(data, COUNT, MPI_INT, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(class_of(MPI_Bsend(data, COUNT, MPI_INT, 1, 1, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    memset(data, 0, COUNT * sizeof(int)); /* it was copied */
    MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    MPI_Buffer_detach(&back, &back_size);
    CHECK(back == buffer && back_size == room);
    free(buffer);
    free(data);
}

static void test(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    is_free_again();
    is_a_limit();
}
