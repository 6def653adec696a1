/* SPDX-License-Identifier: Apache-2.0
 * library.c - opening and closing what the world model and all sessions of a process share: the runtime, threads, buffers.
 */
#include "instance/library.h"

#include <pthread.h>

#include "comm/comm.h"
#include "err/err.h"
#include "grp/table.h"
#include "grp/watch.h"
#include "p2p/p2p.h"
#include "rt/threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int users;
static int has_sessions; /* it has had one: other ranks may not expect it at the end of the job */

void library_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void library_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

int library_level(int required)
{
    return required <= MPI_THREAD_SINGLE       ? MPI_THREAD_SINGLE
           : required <= MPI_THREAD_FUNNELED   ? MPI_THREAD_FUNNELED
           : required <= MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED
                                               : MPI_THREAD_MULTIPLE;
}

int library_open(library_user_t user, int shared)
{
    if ((user == LIBRARY_WORLD ? rt_acquire() : rt_acquire_alone()) != 0)
        return err_set(MPI_ERR_OTHER, "cannot start: %s", rt.error);
    if (users == 0) {
        if (table_open() != 0)
            return err_set(MPI_ERR_OTHER, "cannot start: %s", rt.error);
        const int rc = comm_open();
        if (rc != MPI_SUCCESS)
            return rc;
        p2p_buffers_open();
    }
    if (rt_threads_open(shared) != 0)
        return err_set(MPI_ERR_OTHER, "cannot start: %s", rt.error);
    has_sessions |= user != LIBRARY_WORLD;
    users++;
    return MPI_SUCCESS;
}

int library_close(library_user_t user)
{
    users--;
    rt_threads_close();
    if (users == 0)
        p2p_buffers_close();
    if (users == 0 && has_sessions)
        watch_leave();
    if ((user == LIBRARY_WORLD ? rt_release() : rt_release_alone()) != 0)
        return err_set(MPI_ERR_OTHER, "%s", rt.error);
    if (users == 0) {
        comm_close();
        p2p_direct_close();
        p2p_close();
    }
    return MPI_SUCCESS;
}
