/* SPDX-License-Identifier: Apache-2.0
 * truncate.c - a message longer than the receive buffer is MPI_ERR_TRUNCATE, and nothing beyond the buffer is written.
 * ranks: 2 tcp
 */
#include "rule.h"

static void try_length(int length)
{
    unsigned char *bytes = malloc((size_t)length);
    unsigned char small[32];
    MPI_Status status;
    memset(small, 0xee, sizeof(small));
    if (rank == 0) {
        fill(bytes, length, 1);
        MPI_Send(bytes, length, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Send(bytes, 16, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    } else {
        CHECK(class_of(MPI_Recv(small, 16, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
        for (int i = 16; i < 32; i++)
            CHECK(small[i] == 0xee);
        CHECK(MPI_Recv(small, 16, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status) == MPI_SUCCESS); /* the next one is whole */
        CHECK(is_filled(small, 16, 1));
    }
    free(bytes);
}

static void test(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    try_length(17);
    try_length(5000);
    try_length(300000);
}
