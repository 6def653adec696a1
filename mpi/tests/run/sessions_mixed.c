/* SPDX-License-Identifier: Apache-2.0
 * sessions_mixed.c - sessions need no other rank and no world: ranks open them as often as they like, alone; then with others,
 * before, beside and after the world model.
 * ranks: 1 2 4 tcp nodes
 */
#include "session.h"

static MPI_Session kept = MPI_SESSION_NULL;

/* As often as the rank's number says, by no message; rank 0 never. */
static void alone(int times)
{
    for (int i = 0; i < times; i++) {
        MPI_Session session = session_begin();
        MPI_Comm comm = session_comm(session, "mpi://SELF", "alone");
        session_use(comm);
        session_end(&session, &comm);
    }
}

static void together(const char *tag)
{
    MPI_Session session = session_begin();
    MPI_Comm comm = session_comm(session, "mpi://WORLD", tag);
    session_use(comm);
    session_end(&session, &comm);
}

/* All but rank 0, which goes on meanwhile. */
static void without_first(void)
{
    MPI_Session session = session_begin();
    MPI_Group all, rest;
    MPI_Comm comm;
    int first = 0;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_excl(all, 1, &first, &rest);
    if (rank > 0) {
        MPI_Comm_create_from_group(rest, "rest", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        session_use(comm);
        MPI_Comm_disconnect(&comm);
    }
    MPI_Group_free(&rest);
    MPI_Group_free(&all);
    MPI_Session_finalize(&session);
}

static int end_kept(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_Session_finalize(&kept);
}

/* A session in MPI_Init's world, which ends in its end; errors of communicators that are not there any more. */
static void world(void)
{
    MPI_Session session = session_begin();
    MPI_Comm comm;
    int key, flag;
    MPI_Init(NULL, NULL);
    session_use(MPI_COMM_WORLD);
    comm = session_comm(session, "mpi://WORLD", "beside");
    session_use(comm);
    kept = session_begin();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_kept, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
    MPI_Finalize();
    CHECK(kept == MPI_SESSION_NULL);
    session_use(comm);
    MPI_Finalized(&flag);
    CHECK(flag);
    session_end(&session, &comm);
}

int main(void)
{
    MPI_Session session = session_begin(); /* who am I? */
    MPI_Group group;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_rank(group, &rank);
    MPI_Group_size(group, &size);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    alone(rank);
    together("first");
    alone(size - rank);
    without_first();
    together("second");
    world();
    alone(rank);
    together("third");
    return 0;
}
