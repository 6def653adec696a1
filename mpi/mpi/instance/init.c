/* SPDX-License-Identifier: Apache-2.0
 * init.c - the world model: MPI_Init to MPI_Finalize, abort.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "comm/attr.h"
#include "err/err.h"
#include "err/user.h"
#include "mpi_impl.h"
#include "p2p/p2p.h"
#include "rt/threads.h"

static int thread_level;
static pthread_t main_thread;

/* The lowest level that is at least the required one. */
static int level_for(int required)
{
    return required <= MPI_THREAD_SINGLE      ? MPI_THREAD_SINGLE
           : required <= MPI_THREAD_FUNNELED   ? MPI_THREAD_FUNNELED
           : required <= MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED
                                               : MPI_THREAD_MULTIPLE;
}

int mpi_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv;
    if (obj_state != OBJ_BEFORE_INIT)
        return err_set(MPI_ERR_OTHER, "MPI was initialised before; that can be done once");
    if (rt_acquire() != 0)
        return err_set(MPI_ERR_OTHER, "cannot start: %s", rt.error);
    const int rc = comm_open();
    if (rc != MPI_SUCCESS)
        return rc;
    p2p_buffers_open();
    thread_level = level_for(required);
    main_thread = pthread_self();
    if (rt_threads_open(thread_level == MPI_THREAD_MULTIPLE) != 0)
        return err_set(MPI_ERR_OTHER, "cannot start: %s", rt.error);
    obj_state = OBJ_READY;
    *provided = thread_level;
    return MPI_SUCCESS;
}

int mpi_Init(int *argc, char ***argv)
{
    int provided;
    return mpi_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

int mpi_Initialized(int *flag)
{
    *flag = obj_state != OBJ_BEFORE_INIT;
    return MPI_SUCCESS;
}

int mpi_Finalized(int *flag)
{
    *flag = obj_state == OBJ_FINALIZED;
    return MPI_SUCCESS;
}

int mpi_Query_thread(int *provided)
{
    *provided = thread_level;
    return MPI_SUCCESS;
}

int mpi_Is_thread_main(int *flag)
{
    *flag = pthread_equal(pthread_self(), main_thread);
    return MPI_SUCCESS;
}

int mpi_Finalize(void)
{
    int rc = attr_delete_all(&comm_self); /* before anything ends: programs hang their own end on it */
    if (rc == MPI_SUCCESS)
        rc = attr_delete_all(&comm_world);
    if (rc != MPI_SUCCESS)
        return rc;
    rt_threads_close();
    p2p_buffers_close();
    rc = rt_release();
    if (rc != 0)
        return err_set(MPI_ERR_OTHER, "%s", rt.error);
    comm_close();
    p2p_close();
    err_user_close();
    obj_state = OBJ_FINALIZED;
    return MPI_SUCCESS;
}

int mpi_Abort(MPI_Comm comm, int errorcode)
{
    (void)comm;
    fprintf(stderr, "rank %d of %d called MPI_Abort with code %d\n", rt.rank, rt.size, errorcode);
    rt_abort(errorcode);
}
