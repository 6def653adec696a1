/* SPDX-License-Identifier: Apache-2.0
 * deleted.c - what MPI-1 asked of a datatype, one number a call; MPI 3.0 has deleted these functions.
 */
#include "dt/dt.h"
#include "mpi_impl.h"

int mpi_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    *displacement = (MPI_Aint)dt_find(datatype)->lb;
    return MPI_SUCCESS;
}

int mpi_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    const dt_type_t *type = dt_find(datatype);
    *displacement = (MPI_Aint)((uintptr_t)type->lb + (uintptr_t)type->extent);
    return MPI_SUCCESS;
}

int mpi_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    *extent = (MPI_Aint)dt_find(datatype)->extent;
    return MPI_SUCCESS;
}
