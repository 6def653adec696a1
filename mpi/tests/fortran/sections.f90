! SPDX-License-Identifier: Apache-2.0
! sections.f90 - sections of arrays as buffers of mpi_f08, sent and received: ranks 1 to 7, strides of all kinds, dummies.
! ranks: 1 3
PROGRAM sections
    USE rule, ONLY: begin, check
    USE mpi_f08
    IMPLICIT NONE
    TYPE point
        SEQUENCE
        INTEGER :: x
        DOUBLE PRECISION :: y
        INTEGER :: z
    END TYPE
    CALL begin()
    CALL lines()
    CALL planes()
    CALL blocks()
    CALL seven()
    CALL dummies()
    CALL members()
    CALL MPI_Finalize()
CONTAINS
    ! Sends the section and compares with `dense`; then receives into it the same numbers with another sign. Blocking and not.
    SUBROUTINE both_ways(section, dense, what)
        TYPE(*), DIMENSION(..), ASYNCHRONOUS :: section
        INTEGER, INTENT(IN) :: dense(:)
        CHARACTER(LEN=*), INTENT(IN) :: what
        INTEGER, ASYNCHRONOUS :: got(SIZE(dense)), given(SIZE(dense))
        TYPE(MPI_Request) :: r(2)
        TYPE(MPI_Status) :: status
        INTEGER :: n
        n = SIZE(dense)
        got = -77
        CALL MPI_Irecv(got, n, MPI_INTEGER, 0, 1, MPI_COMM_SELF, r(1))
        CALL MPI_Isend(section, n, MPI_INTEGER, 0, 1, MPI_COMM_SELF, r(2))
        CALL MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
        CALL check(ALL(got == dense), 'what is sent of ' // what)
        given = -dense
        CALL MPI_Sendrecv(given, n, MPI_INTEGER, 0, 2, section, n, MPI_INTEGER, 0, 2, MPI_COMM_SELF, status)
        CALL MPI_Get_count(status, MPI_INTEGER, n)
        CALL check(n == SIZE(dense), 'the count of ' // what)
        CALL MPI_Irecv(got, n, MPI_INTEGER, 0, 3, MPI_COMM_SELF, r(1))
        CALL MPI_Send(section, INT(n, MPI_COUNT_KIND), MPI_INTEGER, 0, 3, MPI_COMM_SELF)
        CALL MPI_Wait(r(1), MPI_STATUS_IGNORE)
        CALL check(ALL(got == given), 'what is received into ' // what)
    END SUBROUTINE
    SUBROUTINE lines()
        INTEGER :: a(20), b(20), i
        a = [(i, i = 1, 20)]
        b = a
        CALL both_ways(a(2:20:3), b(2:20:3), 'a line')
        b(2:20:3) = -b(2:20:3)
        CALL check(ALL(a == b), 'beside a line')
        CALL both_ways(a(19:1:-4), b(19:1:-4), 'a line backwards')
        b(19:1:-4) = -b(19:1:-4)
        CALL check(ALL(a == b), 'beside a line backwards')
        CALL both_ways(a(1:20:2), b(1:9:2), 'the first half of a line')
        b(1:9:2) = -b(1:9:2)
        CALL check(ALL(a == b), 'beside half a line')
        CALL both_ways(a(3:2:2), b(3:2), 'nothing')
        CALL both_ways(a(7:7:5), b(7:7), 'one element')
        CALL both_ways(a(9), b(9:9), 'a scalar')
        b(7) = -b(7)
        b(9) = -b(9)
        CALL check(ALL(a == b), 'beside few elements')
    END SUBROUTINE
    SUBROUTINE planes()
        INTEGER :: a(5, 6), b(5, 6), i
        INTEGER, ALLOCATABLE, TARGET :: c(:, :)
        INTEGER, POINTER :: p(:, :)
        a = RESHAPE([(i, i = 1, 30)], [5, 6])
        b = a
        CALL both_ways(a(2, :), b(2, :), 'a row')
        b(2, :) = -b(2, :)
        CALL both_ways(a(:, 3), b(:, 3), 'a column')
        b(:, 3) = -b(:, 3)
        CALL check(ALL(a == b), 'beside a row and a column')
        CALL both_ways(a(5:1:-2, 6:2:-2), [b(5:1:-2, 6:2:-2)], 'a tile backwards')
        b(5:1:-2, 6:2:-2) = -b(5:1:-2, 6:2:-2)
        CALL check(ALL(a == b), 'beside a tile')
        CALL both_ways(a(1:3, :), [b(1:3, 1:4), b(1:2, 5)], 'a part that ends inside a column')
        b(1:3, 1:4) = -b(1:3, 1:4)
        b(1:2, 5) = -b(1:2, 5)
        CALL check(ALL(a == b), 'behind the last element')
        c = a
        p => c(1:5:2, 2:6:2)
        CALL both_ways(p, [b(1:5:2, 2:6:2)], 'what a pointer names')
        b(1:5:2, 2:6:2) = -b(1:5:2, 2:6:2)
        CALL check(ALL(c == b), 'beside what a pointer names')
    END SUBROUTINE
    SUBROUTINE blocks()
        INTEGER :: a(4, 3, 5), b(4, 3, 5), d(2, 2, 2, 2), e(2, 2, 2, 2), i
        a = RESHAPE([(i, i = 1, 60)], [4, 3, 5])
        b = a
        CALL both_ways(a(1:4:3, 2:3, 5:1:-2), [b(1:4:3, 2:3, 5:1:-2)], 'a block')
        b(1:4:3, 2:3, 5:1:-2) = -b(1:4:3, 2:3, 5:1:-2)
        CALL check(ALL(a == b), 'beside a block')
        CALL both_ways(a(:, 2, :), [b(:, 2, :)], 'a slice')
        b(:, 2, :) = -b(:, 2, :)
        CALL check(ALL(a == b), 'beside a slice')
        d = RESHAPE([(i, i = 1, 16)], [2, 2, 2, 2])
        e = d
        CALL both_ways(d(2:1:-1, :, 1, :), [e(2:1:-1, :, 1, :)], 'a slice of rank 4')
        e(2:1:-1, :, 1, :) = -e(2:1:-1, :, 1, :)
        CALL check(ALL(d == e), 'beside a slice of rank 4')
    END SUBROUTINE
    SUBROUTINE seven()
        INTEGER :: a(3, 2, 3, 2, 3, 2, 3), b(3, 2, 3, 2, 3, 2, 3), i
        a = RESHAPE([(i, i = 1, SIZE(a))], SHAPE(a))
        b = a
        CALL both_ways(a(1:3:2, :, 3:1:-1, 2:2, 1:3:2, :, 2:3), [b(1:3:2, :, 3:1:-1, 2:2, 1:3:2, :, 2:3)], 'rank 7')
        b(1:3:2, :, 3:1:-1, 2:2, 1:3:2, :, 2:3) = -b(1:3:2, :, 3:1:-1, 2:2, 1:3:2, :, 2:3)
        CALL check(ALL(a == b), 'beside a section of rank 7')
    END SUBROUTINE
    SUBROUTINE dummies()
        INTEGER :: a(6, 4), i
        a = RESHAPE([(i, i = 1, 24)], [6, 4])
        CALL assumed_size(a, 24)
        CALL assumed_shape(a(1:6:2, :))
        CALL check(a(1, 1) == 1 .AND. a(2, 1) == -2, 'what dummies name')
    END SUBROUTINE
    SUBROUTINE assumed_size(a, n)
        INTEGER :: a(*)
        INTEGER, INTENT(IN) :: n
        INTEGER :: i
        CALL both_ways(a(1:n), [(i, i = 1, n)], 'part of an assumed size')
        a(1:n) = -a(1:n)
        CALL both_ways(a(1:n:2), [(i, i = 1, n, 2)], 'a line of an assumed size')
        a(1:n) = [(i, i = 1, n)]
        CALL whole(a)
    END SUBROUTINE
    SUBROUTINE whole(a)
        INTEGER :: a(4, *)
        INTEGER :: i
        CALL both_ways(a, [(i, i = 1, 24)], 'an assumed size')
    END SUBROUTINE
    SUBROUTINE assumed_shape(a)
        INTEGER :: a(:, :)
        CALL both_ways(a(:, 1:4:3), [a(:, 1), a(:, 4)], 'part of an assumed shape')
    END SUBROUTINE
    SUBROUTINE members()
        TYPE(point) :: p(4)
        INTEGER :: i
        p = [(point(i, 2 * i, 3 * i), i = 1, 4)]
        CALL both_ways(p%z, [3, 6, 9, 12], 'members')
        CALL check(ALL(p%z == [-3, -6, -9, -12]) .AND. ALL(p%x == [1, 2, 3, 4]) .AND. ALL(p%y == [2, 4, 6, 8]), 'other members')
    END SUBROUTINE
END PROGRAM
