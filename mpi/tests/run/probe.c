/* SPDX-License-Identifier: Apache-2.0
 * probe.c - a probe says what a receive would get; a matched probe takes it out of the others' reach.
 * ranks: 2 tcp
 */
#include "rule.h"

static void test(void)
{
    int values[3] = {1, 2, 3};
    int flag;
    int count;
    MPI_Status status;
    MPI_Message message;
    if (rank == 0) {
        MPI_Send(values, 3, MPI_INT, 1, 4, MPI_COMM_WORLD);
        MPI_Send(values, 2, MPI_INT, 1, 4, MPI_COMM_WORLD);
        MPI_Send(values, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status); /* the two before are there, too */
    MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(flag && status.MPI_SOURCE == 0 && status.MPI_TAG == 4 && count == 3);
    MPI_Mprobe(0, 4, MPI_COMM_WORLD, &message, &status);
    MPI_Recv(values, 3, MPI_INT, 0, 4, MPI_COMM_WORLD, &status); /* the second one: the first is taken */
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 2);
    memset(values, 0, sizeof(values));
    MPI_Mrecv(values, 3, MPI_INT, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3 && values[2] == 3 && status.MPI_SOURCE == 0 && message == MPI_MESSAGE_NULL);
    MPI_Improbe(0, 4, MPI_COMM_WORLD, &flag, &message, &status);
    CHECK(!flag);
    MPI_Recv(values, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Mrecv(values, 1, MPI_INT, &message, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}
