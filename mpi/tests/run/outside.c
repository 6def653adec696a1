/* SPDX-License-Identifier: Apache-2.0
 * outside.c - error handlers, functions of general requests and the operation of MPI_Reduce_local are called while the library is
 * free: other threads call MPI meanwhile. A handler may leave by longjmp(). (Collectives and attributes: op_threads.c.)
 * ranks: 1 2
 */
#define RULE_THREADS MPI_THREAD_MULTIPLE
#include "rule.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>

static sem_t asked;
static sem_t answered;
static int ends;
static int calls;
static jmp_buf back;
static MPI_Errhandler handler; /* of communicators */

/* Calls MPI each time it is asked to. */
static void *other(void *arg)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    (void)arg;
    for (;;) {
        sem_wait(&asked);
        if (ends)
            return NULL;
        MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
        if (handler != MPI_ERRHANDLER_NULL)
            MPI_Errhandler_free(&handler); /* the one that runs, perhaps */
        sem_post(&answered);
    }
}

static void wait_for_other(void)
{
    calls++;
    sem_post(&asked);
    sem_wait(&answered);
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    wait_for_other();
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void of_comm(MPI_Comm *comm, int *code, ...)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    (void)code;
    MPI_Comm_get_name(*comm, name, &length); /* handlers may call MPI */
    wait_for_other();
}

static void jumps(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(back, 1);
}

static void of_session(MPI_Session *session, int *code, ...)
{
    (void)session, (void)code;
    wait_for_other();
}

static void of_file(MPI_File *file, int *code, ...)
{
    (void)file, (void)code;
    wait_for_other();
}

static void reduces(void)
{
    MPI_Op op;
    int in[2] = {1, 2};
    int inout[2] = {10, 20};
    MPI_Op_create(add, 1, &op);
    MPI_Reduce_local(in, inout, 2, MPI_INT, op);
    CHECK(calls == 1 && inout[0] == 11 && inout[1] == 22);
    MPI_Op_free(&op);
}

static MPI_Comm with_handler(MPI_Comm_errhandler_function *function)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    return comm;
}

static void handlers_of_communicators(void)
{
    MPI_Comm comm = with_handler(of_comm);
    MPI_Request request;
    int values[4] = {0};
    calls = 0;
    MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    CHECK(calls == 1 && handler == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Send(values, 1, MPI_INT, 7, 0, comm) == MPI_ERR_RANK && calls == 2);
    CHECK(MPI_Bcast(values, -1, MPI_INT, 0, comm) == MPI_ERR_COUNT && calls == 3);
    MPI_Irecv(values, 1, MPI_INT, 0, 0, comm, &request);
    MPI_Send(values, 4, MPI_INT, 0, 0, comm);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE && calls == 4);
    MPI_Comm_free(&comm);
}

static void handlers_of_others(void)
{
    MPI_Session session;
    MPI_Errhandler made;
    calls = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_create_errhandler(of_session, &made);
    MPI_Session_set_errhandler(session, made);
    MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
    MPI_Errhandler_free(&made);
    MPI_Session_finalize(&session);
    MPI_File_create_errhandler(of_file, &made);
    MPI_File_set_errhandler(MPI_FILE_NULL, made);
    MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_OTHER);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&made);
    CHECK(calls == 2);
}

/* What the handler leaves is as if it had returned. */
static void handlers_that_jump(void)
{
    volatile MPI_Comm comm = with_handler(jumps);
    volatile int value = 0;
    if (setjmp(back) == 0) {
        MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
        CHECK(0);
    }
    wait_for_other();
    if (setjmp(back) == 0) {
        MPI_Send((void *)&value, 1, MPI_INT, 7, 0, comm);
        CHECK(0);
    }
    wait_for_other();
    MPI_Comm_free((MPI_Comm *)&comm);
}

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    wait_for_other();
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int end(void *extra)
{
    (void)extra;
    wait_for_other();
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    wait_for_other();
    return MPI_SUCCESS;
}

static void general_requests(void)
{
    MPI_Request request;
    calls = 0;
    MPI_Grequest_start(query, end, cancel, NULL, &request);
    MPI_Cancel(&request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(calls == 3);
}

static int delete_value(MPI_Comm comm, int key, void *value, void *extra)
{
    pthread_t *thread = extra;
    (void)comm, (void)key, (void)value;
    wait_for_other();
    ends = 1;
    sem_post(&asked);
    pthread_join(*thread, NULL);
    return MPI_SUCCESS;
}

static void test(void)
{
    static pthread_t thread;
    int key;
    sem_init(&asked, 0, 0);
    sem_init(&answered, 0, 0);
    handler = MPI_ERRHANDLER_NULL;
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
    reduces();
    handlers_of_communicators();
    handlers_of_others();
    handlers_that_jump();
    general_requests();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_value, &key, &thread);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL); /* its end is in MPI_Finalize */
    MPI_Comm_free_keyval(&key);
}
