/* SPDX-License-Identifier: Apache-2.0
 * nobody.c - messages to and from MPI_PROC_NULL are complete at once and empty; messages to oneself arrive.
 * ranks: 1 2
 */
#include "rule.h"

static void test(void)
{
    int value = 7;
    int count = -1;
    MPI_Status status;
    MPI_Request request;
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(value == 7 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Irecv(&value, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &request);
    count = 9;
    MPI_Send(&count, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
    MPI_Wait(&request, &status);
    CHECK(value == 9 && status.MPI_SOURCE == 0);
    MPI_Sendrecv(&rank, 1, MPI_INT, rank, 4, &value, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &status);
    CHECK(value == rank && status.MPI_SOURCE == rank);
    MPI_Status_set_tag(&status, MPI_ANY_TAG); /* a status of one's own may hold any value */
    MPI_Status_set_source(&status, MPI_ANY_SOURCE);
    MPI_Status_set_elements(&status, MPI_INT, 9);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_TAG == MPI_ANY_TAG && status.MPI_SOURCE == MPI_ANY_SOURCE && count == 9);
    MPI_Count many = 0;
    MPI_Status_set_elements_x(&status, MPI_INT, (MPI_Count)1 << 40);
    MPI_Get_elements_x(&status, MPI_INT, &many);
    CHECK(many == (MPI_Count)1 << 40);
}
