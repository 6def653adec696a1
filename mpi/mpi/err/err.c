/* SPDX-License-Identifier: Apache-2.0
 * err.c - the last error of a thread, and the texts of the standard's classes.
 */
#include "err/err.h"

#include <stdarg.h>
#include <stdio.h>

#include "mpi_impl.h"

static _Thread_local struct {
    int class;
    char text[MPI_MAX_ERROR_STRING];
} last;

int err_set(int class, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(last.text, sizeof(last.text), format, arguments);
    va_end(arguments);
    last.class = class;
    return class;
}

int err_core(vbn_status_t status, const char *what, const char *text)
{
    int class = MPI_ERR_OTHER;
    switch (status) {
    case VBN_ERR_TRUNCATED: class = MPI_ERR_TRUNCATE; break;
    case VBN_ERR_NO_MEMORY: class = MPI_ERR_NO_MEM; break;
    case VBN_ERR_INVALID: class = MPI_ERR_INTERN; break;
    case VBN_ERR_PEER_LOST:
    case VBN_ERR_UNREACHABLE:
    case VBN_ERR_CLOSED: class = MPI_ERR_PROC_ABORTED; break;
    default: break;
    }
    return err_set(class, "%s: %s", what, text);
}

const char *err_detail(int class)
{
    return last.class == class ? last.text : "";
}

int err_unsupported(const char *function)
{
    return err_set(MPI_ERR_UNSUPPORTED_OPERATION,
                   "%s is not written yet in this version of Verbena; docs/mpi.md lists the functions", function);
}

const char *err_predefined_text(int code)
{
    for (const err_text_t *entry = err_texts; entry->text != NULL; entry++)
        if (entry->code == code)
            return entry->text;
    return NULL;
}

int err_is_predefined(int value)
{
    return err_predefined_text(value) != NULL;
}
