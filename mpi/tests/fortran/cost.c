/* SPDX-License-Identifier: Apache-2.0
 * cost.c - what run.py counts under callgrind: the same sends by C's name, by that of mpif.h, and by mpi_f08 (cost.f90).
 */
#include <mpi.h>
#include <stddef.h>

#define ROUNDS 1000

void mpi_send_(const void *buffer, const int *count, const int *type, const int *to, const int *tag, const int *comm,
               int *code);
void cost_of_f08(const int *rounds);

__attribute__((noinline)) void cost_of_c(void)
{
    const int value = 1;
    for (int i = 0; i < ROUNDS; i++)
        MPI_Send(&value, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
}

__attribute__((noinline)) void cost_of_fortran(void)
{
    const int value = 1;
    const int type = (int)(intptr_t)MPI_INTEGER;
    const int to = MPI_PROC_NULL;
    const int comm = (int)(intptr_t)MPI_COMM_WORLD;
    int code;
    for (int i = 0; i < ROUNDS; i++)
        mpi_send_(&value, &value, &type, &to, &value, &comm, &code);
}

int main(void)
{
    const int rounds = ROUNDS;
    MPI_Init(NULL, NULL);
    cost_of_c();
    cost_of_fortran();
    cost_of_f08(&rounds);
    MPI_Finalize();
    return 0;
}
