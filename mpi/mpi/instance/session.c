/* SPDX-License-Identifier: Apache-2.0
 * session.c - sessions: the library is used by parts of a program that do not know each other, each with its own session, before,
 * beside and after the world model. Opening one needs no other process.
 */
#include "group/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "err/handler.h"
#include "group/group.h"
#include "info/info.h"
#include "instance/library.h"
#include "instance/psets.h"
#include "mpi_impl.h"
#include "rt/threads.h"

static const struct {
    int level;
    const char *name;
} levels[] = {{MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
              {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
              {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
              {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"}};

/* Who says nothing may be called by any thread: its neighbours in the program are unknown. Under obj_lock. */
static int level_wanted(MPI_Info info, int *level_p)
{
    *level_p = MPI_THREAD_MULTIPLE;
    if (info == MPI_INFO_NULL)
        return MPI_SUCCESS;
    if (!obj_is(info, OBJ_INFO) && info != MPI_INFO_ENV)
        return err_set(MPI_ERR_INFO, "info is not an info object");
    const char *value = info == MPI_INFO_ENV ? NULL : info_value((const mpi_info_t *)info, "thread_level");
    for (size_t i = 0; value != NULL && i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(value, levels[i].name) == 0) {
            *level_p = levels[i].level;
            return MPI_SUCCESS;
        }
    return value == NULL
               ? MPI_SUCCESS
               : err_set(MPI_ERR_INFO_VALUE,
                         "thread_level is %s; it is MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED or _MULTIPLE", value);
}

/* Inside the runtime, and alone. */
static int open_session(mpi_session_t *session, MPI_Errhandler errhandler)
{
    const int rc = library_open(LIBRARY_SESSION, session->level == MPI_THREAD_MULTIPLE);
    if (rc != MPI_SUCCESS)
        return rc;
    session->obj.kind = OBJ_SESSION;
    session->obj.refs = 1;
    session->obj.handler = errhandler;
    err_handler_keep(errhandler);
    obj_sessions++;
    return MPI_SUCCESS;
}

int mpi_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    int level;
    int rc = err_handler_check(errhandler, OBJ_SESSION);
    if (rc == MPI_SUCCESS) {
        obj_lock();
        rc = level_wanted(info, &level);
        obj_unlock();
    }
    *session = MPI_SESSION_NULL;
    if (rc != MPI_SUCCESS)
        return rc;
    mpi_session_t *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return err_set(MPI_ERR_NO_MEM, "session: no memory left");
    made->level = level;
    library_lock();
    rt_enter();
    rc = open_session(made, errhandler);
    rt_leave();
    library_unlock();
    if (rc == MPI_SUCCESS)
        *session = (MPI_Session)made;
    else
        free(made);
    return rc;
}

/* A buffer that is still attached is detached: what was sent out of it is delivered. Others may open and end sessions meanwhile:
 * whoever waits may call functions of the program (rt_call_later), and holds no lock. */
static int end_buffer(MPI_Session session)
{
    MPI_Count size;
    void *address;
    rt_enter();
    const int rc = session_of(session)->buffer == NULL ? MPI_SUCCESS
                                                       : mpi_Session_detach_buffer(session, &address, &size);
    rt_leave();
    return rc;
}

int mpi_Session_finalize(MPI_Session *session)
{
    mpi_session_t *found = session_of(*session);
    if (found == NULL)
        return err_set(MPI_ERR_SESSION, "session is not a session (MPI_SESSION_NULL, or finalized)");
    int rc = end_buffer(*session);
    if (rc != MPI_SUCCESS)
        return rc;
    library_lock();
    rt_enter();
    rc = library_close(LIBRARY_SESSION);
    obj_sessions--;
    err_handler_release(found->obj.handler);
    obj_end(&found->obj);
    session_release(found);
    *session = MPI_SESSION_NULL;
    rt_leave();
    library_unlock();
    return rc;
}

int mpi_Session_get_info(MPI_Session session, MPI_Info *info_used)
{
    mpi_info_t *info = info_create();
    for (size_t i = 0; info != NULL && i < sizeof(levels) / sizeof(levels[0]); i++)
        if (levels[i].level == session_of(session)->level && info_put(info, "thread_level", levels[i].name) != 0) {
            info_destroy(info);
            info = NULL;
        }
    *info_used = info == NULL ? MPI_INFO_NULL : (MPI_Info)info;
    return info != NULL ? MPI_SUCCESS : err_set(MPI_ERR_NO_MEM, "info: no memory left");
}

int mpi_Session_get_num_psets(MPI_Session session, MPI_Info info, int *npset_names)
{
    (void)session, (void)info;
    *npset_names = psets_count();
    return MPI_SUCCESS;
}

/* pset_len: in the room, 0: only the length is wanted; out what the name needs with its end. */
int mpi_Session_get_nth_pset(MPI_Session session, MPI_Info info, int n, int *pset_len, char *pset_name)
{
    (void)session, (void)info;
    if (n < 0 || n >= psets_count())
        return err_set(MPI_ERR_ARG, "n is %d, but there are %d sets of processes", n, psets_count());
    if (*pset_len > 0 && pset_name == NULL)
        return err_set(MPI_ERR_ARG, "pset_name is NULL, and pset_len %d", *pset_len);
    if (*pset_len > 0)
        snprintf(pset_name, (size_t)*pset_len, "%s", psets_name(n));
    *pset_len = (int)strlen(psets_name(n)) + 1;
    return MPI_SUCCESS;
}

int mpi_Session_get_pset_info(MPI_Session session, const char *pset_name, MPI_Info *info)
{
    rt_group_t *ranks;
    char size[16];
    (void)session;
    const int rc = psets_find(pset_name, &ranks);
    if (rc != MPI_SUCCESS)
        return rc;
    snprintf(size, sizeof(size), "%d", ranks->size);
    rt_group_release(ranks);
    mpi_info_t *made = info_create();
    if (made == NULL || info_put(made, "mpi_size", size) != 0) {
        info_destroy(made);
        return err_set(MPI_ERR_NO_MEM, "info: no memory left");
    }
    *info = (MPI_Info)made;
    return MPI_SUCCESS;
}

int mpi_Group_from_session_pset(MPI_Session session, const char *pset_name, MPI_Group *newgroup)
{
    rt_group_t *ranks;
    const int rc = psets_find(pset_name, &ranks);
    return rc != MPI_SUCCESS ? rc : group_make(ranks, session_of(session), newgroup);
}
