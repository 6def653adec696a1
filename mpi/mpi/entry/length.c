/* SPDX-License-Identifier: Apache-2.0
 * length.c - how long arrays are that a communicator measures; for shims, which convert such arrays.
 */
#include "entry/check.h"
#include "mpi_impl.h"

MPI_Count mpi_Length_comm(MPI_Comm comm)
{
    return entry_length_comm(comm);
}

MPI_Count mpi_Length_in(MPI_Comm comm)
{
    return entry_length_in(comm);
}

MPI_Count mpi_Length_out(MPI_Comm comm)
{
    return entry_length_out(comm);
}
