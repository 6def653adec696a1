/* SPDX-License-Identifier: Apache-2.0
 * session.h - sessions. What is derived of one, groups and communicators, keeps it: for its attached buffer.
 */
#ifndef VERBENA_MPI_SESSION_H
#define VERBENA_MPI_SESSION_H

#include <stddef.h>

#include "obj/obj.h"

typedef struct mpi_session {
    obj_t obj;                  /* OBJ_DEAD after MPI_Session_finalize, while something keeps it */
    int level;                  /* of threads: MPI_THREAD_... */
    struct comm_buffer *buffer; /* attached for buffered sends (p2p/buffer.c); NULL: none */
} mpi_session_t;

/* NULL: not a session. */
static inline mpi_session_t *session_of(MPI_Session session)
{
    return obj_is(session, OBJ_SESSION) ? (mpi_session_t *)session : NULL;
}

/* NULL is allowed. */
mpi_session_t *session_keep(mpi_session_t *session);
void session_release(mpi_session_t *session);

#endif
