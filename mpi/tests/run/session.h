/* SPDX-License-Identifier: Apache-2.0
 * session.h - what the programs share that use sessions.
 */
#ifndef SESSION_H
#define SESSION_H

#define RULE_OWN_MAIN
#include "rule.h"

__attribute__((unused)) static MPI_Session session_begin(void)
{
    MPI_Session session;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
    CHECK(session != MPI_SESSION_NULL);
    return session;
}

/* A communicator of a set of processes. */
__attribute__((unused)) static MPI_Comm session_comm(MPI_Session session, const char *pset, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, pset, &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

__attribute__((unused)) static void session_use(MPI_Comm comm)
{
    int me, all, sum, before;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == all * (all - 1) / 2);
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % all, 3, &before, 1, MPI_INT, (me + all - 1) % all, 3, comm,
                 MPI_STATUS_IGNORE);
    CHECK(before == (me + all - 1) % all);
}

__attribute__((unused)) static void session_end(MPI_Session *session, MPI_Comm *comm)
{
    MPI_Comm_disconnect(comm);
    CHECK(*comm == MPI_COMM_NULL);
    MPI_Session_finalize(session);
    CHECK(*session == MPI_SESSION_NULL);
}

#endif
