/* SPDX-License-Identifier: Apache-2.0
 * callbacks.c - operations, error handlers and general requests of Fortran. A function of C that gets no state finds the program's
 * by its own place: there are SLOTS of each kind, one for each different function of the program, and none is ever given back.
 */
#include "fortran.h"

#include <pthread.h>
#include <stdio.h>

#define SLOTS 64
#define EIGHT(m, kind, n)                                                                                              \
    m(kind, 0##n##0) m(kind, 0##n##1) m(kind, 0##n##2) m(kind, 0##n##3) m(kind, 0##n##4) m(kind, 0##n##5)              \
        m(kind, 0##n##6) m(kind, 0##n##7)
#define ALL(m, kind) /* m(kind, 000) to m(kind, 077): the numbers are octal */                                         \
    EIGHT(m, kind, 0)                                                                                                  \
    EIGHT(m, kind, 1)                                                                                                  \
    EIGHT(m, kind, 2) EIGHT(m, kind, 3) EIGHT(m, kind, 4) EIGHT(m, kind, 5) EIGHT(m, kind, 6) EIGHT(m, kind, 7)

typedef void function_t(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Which slot has the function; -1: all are taken by others. */
static int slot_of(function_t **slots, function_t *function, const char *what)
{
    int at = 0;
    pthread_mutex_lock(&mutex);
    while (at < SLOTS && slots[at] != NULL && slots[at] != function)
        at++;
    if (at < SLOTS)
        slots[at] = function;
    pthread_mutex_unlock(&mutex);
    if (at < SLOTS)
        return at;
    fprintf(stderr,
            FORTRAN_LIBRARY ": the program has made %s of more than %d different functions: use fewer functions\n",
            what, SLOTS);
    return -1;
}

/* Of counts that are ints, and of large ones. */
#define OP_FUNCTION(kind, n)                                                                                           \
    static void kind##_##n(void *in, void *inout, kind##_count_t *count, MPI_Datatype *type)                           \
    {                                                                                                                  \
        call_##kind(n, in, inout, count, type);                                                                        \
    }
#define NAMED(kind, n) kind##_##n,
#define OPERATIONS(kind, lower, upper, c_name, c_function, count_type)                                                 \
    typedef count_type kind##_count_t;                                                                                 \
    typedef void kind##_function_t(void *in, void *inout, kind##_count_t *count, int *type);                           \
    static function_t *kind##_slots[SLOTS];                                                                            \
    static void call_##kind(int slot, void *in, void *inout, kind##_count_t *count, const MPI_Datatype *type)          \
    {                                                                                                                  \
        int number = out_Type(*type);                                                                                  \
        ((kind##_function_t *)kind##_slots[slot])(in, inout, count, &number);                                          \
    }                                                                                                                  \
    ALL(OP_FUNCTION, kind)                                                                                             \
    static c_function *const kind##_functions[SLOTS] = {ALL(NAMED, kind)};                                             \
    FORTRAN(lower, upper, (function_t * function, const int *commute, int *op, int *ierror))                           \
    {                                                                                                                  \
        FORTRAN_CODE;                                                                                                  \
        MPI_Op made = MPI_OP_NULL;                                                                                     \
        const int slot = slot_of(kind##_slots, function, "operations");                                                \
        *ierror = slot < 0 ? MPI_ERR_OTHER : C(c_name)(kind##_functions[slot], *commute != 0, &made);                  \
        if (*ierror == MPI_SUCCESS)                                                                                    \
            *op = out_Op(made);                                                                                        \
    }
OPERATIONS(op, op_create, OP_CREATE, Op_create, MPI_User_function, int)
OPERATIONS(large, op_create_c, OP_CREATE_C, Op_create_c, MPI_User_function_c, MPI_Count)

typedef void handler_function_t(int *object, int *code);

#define HANDLER_FUNCTION(kind, n)                                                                                      \
    static void kind##_##n(MPI_##kind *object, int *code, ...)                                                         \
    {                                                                                                                  \
        call_##kind(n, object, code);                                                                                  \
    }
#define HANDLERS(kind, lower, upper)                                                                                   \
    static function_t *kind##_slots[SLOTS];                                                                            \
    static void call_##kind(int slot, const MPI_##kind *object, int *code)                                             \
    {                                                                                                                  \
        int number = out_##kind(*object);                                                                              \
        ((handler_function_t *)kind##_slots[slot])(&number, code);                                                     \
    }                                                                                                                  \
    ALL(HANDLER_FUNCTION, kind)                                                                                        \
    static MPI_##kind##_errhandler_function *const kind##_functions[SLOTS] = {ALL(NAMED, kind)};                       \
    FORTRAN(lower##_create_errhandler, upper##_CREATE_ERRHANDLER,                                                      \
            (function_t * function, int *errhandler, int *ierror))                                                     \
    {                                                                                                                  \
        FORTRAN_CODE;                                                                                                  \
        MPI_Errhandler made = MPI_ERRHANDLER_NULL;                                                                     \
        const int slot = slot_of(kind##_slots, function, "error handlers");                                            \
        *ierror = slot < 0 ? MPI_ERR_OTHER : C(kind##_create_errhandler)(kind##_functions[slot], &made);               \
        if (*ierror == MPI_SUCCESS)                                                                                    \
            *errhandler = out_Errhandler(made);                                                                        \
    }
HANDLERS(Comm, comm, COMM)
HANDLERS(File, file, FILE)
HANDLERS(Session, session, SESSION)
HANDLERS(Win, win, WIN)

/* General requests have a state, which ends with them. The program's own state is copied: its variable may be gone. */
typedef struct general {
    void (*query)(MPI_Aint *extra, int *status, int *ierror);
    void (*free)(MPI_Aint *extra, int *ierror);
    void (*cancel)(MPI_Aint *extra, int *complete, int *ierror);
    MPI_Aint extra;
} general_t;

static int general_query(void *state, MPI_Status *status)
{
    general_t *general = state;
    int rc = MPI_SUCCESS;
    general->query(&general->extra, (int *)status, &rc);
    return rc;
}

static int general_free(void *state)
{
    general_t *general = state;
    int rc = MPI_SUCCESS;
    general->free(&general->extra, &rc);
    free(general);
    return rc;
}

static int general_cancel(void *state, int complete)
{
    general_t *general = state;
    int rc = MPI_SUCCESS;
    general->cancel(&general->extra, &complete, &rc);
    return rc;
}

FORTRAN(grequest_start, GREQUEST_START,
        (function_t * query, function_t *done, function_t *cancel, const MPI_Aint *extra, int *request, int *ierror))
{
    FORTRAN_CODE;
    MPI_Request made = MPI_REQUEST_NULL;
    general_t *general = malloc(sizeof(*general));
    if (general == NULL) {
        *ierror = MPI_ERR_NO_MEM;
        return;
    }
    general->query = (void (*)(MPI_Aint *, int *, int *))query;
    general->free = (void (*)(MPI_Aint *, int *))done;
    general->cancel = (void (*)(MPI_Aint *, int *, int *))cancel;
    general->extra = *extra;
    *ierror = C(Grequest_start)(general_query, general_free, general_cancel, general, &made);
    if (*ierror == MPI_SUCCESS)
        *request = out_Request(made);
    else
        free(general);
}
