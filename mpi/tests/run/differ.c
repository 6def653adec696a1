/* SPDX-License-Identifier: Apache-2.0
 * differ.c - a rank that passes another count to an allreduce, blocking or not, fails it at every rank, and nobody waits
 * for ever; other communicators go on.
 * ranks: 2 3 4 9 tcp nodes
 */
#include "rule.h"

static int mine[5000];
static int sum[5000];

static int allreduce(int count, int blocks, MPI_Comm comm)
{
    MPI_Request request;
    if (blocks)
        return MPI_Allreduce(mine, sum, count, MPI_INT, MPI_SUM, comm);
    const int rc = MPI_Iallreduce(mine, sum, count, MPI_INT, MPI_SUM, comm, &request);
    return rc != MPI_SUCCESS ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* First it works, so that node memory is in use; afterwards it has failed for good. */
static void try_with(int other, int count, int blocks)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    char text[MPI_MAX_ERROR_STRING];
    int length;
    const int first = allreduce(count, blocks, comm);
    if (first != MPI_SUCCESS && MPI_Error_string(first, text, &length) == MPI_SUCCESS)
        fprintf(stderr, "rank %d: other %d, %d elements, blocking %d: %s\n", rank, other, count, blocks, text);
    CHECK(first == MPI_SUCCESS);
    CHECK(sum[count - 1] == size);
    const int code = allreduce(rank == other ? count + 1 : count, blocks, comm);
    CHECK(code != MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

static void test(void)
{
    static const int counts[] = {1, 100, 4000};
    for (int i = 0; i < 5000; i++)
        mine[i] = 1;
    for (int other = 0; other < size; other += 1 + size / 4)
        for (int i = 0; i < 6; i++)
            try_with(other, counts[i % 3], i < 3);
    MPI_Barrier(MPI_COMM_WORLD);
}
