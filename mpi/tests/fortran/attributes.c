/* SPDX-License-Identifier: Apache-2.0
 * attributes.c - C's part of attributes.f90.
 */
#include <mpi.h>
#include <stddef.h>

static int variable;

int c_key(void);
MPI_Aint c_reads(const int *keyval);
int c_reads_int(const int *keyval);
MPI_Aint c_sets(const int *keyval);
int c_finds_its_own(const int *keyval);
void c_copies(const int *keyval, MPI_Aint *got);

int c_key(void)
{
    int keyval = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    return keyval;
}

static void *found_in(MPI_Comm comm, int keyval)
{
    void *value = NULL;
    int flag = 0;
    MPI_Comm_get_attr(comm, keyval, &value, &flag);
    return flag ? value : NULL;
}

/* What the pointer names that C gets. */
MPI_Aint c_reads(const int *keyval)
{
    const MPI_Aint *value = found_in(MPI_COMM_SELF, *keyval);
    return value == NULL ? -999 : *value;
}

int c_reads_int(const int *keyval)
{
    const int *value = found_in(MPI_COMM_SELF, *keyval);
    return value == NULL ? -999 : *value;
}

MPI_Aint c_sets(const int *keyval)
{
    MPI_Comm_set_attr(MPI_COMM_SELF, *keyval, &variable);
    return (MPI_Aint)&variable;
}

int c_finds_its_own(const int *keyval)
{
    return found_in(MPI_COMM_SELF, *keyval) == &variable;
}

/* The same of a duplicate. */
void c_copies(const int *keyval, MPI_Aint *got)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    const void *value = found_in(comm, *keyval);
    *got = value == NULL ? -999 : value == &variable ? -1 : *(const MPI_Aint *)value;
    MPI_Comm_free(&comm);
}
