/* SPDX-License-Identifier: Apache-2.0
 * err.h - errors. A function of mpi/mpi returns MPI_SUCCESS or err_set(class, text); its entry point calls err_raise,
 * which calls the error handler and gives the code that the user sees: always a class.
 * MPI_Error_string of the class that the thread met last adds the text of that error; codes of the program have only their own.
 */
#ifndef VERBENA_MPI_ERR_H
#define VERBENA_MPI_ERR_H

#include <stddef.h>

#include <vbn/vbn.h>

#include "obj/obj.h"

typedef struct err_text {
    int code;
    const char *text;
} err_text_t;

extern const err_text_t err_texts[]; /* generated; the last one has no text */

/* Keeps the text and returns the class. */
int err_set(int class, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* The class of a failure of the core, with its text. */
int err_core(vbn_status_t status, const char *what, const char *text) __attribute__((cold));
/* The text that err_set has kept for this class, if that was the thread's last error; else "". */
const char *err_detail(int class);
/* The text of a class of the standard; NULL: it is none. */
const char *err_predefined_text(int code);
int err_is_predefined(int value);
/* For errors of requests, inside the runtime: the next err_raise calls the handler of this communicator, which the program may
 * have freed; it lives until that handler has returned. */
void err_on(MPI_Comm comm);
/* These call functions of the program: outside the runtime, and without any lock (rt/threads.h, T4).
 * Calls the error handler of comm, else of MPI_COMM_SELF; without the world model the job ends. */
int err_raise(MPI_Comm comm, const char *function, int code) __attribute__((cold));
/* Calls the error handler of the session, else as err_raise. */
int err_raise_session(MPI_Session session, const char *function, int code) __attribute__((cold));
/* Calls the error handler of the window, else as err_raise. */
int err_raise_win(MPI_Win win, const char *function, int code) __attribute__((cold));
/* Calls this error handler, of an object that the call would have made; when it is none, as err_raise. */
int err_raise_by(MPI_Errhandler handler, const char *function, int code) __attribute__((cold));
/* Calls the error handler of MPI_FILE_NULL, which functions without a file use; usually it returns. */
int err_raise_file(const char *function, int code) __attribute__((cold));
/* The class of a function that nobody has written, with its text. */
int err_unsupported(const char *function) __attribute__((cold));

/* Set by comm/comm.c, which err does not know: the object behind a handle, NULL when it is not valid. */
extern obj_t *(*err_comm_object)(MPI_Comm comm);
extern void (*err_comm_release)(obj_t *object);
/* The window whose requests have this communicator; MPI_WIN_NULL: none. */
extern MPI_Win (*err_comm_win)(MPI_Comm comm);

#endif
