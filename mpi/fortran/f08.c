/* SPDX-License-Identifier: Apache-2.0
 * f08.c - functions of mpi_f08 with descriptors that the tables of C do not have.
 */
#include "section.h"

F08(F_sync_reg, (const descriptor_t *buffer))
{
    (void)buffer;
}

F08(Sizeof, (const descriptor_t *x, int *size, int *ierror))
{
    FORTRAN_CODE;
    *size = (int)x->element;
    *ierror = MPI_SUCCESS;
}
