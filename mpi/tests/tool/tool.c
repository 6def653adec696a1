/* SPDX-License-Identifier: Apache-2.0
 * tool.c - a profiling library: it counts the calls of MPI_Send. With FORTRAN_NAMES it also replaces the names of Fortran, as tools
 * do for libraries whose Fortran functions call PMPI_ names.
 */
#include <mpi.h>
#include <stdio.h>

static int sends;

static void say(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("tool: rank %d has sent %d\n", rank, sends);
    fflush(stdout);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Finalize(void)
{
    say();
    return PMPI_Finalize();
}

#ifdef FORTRAN_NAMES
void pmpi_send_(void *buffer, int *count, int *type, int *to, int *tag, int *comm, int *code);
void pmpi_finalize_(int *code);
void mpi_send_(void *buffer, int *count, int *type, int *to, int *tag, int *comm, int *code);
void mpi_finalize_(int *code);

void mpi_send_(void *buffer, int *count, int *type, int *to, int *tag, int *comm, int *code)
{
    sends++;
    pmpi_send_(buffer, count, type, to, tag, comm, code);
}

void mpi_finalize_(int *code)
{
    say();
    pmpi_finalize_(code);
}
#endif
