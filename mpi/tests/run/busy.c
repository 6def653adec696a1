/* SPDX-License-Identifier: Apache-2.0
 * busy.c - a rank that computes loses nobody: messages to it wait, the first one, too.
 * It computes for 1.5 s, or as long as RULE_SECONDS says.
 * ranks: 2 4
 */
#include "rule.h"

#include <unistd.h>

static void test(void)
{
    int value = 4;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
        const char *seconds = getenv("RULE_SECONDS");
        const double end = MPI_Wtime() + (seconds == NULL ? 1.5 : atof(seconds));
        while (MPI_Wtime() < end) /* calls nothing of MPI that moves messages */
            ;
        for (int i = 1; i < size; i++) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(value == 4);
        }
        return;
    }
    MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
