! SPDX-License-Identifier: Apache-2.0
! attributes.f90 - attributes that one language sets and the other reads (MPI 19.3.7), with keys of either. C's part: attributes.c
! ranks: 1
MODULE part_of_c
    USE, INTRINSIC :: ISO_C_BINDING, ONLY: C_INT, C_INTPTR_T
    IMPLICIT NONE
    INTERFACE
        INTEGER(C_INT) FUNCTION c_key() BIND(C)
            IMPORT
        END FUNCTION
        INTEGER(C_INTPTR_T) FUNCTION c_reads(keyval) BIND(C)
            IMPORT
            INTEGER(C_INT), INTENT(IN) :: keyval
        END FUNCTION
        INTEGER(C_INT) FUNCTION c_reads_int(keyval) BIND(C)
            IMPORT
            INTEGER(C_INT), INTENT(IN) :: keyval
        END FUNCTION
        INTEGER(C_INTPTR_T) FUNCTION c_sets(keyval) BIND(C)
            IMPORT
            INTEGER(C_INT), INTENT(IN) :: keyval
        END FUNCTION
        INTEGER(C_INT) FUNCTION c_finds_its_own(keyval) BIND(C)
            IMPORT
            INTEGER(C_INT), INTENT(IN) :: keyval
        END FUNCTION
        SUBROUTINE c_copies(keyval, got) BIND(C)
            IMPORT
            INTEGER(C_INT), INTENT(IN) :: keyval
            INTEGER(C_INTPTR_T), INTENT(OUT) :: got
        END SUBROUTINE
    END INTERFACE
END MODULE

PROGRAM attributes
    USE rule, ONLY: begin, check
    USE mpi_f08
    USE part_of_c
    IMPLICIT NONE
    INTEGER :: keyval
    CALL begin()
    keyval = c_key()
    CALL both_ways(keyval, 'with a key of C')
    CALL MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
    CALL both_ways(keyval, 'with a key of Fortran')
    CALL many(keyval)
    CALL old()
    CALL MPI_Finalize()
CONTAINS
    SUBROUTINE both_ways(keyval, how)
        INTEGER, INTENT(IN) :: keyval
        CHARACTER(LEN=*), INTENT(IN) :: how
        INTEGER(MPI_ADDRESS_KIND) :: value, place
        INTEGER(MPI_ADDRESS_KIND), PARAMETER :: big = -3 * 2_MPI_ADDRESS_KIND**40
        TYPE(MPI_Comm) :: other
        LOGICAL :: flag
        CALL MPI_Comm_set_attr(MPI_COMM_SELF, keyval, big)
        CALL check(c_reads(keyval) == big, 'C reads what Fortran has set, ' // how)
        CALL MPI_Comm_get_attr(MPI_COMM_SELF, keyval, value, flag)
        CALL check(flag .AND. value == big, 'Fortran reads what Fortran has set, ' // how)
        CALL c_copies(keyval, value)
        CALL check(value == big, 'C reads a copy of what Fortran has set, ' // how)
        place = c_sets(keyval)
        CALL MPI_Comm_get_attr(MPI_COMM_SELF, keyval, value, flag)
        CALL check(flag .AND. value == place, 'Fortran gets the pointer that C has set, ' // how)
        CALL MPI_Comm_dup(MPI_COMM_SELF, other)
        CALL MPI_Comm_get_attr(other, keyval, value, flag)
        CALL check(flag .AND. value == place, 'Fortran gets a copy of that pointer, ' // how)
        CALL MPI_Comm_free(other)
        CALL c_copies(keyval, value)
        CALL check(c_finds_its_own(keyval) == 1 .AND. value == -1, 'C gets its pointer, ' // how)
        CALL MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
    END SUBROUTINE
    ! More than one chunk of places.
    SUBROUTINE many(keyval)
        INTEGER, INTENT(IN) :: keyval
        TYPE(MPI_Comm) :: comms(600)
        INTEGER(MPI_ADDRESS_KIND) :: value
        INTEGER :: i
        LOGICAL :: flag
        DO i = 1, 600
            CALL MPI_Comm_dup(MPI_COMM_SELF, comms(i))
            CALL MPI_Comm_set_attr(comms(i), keyval, INT(i, MPI_ADDRESS_KIND))
        END DO
        DO i = 1, 600
            CALL MPI_Comm_get_attr(comms(i), keyval, value, flag)
            CALL check(flag .AND. value == i, 'many values')
            CALL MPI_Comm_free(comms(i))
        END DO
    END SUBROUTINE
    SUBROUTINE old()
        USE mpi, ONLY: MPI_Keyval_create, MPI_Attr_put, MPI_Attr_get, MPI_DUP_FN, MPI_NULL_DELETE_FN, OLD_SELF => MPI_COMM_SELF
        INTEGER :: keyval, value, code, words(2)
        INTEGER(MPI_ADDRESS_KIND) :: wide
        LOGICAL :: flag
        CALL MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, keyval, 0, code)
        CALL MPI_Attr_put(OLD_SELF, keyval, -12, code)
        CALL check(c_reads_int(keyval) == -12, 'C reads an INTEGER')
        CALL MPI_Comm_get_attr(MPI_COMM_SELF, keyval, wide, flag)
        CALL check(flag .AND. wide == -12, 'an INTEGER as a wide one')
        wide = c_sets(keyval)
        CALL MPI_Attr_get(OLD_SELF, keyval, value, flag, code)
        words = TRANSFER(wide, words)
        CALL check(flag .AND. value == words(1), 'the low bits of a pointer')
    END SUBROUTINE
END PROGRAM
