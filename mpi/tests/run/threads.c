/* SPDX-License-Identifier: Apache-2.0
 * threads.c - MPI_THREAD_MULTIPLE: four threads of a rank send, receive, wait, test, probe, run collectives and make
 * communicators at the same time.
 * ranks: 1 2 3 tcp
 */
#define RULE_THREADS MPI_THREAD_MULTIPLE
#include "rule.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS 300
#define LONG 20000

static MPI_Comm comms[THREADS];

/* Round the ring on the thread's own tag, by calls of many kinds. */
static void messages(int thread)
{
    const int next = (rank + 1) % size;
    const int before = (rank - 1 + size) % size;
    int *out = malloc(LONG * sizeof(int));
    int *in = malloc(LONG * sizeof(int));
    for (int i = 0; i < ROUNDS; i++) {
        const int length = i % 10 == 0 ? LONG : 1 + i % 7;
        MPI_Request requests[2];
        MPI_Status status;
        int flag = 0;
        int index;
        out[0] = rank * 1000 + i;
        out[length - 1] = thread * 1000 + i;
        MPI_Isend(out, length, MPI_INT, next, thread, MPI_COMM_WORLD, &requests[1]);
        if (i % 3 == 0)
            MPI_Probe(before, thread, MPI_COMM_WORLD, &status);
        MPI_Irecv(in, length, MPI_INT, before, thread, MPI_COMM_WORLD, &requests[0]);
        if (i % 3 == 0)
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        while (i % 3 == 1 && !flag)
            MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        for (int j = 0; i % 3 == 2 && j < 2; j++)
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        CHECK(in[length - 1] == thread * 1000 + i && (length == 1 || in[0] == before * 1000 + i));
    }
    free(out);
    free(in);
}

static void collectives(int thread)
{
    for (int i = 0; i < ROUNDS; i++) {
        int sum;
        int value = rank + i + thread;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[thread]);
        CHECK(sum == size * (size - 1) / 2 + size * (i + thread));
        MPI_Bcast(&value, 1, MPI_INT, i % size, comms[thread]);
        CHECK(value == i % size + i + thread);
    }
}

/* Their context ids must differ, though each thread asks for itself. */
static void communicators(int thread)
{
    for (int i = 0; i < 30; i++) {
        MPI_Comm copy;
        int out = thread * 100 + i;
        int in = -1;
        MPI_Comm_dup(comms[thread], &copy);
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, MPI_ANY_SOURCE, 0, copy,
                     MPI_STATUS_IGNORE);
        CHECK(in == out);
        MPI_Comm_free(&copy);
    }
}

static void *run(void *arg)
{
    const int thread = (int)(long)arg;
    int is_main;
    MPI_Is_thread_main(&is_main);
    CHECK(!is_main);
    messages(thread);
    collectives(thread);
    communicators(thread);
    for (int i = 0; i < 3; i++) { /* different kinds at a time */
        void (*const kinds[3])(int) = {messages, collectives, communicators};
        kinds[(thread + i) % 3](thread);
    }
    return NULL;
}

/* One thread waits for what another one completes. */
static void *complete(void *arg)
{
    MPI_Grequest_complete(*(MPI_Request *)arg);
    return NULL;
}

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 0);
    return MPI_SUCCESS;
}

static void general_request(void)
{
    pthread_t thread;
    MPI_Request request;
    MPI_Request same;
    MPI_Grequest_start(query, NULL, NULL, NULL, &request);
    same = request;
    CHECK(pthread_create(&thread, NULL, complete, &same) == 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
}

static void test(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 200; i++)
        general_request();
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
}
