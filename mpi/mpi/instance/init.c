/* SPDX-License-Identifier: Apache-2.0
 * init.c - the world model: MPI_Init to MPI_Finalize, abort.
 */
#include <pthread.h>
#include <stdlib.h>

#include "comm/attr.h"
#include "err/err.h"
#include "instance/library.h"
#include "mpi_impl.h"
#include "rt/threads.h"

static int thread_level;
static pthread_t main_thread;

static int open_world(int required)
{
    if (obj_state != OBJ_BEFORE_INIT)
        return err_set(MPI_ERR_OTHER, "MPI was initialised before; that can be done once");
    thread_level = library_level(required);
    main_thread = pthread_self();
    const int rc = library_open(LIBRARY_WORLD, thread_level == MPI_THREAD_MULTIPLE);
    if (rc == MPI_SUCCESS)
        obj_state = OBJ_READY;
    return rc;
}

int mpi_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv;
    library_lock();
    rt_enter();
    const int rc = open_world(required);
    rt_leave();
    library_unlock();
    *provided = thread_level;
    return rc;
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

/* Before anything ends: programs hang their own end on it, which may be that of a session. */
static int delete_attributes(void)
{
    rt_enter();
    int rc = attr_delete_all(&comm_self);
    if (rc == MPI_SUCCESS)
        rc = attr_delete_all(&comm_world);
    rt_leave();
    return rc;
}

/* Other ranks may come here only when threads of this one have opened and ended further sessions. */
static int wait_for_others(void)
{
    library_lock();
    const int has_sessions = obj_sessions > 0;
    library_unlock();
    if (!has_sessions)
        return MPI_SUCCESS; /* library_close does it; the first session waits for the end of the world model */
    rt_enter();
    const int rc = rt_part();
    rt_leave();
    return rc == 0 ? MPI_SUCCESS : err_set(MPI_ERR_OTHER, "%s", rt.error);
}

int mpi_Finalize(void)
{
    int rc = delete_attributes();
    if (rc == MPI_SUCCESS)
        rc = wait_for_others();
    if (rc != MPI_SUCCESS)
        return rc;
    library_lock();
    rt_enter();
    rc = library_close(LIBRARY_WORLD);
    if (rc == MPI_SUCCESS)
        obj_state = OBJ_FINALIZED;
    rt_leave();
    library_unlock();
    return rc;
}

int mpi_Abort(MPI_Comm comm, int errorcode)
{
    (void)comm;
    rt_say("rank %d of %d called MPI_Abort with code %d", rt.rank, rt.size, errorcode);
    rt_abort(errorcode);
}
