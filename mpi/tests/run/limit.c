/* SPDX-License-Identifier: Apache-2.0
 * limit.c - more messages than the core lets wait at a peer are nobody's error: all arrive, in order, of any kind, or can be
 * cancelled.
 * ranks: 2 3 tcp
 */
#include "rule.h"

#define COUNT 400
#define WORDS 5000 /* too long to be sent eagerly */

/* Before MPI_Init: so few rendezvous messages wait at a peer. */
__attribute__((constructor)) static void lower(void)
{
    setenv("VBN_PROTO_MAX_INCOMING", "16", 1);
}

/* Small and large ones, in all modes, all with one tag. */
static void begin(const int *words, int i, MPI_Request *request)
{
    switch (i % 5) {
    case 0: MPI_Isend(words, WORDS, MPI_INT, 0, 1, MPI_COMM_WORLD, request); return;
    case 1: MPI_Isend(words, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, request); return;
    case 2: MPI_Issend(words, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, request); return;
    case 3: MPI_Ibsend(words, WORDS, MPI_INT, 0, 1, MPI_COMM_WORLD, request); return;
    default: *request = MPI_REQUEST_NULL; MPI_Send(words, 3, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
}

/* Also of those that have not left this rank: the last ones are taken back first. */
static void are_cancelled(void)
{
    enum { SENDS = 40 };
    static int words[WORDS];
    MPI_Request requests[SENDS];
    for (int i = 0; i < SENDS; i++)
        MPI_Isend(words, WORDS, MPI_INT, 0, 3, MPI_COMM_WORLD, &requests[i]);
    for (int i = SENDS - 1; i >= 0; i--) {
        MPI_Status status;
        int flag;
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag);
    }
}

static void send_all(void)
{
    int (*words)[WORDS] = malloc(sizeof(int[COUNT][WORDS]));
    MPI_Request *requests = malloc(COUNT * sizeof(*requests));
    void *back;
    int length;
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    for (int i = 0; i < COUNT; i++) {
        words[i][0] = i;
        words[i][WORDS - 1] = -i;
        begin(words[i], i, &requests[i]);
    }
    MPI_Send(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD); /* behind all of them */
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&back, &length);
    free(words);
    free(requests);
}

static void receive_all(int from)
{
    static const int lengths[5] = {WORDS, 1, 2, WORDS, 3};
    int words[WORDS];
    for (int i = 0; i < COUNT; i++) {
        MPI_Status status;
        int length;
        MPI_Recv(words, WORDS, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &length);
        CHECK(status.MPI_TAG == 1 && words[0] == i && length == lengths[i % 5]);
        CHECK(length < WORDS || words[WORDS - 1] == -i);
    }
    MPI_Recv(NULL, 0, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void test(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0)
        are_cancelled();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0)
        send_all();
    for (int from = 1; rank == 0 && from < size; from++)
        receive_all(from);
    MPI_Barrier(MPI_COMM_WORLD); /* on ranks that have just waited */
}
