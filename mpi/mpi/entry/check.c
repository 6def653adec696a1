/* SPDX-License-Identifier: Apache-2.0
 * check.c - texts of wrong arguments; int arrays as large ones.
 */
#include "entry/check.h"

#include <limits.h>
#include <stdlib.h>

int check_not_ready(void)
{
    return obj_sessions > 0
               ? MPI_SUCCESS
               : err_set(MPI_ERR_OTHER, "MPI is not initialised: the call comes %s, and no session is open",
                         obj_state == OBJ_BEFORE_INIT ? "before MPI_Init" : "after MPI_Finalize");
}

int check_bad_session(const char *name)
{
    return err_set(MPI_ERR_SESSION, "%s is not a session (MPI_SESSION_NULL, or finalized)", name);
}

int check_bad_comm(MPI_Comm comm, const char *name)
{
    if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF)
        return err_set(
            MPI_ERR_COMM,
            "%s is one of the world model, which is used from MPI_Init to MPI_Finalize; sessions make theirs of groups",
            name);
    return err_set(MPI_ERR_COMM, "%s is not a communicator (MPI_COMM_NULL, or freed)", name);
}

int check_bad_win(const char *name)
{
    return err_set(MPI_ERR_WIN, "%s is not a window (MPI_WIN_NULL, or freed)", name);
}

int check_bad_count(MPI_Count count, const char *name)
{
    return err_set(MPI_ERR_COUNT, "%s is %lld, which is negative", name, (long long)count);
}

int check_bad_datatype(MPI_Datatype type, const char *name)
{
    return err_set(MPI_ERR_TYPE, "%s (%p) is not a datatype (MPI_DATATYPE_NULL, or freed)", name, (void *)type);
}

int check_bad_rank(int class, int rank, int size, const char *name)
{
    return err_set(class, "%s is %d, but the ranks of the communicator are 0 to %d", name, rank, size - 1);
}

int check_bad_tag(int tag, const char *name)
{
    return err_set(MPI_ERR_TAG, "%s is %d; tags are 0 to %d", name, tag, INT_MAX);
}

int check_bad_op(const char *name)
{
    return err_set(MPI_ERR_OP, "%s is not an operation", name);
}

int check_null(const char *name)
{
    return err_set(MPI_ERR_ARG, "%s is NULL", name);
}

int check_is_inter(const char *name)
{
    return err_set(MPI_ERR_COMM, "%s is an intercommunicator; the function takes intracommunicators only", name);
}

int check_is_inter_so_far(const char *name)
{
    return err_set(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "%s is an intercommunicator, for which the function is not written yet; docs/mpi.md lists the functions", name);
}

int entry_widen(entry_wide_t *wide, const int *values, MPI_Count length)
{
    if (values == NULL || length == 0)
        return MPI_SUCCESS;
    wide->values = length <= ENTRY_NEAR ? wide->near : malloc((size_t)length * sizeof(*wide->values));
    if (wide->values == NULL)
        return err_set(MPI_ERR_NO_MEM, "%lld counts: no memory left", (long long)length);
    for (MPI_Count i = 0; i < length; i++)
        wide->values[i] = values[i];
    return MPI_SUCCESS;
}

void entry_narrow_end(entry_wide_t *wide)
{
    if (wide->values != wide->near)
        free(wide->values);
}

int entry_narrow(MPI_Count value)
{
    return value > INT_MAX || value < INT_MIN ? MPI_UNDEFINED : (int)value;
}
