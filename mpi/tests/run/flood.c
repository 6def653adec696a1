/* SPDX-License-Identifier: Apache-2.0
 * flood.c - thousands of messages that nobody has asked for yet wait without harm, small and large.
 * ranks: 2 3 tcp
 */
#include "rule.h"

#define SMALL 5000
#define LARGE 50
#define WORDS 5000

static void test(void)
{
    int *words = malloc(WORDS * sizeof(int));
    MPI_Request *requests = malloc((SMALL + LARGE) * sizeof(MPI_Request));
    int count = 0;
    for (int i = 0; i < WORDS; i++)
        words[i] = i;
    if (rank != 0) {
        for (int i = 0; i < SMALL; i++)
            MPI_Isend(&words[i], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[count++]);
        for (int i = 0; i < LARGE; i++)
            MPI_Isend(words, WORDS, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[count++]);
        MPI_Barrier(MPI_COMM_WORLD); /* all is under way before the first receive */
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int from = 1; from < size; from++) {
            for (int i = 0; i < LARGE; i++) {
                MPI_Recv(words, WORDS, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(words[WORDS - 1] == WORDS - 1);
            }
            for (int i = 0; i < SMALL; i++) {
                int value;
                MPI_Recv(&value, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(value == i);
            }
        }
    }
    free(words);
    free(requests);
}
