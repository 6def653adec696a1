! SPDX-License-Identifier: Apache-2.0
! moves.f90 - messages: statuses, arrays of requests, indices from 1, matched probes, datatypes, buffers.
! ranks: 1 2 3
PROGRAM moves
    USE rule
    IMPLICIT NONE
    CALL begin()
    CALL ring()
    CALL requests()
    CALL columns()
    CALL probes()
    CALL buffered()
    CALL MPI_Finalize(code)
CONTAINS
    SUBROUTINE ring()
        INTEGER :: status(MPI_STATUS_SIZE), got(4), n, left, right
        right = MOD(rank + 1, ranks)
        left = MOD(rank + ranks - 1, ranks)
        status = 77
        CALL MPI_Sendrecv([rank, 2, 3], 3, MPI_INTEGER, right, 5, got, 4, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, &
            status, code)
        CALL MPI_Get_count(status, MPI_INTEGER, n, code)
        CALL check(n == 3 .AND. got(1) == left .AND. got(3) == 3, 'what the ring passes')
        CALL check(status(MPI_SOURCE) == left .AND. status(MPI_TAG) == 5, 'the status of a receive')
    END SUBROUTINE
    SUBROUTINE requests()
        INTEGER, PARAMETER :: many = 70 ! more than fit the stack
        INTEGER :: r(2 * many), statuses(MPI_STATUS_SIZE, 2 * many), got(many), given(many), i, at, n, list(3)
        LOGICAL :: flag
        given = [(3 * i, i = 1, many)]
        DO i = 1, many
            CALL MPI_Irecv(got(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, r(i), code)
        END DO
        DO i = 1, many
            CALL MPI_Isend(given(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, r(many + i), code)
        END DO
        CALL MPI_Waitall(2 * many, r, statuses, code)
        CALL check(ALL(got == given) .AND. ALL(r == MPI_REQUEST_NULL), 'many requests')
        CALL check(ALL(statuses(MPI_TAG, 1:many) == [(i, i = 1, many)]), 'their statuses')
        CALL MPI_Waitany(3, r, at, MPI_STATUS_IGNORE, code)
        CALL check(at == MPI_UNDEFINED, 'no index')
        CALL MPI_Irecv(got(2), 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, r(2), code)
        CALL MPI_Send(8, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, code)
        CALL MPI_Waitany(3, r, at, statuses, code)
        CALL check(at == 2 .AND. got(2) == 8 .AND. r(2) == MPI_REQUEST_NULL, 'indices count from 1')
        CALL MPI_Irecv(got(3), 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, r(3), code)
        CALL MPI_Send(6, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, code)
        CALL MPI_Waitsome(3, r, n, list, MPI_STATUSES_IGNORE, code)
        CALL check(n == 1 .AND. list(1) == 3 .AND. got(3) == 6, 'indices of some')
        CALL MPI_Testall(3, r, flag, MPI_STATUSES_IGNORE, code)
        CALL check(flag, 'all are done')
    END SUBROUTINE
    SUBROUTINE columns()
        INTEGER :: a(4, 3), b(4), rows, ints(3), types(1), n(4)
        INTEGER(KIND=MPI_ADDRESS_KIND) :: lb, extent, places(1), first, second
        a = RESHAPE([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [4, 3])
        CALL MPI_Type_vector(3, 1, 4, MPI_INTEGER, rows, code)
        CALL MPI_Type_commit(rows, code)
        CALL MPI_Sendrecv(a(2, 1), 1, rows, rank, 1, b, 3, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
        CALL check(ALL(b(1:3) == [2, 6, 10]), 'a row of a matrix')
        CALL MPI_Type_get_extent(rows, lb, extent, code)
        CALL check(lb == 0 .AND. extent == 36, 'its extent')
        CALL MPI_Type_get_envelope(rows, n(1), n(2), n(3), n(4), code)
        CALL check(ALL(n == [3, 0, 1, MPI_COMBINER_VECTOR]), 'its envelope')
        CALL MPI_Type_get_contents(rows, 3, 1, 1, ints, places, types, code)
        CALL check(ALL(ints == [3, 1, 4]) .AND. types(1) == MPI_INTEGER, 'its contents')
        CALL MPI_Type_free(rows, code)
        CALL check(rows == MPI_DATATYPE_NULL, 'a freed type')
        CALL MPI_Get_address(b(1), first, code)
        CALL MPI_Get_address(b(3), second, code)
        CALL check(MPI_Aint_diff(second, first) == 8, 'addresses')
        CALL MPI_Type_create_struct(1, [2], [first], [MPI_INTEGER], rows, code)
        CALL MPI_Type_commit(rows, code)
        CALL MPI_Sendrecv([40, 41], 2, MPI_INTEGER, rank, 1, MPI_BOTTOM, 1, rows, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, &
            code)
        CALL check(ALL(b(1:2) == [40, 41]), 'a type of addresses')
        CALL MPI_Type_free(rows, code)
    END SUBROUTINE
    SUBROUTINE probes()
        INTEGER :: message, request, status(MPI_STATUS_SIZE), got
        LOGICAL :: flag
        CALL MPI_Isend(4, 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, request, code)
        CALL MPI_Mprobe(rank, 2, MPI_COMM_WORLD, message, status, code)
        CALL MPI_Mrecv(got, 1, MPI_INTEGER, message, status, code)
        CALL check(got == 4 .AND. message == MPI_MESSAGE_NULL, 'a matched message')
        CALL MPI_Wait(request, MPI_STATUS_IGNORE, code)
        CALL MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, flag, status, code)
        CALL check(.NOT. flag, 'no message')
    END SUBROUTINE
    SUBROUTINE buffered()
        INTEGER :: got, size
        INTEGER(KIND=MPI_ADDRESS_KIND) :: place, detached
        INTEGER, SAVE :: room(1000)
        CALL MPI_Buffer_attach(room, 4000, code)
        CALL MPI_Bsend(5, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, code)
        CALL MPI_Recv(got, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
        CALL MPI_Buffer_detach(detached, size, code)
        CALL MPI_Get_address(room, place, code)
        CALL check(got == 5 .AND. size == 4000 .AND. detached == place, 'an attached buffer')
    END SUBROUTINE
END PROGRAM
