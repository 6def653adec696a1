/* SPDX-License-Identifier: Apache-2.0
 * buffered.c - a buffered send returns without a receive, within the attached buffer; detach waits for it.
 * ranks: 2
 */
#include "rule.h"

#define COUNT 100000

static void test(void)
{
    int *data = malloc(COUNT * sizeof(int));
    int value = 1;
    if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data, COUNT, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < COUNT; i++)
            CHECK(data[i] == i);
        free(data);
        return;
    }
    const int room = COUNT * (int)sizeof(int) + MPI_BSEND_OVERHEAD;
    void *buffer = malloc((size_t)room);
    void *back;
    int back_size;
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
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
