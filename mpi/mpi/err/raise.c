/* SPDX-License-Identifier: Apache-2.0
 * raise.c - what error handlers do; texts and classes of error codes.
 */
#include "err/err.h"

#include <stdio.h>

#include "err/handler.h"
#include "err/user.h"
#include "mpi_impl.h"
#include "rt/rt.h"
#include "rt/threads.h"

obj_state_t obj_state;
int obj_sessions;
obj_t *(*err_comm_object)(MPI_Comm comm);
void (*err_comm_release)(obj_t *object);
MPI_Win (*err_comm_win)(MPI_Comm comm);

/* The communicator of an error that a request has met. */
static _Thread_local struct {
    MPI_Comm comm; /* NULL: the one of the call */
    obj_t *held;   /* the object of comm, unless predefined; it lives until its handler has returned */
} met;

void err_on(MPI_Comm comm)
{
    if (met.held != NULL)
        err_comm_release(met.held);
    met.comm = comm;
    met.held = obj_is_predefined(comm) ? NULL : err_comm_object(comm);
    if (met.held != NULL)
        met.held->refs++;
}

/* Under obj_lock. */
static const char *class_text(int code)
{
    const char *text = err_predefined_text(code);
    return text != NULL ? text : err_user_text(code);
}

static void print_fatal(MPI_Errhandler handler, const char *function, int code)
{
    const char *detail = err_detail(code);
    char text[MPI_MAX_ERROR_STRING];
    char who[48] = "";
    obj_lock();
    const char *known = class_text(code);
    (void)snprintf(text, sizeof(text), "%s", known == NULL ? "unknown error" : known);
    obj_unlock();
    if (rt.users > 0)
        (void)snprintf(who, sizeof(who), "rank %d of %d, ", rt.rank, rt.size);
    rt_say("%s%s: %s%s%s; the job ends (%s)", who, function, text, detail[0] == 0 ? "" : ": ", detail,
           handler == MPI_ERRORS_ABORT ? "MPI_ERRORS_ABORT" : "MPI_ERRORS_ARE_FATAL");
}

/* What the handler is called for: one of them. */
typedef struct shown {
    MPI_Comm comm;
    MPI_Session session;
    MPI_File file;
    MPI_Win win;
} shown_t;

/* A function of the program may call MPI, wait for other threads, or leave by longjmp() or an exception: the caller holds no
 * lock, and nothing of the handler is used afterwards. */
static int handle(const MPI_Errhandler *place, shown_t shown, const char *function, int code)
{
    err_handler_t made;
    const MPI_Errhandler handler = err_handler_look(place, &made);
    if (handler == MPI_ERRORS_RETURN)
        return code;
    if (!obj_is_predefined(handler)) {
        if (made.session != NULL)
            made.session(&shown.session, &code, made.state);
        else if (made.file != NULL)
            made.file(&shown.file, &code, made.state);
        else if (made.win != NULL)
            made.win(&shown.win, &code, made.state);
        else
            made.comm(&shown.comm, &code, made.state);
        return code;
    }
    print_fatal(handler, function, code);
    rt_abort(code < 256 ? code : MPI_ERR_OTHER);
}

static const MPI_Errhandler fatal = MPI_ERRORS_ARE_FATAL;

static int raise_on(MPI_Comm comm, const char *function, int code)
{
    shown_t shown = {.comm = comm};
    const obj_t *object = err_comm_object == NULL || !obj_is_open() ? NULL : err_comm_object(comm);
    if (object == NULL && obj_state == OBJ_READY && err_comm_object != NULL) {
        shown.comm = MPI_COMM_SELF;
        object = err_comm_object(shown.comm);
    }
    shown.win = object == NULL ? MPI_WIN_NULL : err_comm_win(shown.comm);
    return handle(object == NULL ? &fatal : &object->handler, shown, function, code);
}

/* A handler that does not return leaves a communicator that the program has freed for good. */
static int raise_on_kept(const char *function, int code)
{
    obj_t *held = met.held;
    const MPI_Comm comm = met.comm;
    met.held = NULL; /* the handler may meet errors of its own */
    met.comm = NULL;
    const int raised = raise_on(comm, function, code);
    if (held == NULL)
        return raised;
    rt_enter();
    err_comm_release(held);
    rt_leave();
    return raised;
}

int err_raise(MPI_Comm comm, const char *function, int code)
{
    return met.comm != NULL ? raise_on_kept(function, code) : raise_on(comm, function, code);
}

int err_raise_session(MPI_Session session, const char *function, int code)
{
    return obj_is(session, OBJ_SESSION)
               ? handle(&((const obj_t *)session)->handler, (shown_t){.session = session}, function, code)
               : err_raise(MPI_COMM_NULL, function, code);
}

int err_raise_win(MPI_Win win, const char *function, int code)
{
    return obj_is(win, OBJ_WIN) ? handle(&((const obj_t *)win)->handler, (shown_t){.win = win}, function, code)
                                : err_raise(MPI_COMM_NULL, function, code);
}

int err_raise_file(const char *function, int code)
{
    return handle(&err_files.handler, (shown_t){.file = MPI_FILE_NULL}, function, code);
}

int err_raise_by(MPI_Errhandler handler, const char *function, int code)
{
    const shown_t nothing = {
        .comm = MPI_COMM_NULL, .session = MPI_SESSION_NULL, .file = MPI_FILE_NULL, .win = MPI_WIN_NULL};
    return err_handler_check(handler, OBJ_DEAD) == MPI_SUCCESS ? handle(&handler, nothing, function, code)
                                                               : err_raise(MPI_COMM_NULL, function, code);
}

/* Under obj_lock, as the entry points do it; and the next one. */
int mpi_Error_class(int errorcode, int *errorclass)
{
    *errorclass = err_is_predefined(errorcode) ? errorcode : err_user_class(errorcode);
    return MPI_SUCCESS;
}

int mpi_Error_string(int errorcode, char *string, int *resultlen)
{
    const char *text = class_text(errorcode);
    const char *detail = err_detail(errorcode);
    const int with_detail = err_is_predefined(errorcode) && detail[0] != 0 &&
                            errorcode != MPI_SUCCESS; /* a text of the program is given as it is (9.5) */
    if (text == NULL)
        return err_set(MPI_ERR_ARG, "errorcode %d is no error code of MPI", errorcode);
    const int length = snprintf(string, MPI_MAX_ERROR_STRING, "%s%s%s", text, with_detail ? ": " : "",
                                with_detail ? detail : "");
    *resultlen = length < MPI_MAX_ERROR_STRING ? length : MPI_MAX_ERROR_STRING - 1;
    return MPI_SUCCESS;
}
