/* SPDX-License-Identifier: Apache-2.0
 * call_tags.c - calls that make communicators at the same time are told apart by their tags (MPI 5.0, 7.4.2), whatever these are:
 * neighbours, far apart, the same in calls of another kind, and string tags.
 * ranks: 2 3 4 tcp
 */
#define RULE_THREADS MPI_THREAD_MULTIPLE
#include "rule.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS 60

static const int tags[THREADS] = {10, 11, 10 + (1 << 22), 2147483647};
static const char *const string_tags[THREADS] = {"library-624", "library-2330", "", "library"};
static MPI_Group world;
static MPI_Comm halves[THREADS]; /* a communicator of each half, for each thread */

static void use(MPI_Comm comm, int wanted)
{
    int sum;
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == wanted);
    MPI_Comm_free(&comm);
}

static void of_groups(int thread)
{
    MPI_Comm comm;
    MPI_Comm_create_group(MPI_COMM_WORLD, world, tags[thread], &comm);
    use(comm, size);
    MPI_Comm_create_from_group(world, string_tags[thread], MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    use(comm, size);
}

static void of_halves(int thread)
{
    const int is_upper = rank >= size / 2;
    MPI_Comm comm;
    MPI_Intercomm_create(halves[thread], 0, MPI_COMM_WORLD, is_upper ? 0 : size / 2, tags[thread], &comm);
    use(comm, is_upper ? size / 2 : size - size / 2);
}

static void *make(void *arg)
{
    const int thread = (int)(long)arg;
    for (int i = 0; i < ROUNDS; i++) {
        of_groups(thread);
        of_halves(thread);
    }
    return NULL;
}

static void test(void)
{
    pthread_t threads[THREADS];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_split(MPI_COMM_WORLD, rank >= size / 2, 0, &halves[i]);
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, make, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&halves[i]);
    }
    MPI_Group_free(&world);
}
