/* SPDX-License-Identifier: Apache-2.0
 * user.c - error classes, codes and texts that the program adds. Their values lie above MPI_ERR_LASTCODE; the value of
 * one that is removed is not given again, so that no stale code gets another meaning. They are for the whole life of the process:
 * before MPI_Init, and after MPI_Finalize.
 * All functions: under obj_lock, which their entry points take.
 */
#include "err/user.h"

#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"

typedef struct code {
    int class; /* its own value: it is a class; 0: it was removed */
    int codes; /* of a class: how many codes it has */
    char *text;
} code_t;

static code_t *codes; /* the one with value FIRST + i */
static int count;
int err_last_used = MPI_ERR_LASTCODE;

#define FIRST (MPI_ERR_LASTCODE + 1)

static code_t *find(int value)
{
    const int at = value - FIRST;
    return at >= 0 && at < count && codes[at].class != 0 ? &codes[at] : NULL;
}

int err_user_class(int value)
{
    const code_t *code = find(value);
    return code == NULL ? MPI_ERR_UNKNOWN : code->class;
}

const char *err_user_text(int value)
{
    const code_t *code = find(value);
    return code == NULL ? NULL : code->text == NULL ? "" : code->text;
}

/* class 0: the new value is a class itself. */
static int add(int class, int *value_p)
{
    code_t *more = realloc(codes, (size_t)(count + 1) * sizeof(*more));
    if (more == NULL)
        return err_set(MPI_ERR_NO_MEM, "error code: no memory left");
    codes = more;
    *value_p = FIRST + count;
    codes[count++] = (code_t){.class = class == 0 ? *value_p : class};
    err_last_used = *value_p;
    return MPI_SUCCESS;
}

int mpi_Add_error_class(int *errorclass)
{
    return add(0, errorclass);
}

static int is_class(int value)
{
    const code_t *code = find(value);
    return code != NULL ? code->class == value : err_is_predefined(value);
}

int mpi_Add_error_code(int errorclass, int *errorcode)
{
    if (!is_class(errorclass))
        return err_set(MPI_ERR_ARG, "errorclass %d is no error class", errorclass);
    const int rc = add(errorclass, errorcode);
    code_t *class = find(errorclass);
    if (rc == MPI_SUCCESS && class != NULL)
        class->codes++;
    return rc;
}

int mpi_Add_error_string(int errorcode, const char *string)
{
    code_t *code = find(errorcode);
    if (code == NULL)
        return err_set(MPI_ERR_ARG, "errorcode %d was not added by the program", errorcode);
    if (string == NULL || strlen(string) >= MPI_MAX_ERROR_STRING)
        return err_set(MPI_ERR_ARG, "string is NULL or longer than %d bytes", MPI_MAX_ERROR_STRING - 1);
    char *copy = strdup(string);
    if (copy == NULL)
        return err_set(MPI_ERR_NO_MEM, "text of an error code: no memory left");
    free(code->text);
    code->text = copy;
    return MPI_SUCCESS;
}

/* A text goes first: MPI_Remove_error_string. */
static int drop(code_t *code, int value)
{
    if (code->text != NULL)
        return err_set(MPI_ERR_OTHER, "error code %d has a text; remove it before", value);
    code->class = 0;
    return MPI_SUCCESS;
}

int mpi_Remove_error_class(int errorclass)
{
    code_t *code = find(errorclass);
    if (code == NULL || code->class != errorclass)
        return err_set(MPI_ERR_ARG, "errorclass %d was not added by the program", errorclass);
    if (code->codes > 0)
        return err_set(MPI_ERR_OTHER, "errorclass %d has %d error codes; remove them before", errorclass, code->codes);
    return drop(code, errorclass);
}

int mpi_Remove_error_code(int errorcode)
{
    code_t *code = find(errorcode);
    if (code == NULL || code->class == errorcode)
        return err_set(MPI_ERR_ARG, "errorcode %d was not added by the program by MPI_Add_error_code", errorcode);
    code_t *class = find(code->class);
    const int rc = drop(code, errorcode);
    if (rc == MPI_SUCCESS && class != NULL)
        class->codes--;
    return rc;
}

int mpi_Remove_error_string(int errorcode)
{
    code_t *code = find(errorcode);
    if (code == NULL || code->text == NULL)
        return err_set(MPI_ERR_ARG, "errorcode %d has no text that the program has added", errorcode);
    free(code->text);
    code->text = NULL;
    return MPI_SUCCESS;
}
