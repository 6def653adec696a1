/* SPDX-License-Identifier: Apache-2.0
 * sessions_threads.c - threads that know nothing of each other open sessions, use them and end them, all at once.
 * ranks: 1 2 3 tcp
 */
#include <pthread.h>

#include "session.h"

#define THREADS 4
#define ROUNDS 5

static void *run(void *arg)
{
    const int number = *(const int *)arg;
    char tag[32];
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Session session = session_begin();
        snprintf(tag, sizeof(tag), "thread %d", number);
        MPI_Comm comm = session_comm(session, "mpi://WORLD", tag);
        session_use(comm);
        session_end(&session, &comm);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, run, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
