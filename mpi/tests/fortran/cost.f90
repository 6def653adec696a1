! SPDX-License-Identifier: Apache-2.0
! cost.f90 - what run.py counts of mpi_f08: the sends of cost.c by a program of Fortran.
SUBROUTINE cost_of_f08(rounds) BIND(C)
    USE mpi_f08
    USE, INTRINSIC :: ISO_C_BINDING, ONLY: C_INT
    IMPLICIT NONE
    INTEGER(C_INT), INTENT(IN) :: rounds
    INTEGER :: values(2), i
    values = 1
    DO i = 1, rounds
        CALL MPI_Send(values, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD)
    END DO
END SUBROUTINE
