! SPDX-License-Identifier: Apache-2.0
! local.f90 - a library that local.c loads with RTLD_LOCAL: sums in place by mpif.h and by both modules. 0: all are right.
SUBROUTINE by_mpif(good)
    IMPLICIT NONE
    INCLUDE 'mpif.h'
    LOGICAL, INTENT(OUT) :: good
    INTEGER :: a, ranks, code
    a = 3
    CALL MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    CALL MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    CALL MPI_Sendrecv(0, 0, MPI_INTEGER, MPI_PROC_NULL, 0, 0, 0, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &
        MPI_STATUS_IGNORE, code)
    good = a == 3 * ranks
END SUBROUTINE

SUBROUTINE by_mpi(good)
    USE mpi
    IMPLICIT NONE
    LOGICAL, INTENT(OUT) :: good
    INTEGER :: a, ranks, code
    a = 5
    CALL MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    CALL MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    good = a == 5 * ranks
END SUBROUTINE

SUBROUTINE by_f08(good)
    USE mpi_f08
    IMPLICIT NONE
    LOGICAL, INTENT(OUT) :: good
    INTEGER :: a, ranks
    a = 7
    CALL MPI_Comm_size(MPI_COMM_WORLD, ranks)
    CALL MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    good = a == 7 * ranks
END SUBROUTINE

INTEGER(C_INT) FUNCTION local_sums() BIND(C)
    USE, INTRINSIC :: ISO_C_BINDING, ONLY: C_INT
    IMPLICIT NONE
    LOGICAL :: good(3)
    CALL by_mpif(good(1))
    CALL by_mpi(good(2))
    CALL by_f08(good(3))
    local_sums = MERGE(0, 1, good(1)) + MERGE(0, 2, good(2)) + MERGE(0, 4, good(3))
END FUNCTION
