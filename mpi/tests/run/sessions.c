/* SPDX-License-Identifier: Apache-2.0
 * sessions.c - sessions: without the world model, several at once, again after all have ended; sets of processes, communicators
 * of their groups, the buffer and the error handler of a session.
 * ranks: 1 2 4 5 tcp nodes
 */
#include "session.h"

static MPI_Session failed_on;
static int failed_with;

static void note(MPI_Session *session, int *code, ...)
{
    failed_on = *session;
    failed_with = *code;
}

static void once(void)
{
    MPI_Session session = session_begin();
    MPI_Comm comm = session_comm(session, "mpi://WORLD", "once");
    session_use(comm);
    session_end(&session, &comm);
}

/* Each has its own communicators; the second goes on when the first has ended. */
static void two_at_once(void)
{
    MPI_Session first = session_begin();
    MPI_Session second = session_begin();
    MPI_Comm one = session_comm(first, "mpi://WORLD", "first");
    MPI_Comm other = session_comm(second, "mpi://WORLD", "second");
    session_use(one);
    session_use(other);
    session_end(&first, &one);
    session_use(other);
    session_end(&second, &other);
}

static void sets(void)
{
    MPI_Session session = session_begin();
    MPI_Info info;
    char name[64], shown[16];
    int count, flag, length;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
    CHECK(count >= 2);
    for (int n = 0; n < count; n++) {
        int members, room = 0;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &room, NULL);
        length = room;
        CHECK(room > 0 && room <= (int)sizeof(name));
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
        CHECK((int)strlen(name) + 1 == room && length == room);
        length = 4;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, shown);
        CHECK(strlen(shown) == 3 && strncmp(shown, name, 3) == 0 && length == room);
        MPI_Comm comm = session_comm(session, name, name);
        session_use(comm);
        MPI_Comm_size(comm, &members);
        MPI_Comm_disconnect(&comm);
        MPI_Session_get_pset_info(session, name, &info);
        length = sizeof(shown);
        MPI_Info_get_string(info, "mpi_size", &length, shown, &flag);
        CHECK(flag && atoi(shown) == members);
        MPI_Info_free(&info);
    }
    MPI_Session_finalize(&session);
}

/* What is derived of a communicator of a session, and of its group. */
static void derived(void)
{
    MPI_Session session = session_begin();
    MPI_Comm comm = session_comm(session, "mpi://WORLD", "derived");
    MPI_Comm twin, half, again;
    MPI_Group group;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_dup(comm, &twin);
    MPI_Comm_split(comm, rank % 2, 0, &half);
    MPI_Comm_group(half, &group);
    MPI_Comm_create_from_group(group, "again", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &again);
    session_use(twin);
    session_use(half);
    session_use(again);
    MPI_Group_free(&group);
    MPI_Comm_disconnect(&twin);
    MPI_Comm_disconnect(&half);
    MPI_Comm_disconnect(&again);
    session_end(&session, &comm);
}

static void buffers(void)
{
    MPI_Session session = session_begin();
    MPI_Comm comm = session_comm(session, "mpi://WORLD", "buffers");
    MPI_Request request;
    char room[1000 + MPI_BSEND_OVERHEAD], out[1000] = {0}, in[1000];
    void *back;
    int bytes;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Session_attach_buffer(session, room, sizeof(room));
    out[999] = (char)rank;
    MPI_Bsend(out, 1000, MPI_BYTE, (rank + 1) % size, 1, comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Recv(in, 1000, MPI_BYTE, (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE);
    CHECK(in[999] == (char)((rank + size - 1) % size));
    MPI_Session_flush_buffer(session);
    MPI_Session_iflush_buffer(session, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_detach_buffer(session, &back, &bytes);
    CHECK(back == room && bytes == (int)sizeof(room));
    CHECK(class_of(MPI_Bsend(out, 1000, MPI_BYTE, rank, 1, comm)) == MPI_ERR_BUFFER);
    session_end(&session, &comm);
}

static void errors(void)
{
    MPI_Errhandler handler, found;
    MPI_Session session;
    MPI_Info info;
    MPI_Group group;
    MPI_Comm comm;
    char level[32];
    int length = sizeof(level), flag;
    MPI_Session_create_errhandler(note, &handler); /* nothing is open */
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SEVERAL");
    CHECK(class_of(MPI_Session_init(info, handler, &session)) == MPI_ERR_INFO_VALUE &&
          failed_with == MPI_ERR_INFO_VALUE);
    CHECK(session == MPI_SESSION_NULL && failed_on == MPI_SESSION_NULL);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE");
    MPI_Session_init(info, handler, &session);
    MPI_Info_free(&info);
    MPI_Session_get_info(session, &info);
    MPI_Info_get_string(info, "thread_level", &length, level, &flag);
    CHECK(flag && strcmp(level, "MPI_THREAD_SINGLE") == 0);
    MPI_Info_free(&info);
    CHECK(class_of(MPI_Group_from_session_pset(session, "mpi://NOBODY", &group)) == MPI_ERR_ARG);
    CHECK(failed_on == session && failed_with == MPI_ERR_ARG);
    MPI_Session_get_errhandler(session, &found);
    CHECK(found == handler);
    MPI_Errhandler_free(&found);
    MPI_Group_from_session_pset(session, "MPI://self", &group); /* a URI: scheme and host know no case */
    CHECK(class_of(MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Comm_create_from_group(group, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm)) == MPI_SUCCESS);
    CHECK(class_of(MPI_Comm_set_errhandler(comm, handler)) == MPI_ERR_ERRHANDLER); /* it is for sessions */
    MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
    CHECK(failed_with == MPI_ERR_OTHER);
    MPI_Group_free(&group);
    MPI_Errhandler_free(&handler);
    session_end(&session, &comm);
}

int main(void)
{
    int flag;
    errors();
    once();
    once();
    two_at_once();
    sets();
    derived();
    buffers();
    MPI_Initialized(&flag);
    CHECK(!flag);
    return 0;
}
