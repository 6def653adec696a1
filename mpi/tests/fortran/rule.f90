! SPDX-License-Identifier: Apache-2.0
! rule.f90 - what the programs of this folder share: a check that ends the job.
MODULE rule
    USE mpi
    IMPLICIT NONE
    INTEGER :: rank, ranks, code
CONTAINS
    SUBROUTINE check(holds, what)
        LOGICAL, INTENT(IN) :: holds
        CHARACTER(LEN=*), INTENT(IN) :: what
        IF (holds) RETURN
        PRINT '(A,I0,2A)', 'rank ', rank, ': ', what
        CALL MPI_Abort(MPI_COMM_WORLD, 1, code)
    END SUBROUTINE
    SUBROUTINE begin()
        CALL MPI_Init(code)
        CALL MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
        CALL MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    END SUBROUTINE
END MODULE
