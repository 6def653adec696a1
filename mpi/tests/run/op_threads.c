/* SPDX-License-Identifier: Apache-2.0
 * op_threads.c - functions of the program are called outside the library: while an operation runs, or an attribute is
 * copied or deleted, other threads call MPI (as with Python, whose functions wait for a lock that those threads have).
 * ranks: 1 2 3
 */
#define RULE_THREADS MPI_THREAD_MULTIPLE
#include "rule.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static sem_t asked;
static sem_t answered;
static int calls;
static pthread_t main_thread;

/* Calls MPI each time it is asked to. */
static void *other(void *arg)
{
    (void)arg;
    for (;;) {
        int flag;
        MPI_Comm copy;
        sem_wait(&asked);
        if (calls < 0)
            return NULL;
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        MPI_Comm_free(&copy);
        sem_post(&answered);
    }
}

static void wait_for_other(void)
{
    calls++;
    sem_post(&asked);
    sem_wait(&answered);
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int bytes;
    CHECK(pthread_equal(pthread_self(), main_thread)); /* never the library's own */
    wait_for_other();
    MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *length && bytes == sizeof(int); i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static int copy_value(MPI_Comm comm, int key, void *extra, void *value, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    wait_for_other();
    memcpy(out, &value, sizeof(value));
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_value(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    wait_for_other();
    return MPI_SUCCESS;
}

static void operations(void)
{
    MPI_Op op;
    int values[3] = {rank, 1, 2};
    int sums[3];
    MPI_Op_create(add, 1, &op);
    for (int i = 0; i < 20; i++) {
        MPI_Allreduce(values, sums, 3, MPI_INT, op, MPI_COMM_WORLD);
        CHECK(sums[0] == size * (size - 1) / 2 && sums[1] == size && sums[2] == 2 * size);
        MPI_Reduce(values, sums, 3, MPI_INT, op, i % size, MPI_COMM_WORLD);
        CHECK(rank != i % size || sums[2] == 2 * size);
        MPI_Scan(values, sums, 3, MPI_INT, op, MPI_COMM_WORLD);
        CHECK(sums[1] == rank + 1);
    }
    for (int i = 0; i < 3; i++) { /* while this rank calls nothing, messages arrive, but the operation waits */
        MPI_Request request;
        MPI_Iallreduce(values, sums, 3, MPI_INT, op, MPI_COMM_WORLD, &request);
        const int before = calls;
        usleep(250000);
        CHECK(calls == before);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sums[1] == size);
    }
    CHECK(size == 1 || calls > 0);
    MPI_Op_free(&op);
}

static void attributes(void)
{
    MPI_Comm from;
    MPI_Comm copy;
    int key;
    const int before = calls;
    MPI_Comm_dup(MPI_COMM_WORLD, &from);
    MPI_Comm_create_keyval(copy_value, delete_value, &key, NULL);
    MPI_Comm_set_attr(from, key, &calls);
    MPI_Comm_dup(from, &copy);
    MPI_Comm_free(&copy);
    MPI_Comm_delete_attr(from, key);
    CHECK(calls == before + 3);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&from);
}

static void test(void)
{
    pthread_t thread;
    main_thread = pthread_self();
    sem_init(&asked, 0, 0);
    sem_init(&answered, 0, 0);
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
    operations();
    attributes();
    calls = -1;
    sem_post(&asked);
    pthread_join(thread, NULL);
}
