! SPDX-License-Identifier: Apache-2.0
! buffers.f90 - sections as buffers of all kinds of calls: datatypes with gaps, persistent requests, packing, windows, collectives.
! ranks: 1 3
PROGRAM buffers
    USE rule, ONLY: begin, check, rank, ranks
    USE mpi_f08
    IMPLICIT NONE
    CALL begin()
    CALL characters()
    CALL pairs()
    CALL types()
    CALL persistent()
    CALL packing()
    CALL windows()
    CALL collectives()
    CALL nonblocking()
    CALL partitions()
    CALL mistakes()
    CALL MPI_Finalize()
CONTAINS
    SUBROUTINE characters()
        CHARACTER(LEN=3) :: a(5), b(5)
        CHARACTER(LEN=9) :: got
        TYPE(MPI_Request) :: r
        a = ['abc', 'def', 'ghi', 'jkl', 'mno']
        b = a
        CALL MPI_Irecv(got, 9, MPI_CHARACTER, 0, 1, MPI_COMM_SELF, r)
        CALL MPI_Send(a(5:1:-2), 9, MPI_CHARACTER, 0, 1, MPI_COMM_SELF)
        CALL MPI_Wait(r, MPI_STATUS_IGNORE)
        CALL check(got == 'mnoghiabc', 'every second text')
        CALL MPI_Irecv(a(:)(2:3), 10, MPI_CHARACTER, 0, 1, MPI_COMM_SELF, r)
        CALL MPI_Send('0123456789', 10, MPI_CHARACTER, 0, 1, MPI_COMM_SELF)
        CALL MPI_Wait(r, MPI_STATUS_IGNORE)
        CALL check(ALL(a == ['a01', 'd23', 'g45', 'j67', 'm89']), 'parts of texts')
        CALL MPI_Sendrecv(b(1:5:4)(1:2), 3, MPI_CHARACTER, 0, 1, got, 9, MPI_CHARACTER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
        CALL check(got(1:3) == 'abm', 'a part of an element')
    END SUBROUTINE
    SUBROUTINE pairs()
        COMPLEX :: c(4)
        REAL :: half(4)
        INTEGER :: i
        c = [(CMPLX(i, 10 * i), i = 1, 4)]
        CALL MPI_Sendrecv(c(1:3:2), 4, MPI_REAL, 0, 1, half, 4, MPI_REAL, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
        CALL check(ALL(half == [1, 10, 3, 30]), 'numbers as pairs')
    END SUBROUTINE
    ! The datatype means bytes of the dense copy: with gaps, larger than an element, back and forth.
    SUBROUTINE types()
        INTEGER, ASYNCHRONOUS :: a(30), got(9)
        INTEGER :: i
        TYPE(MPI_Datatype) :: pairs, gaps, mixed
        TYPE(MPI_Request) :: r
        a = [(i, i = 1, 30)]
        CALL MPI_Type_contiguous(2, MPI_INTEGER, pairs)
        CALL MPI_Type_vector(2, 1, 2, MPI_INTEGER, gaps)
        CALL MPI_Type_indexed(2, [1, 2], [3, 0], MPI_INTEGER, mixed)
        CALL MPI_Type_commit(pairs)
        CALL MPI_Type_commit(gaps)
        CALL MPI_Type_commit(mixed)
        got = 0
        CALL MPI_Sendrecv(a(1:30:3), 3, pairs, 0, 1, got, 9, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
        CALL check(ALL(got(1:7) == [1, 4, 7, 10, 13, 16, 0]), 'a type of two elements')
        CALL MPI_Isend(a(1:30:3), 2, gaps, 0, 1, MPI_COMM_SELF, r)
        CALL MPI_Recv(got, 9, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
        CALL MPI_Wait(r, MPI_STATUS_IGNORE)
        CALL check(ALL(got(1:4) == [1, 7, 10, 16]), 'a type with gaps')
        CALL MPI_Irecv(a(30:1:-3), 2, mixed, 0, 1, MPI_COMM_SELF, r)
        CALL MPI_Send([101, 102, 103, 104, 105, 106], 6, MPI_INTEGER, 0, 1, MPI_COMM_SELF)
        CALL MPI_Wait(r, MPI_STATUS_IGNORE)
        CALL check(ALL(a(30:3:-3) == [102, 103, 24, 101, 105, 106, 12, 104, 6, 3]), 'a type that goes back and forth')
        CALL MPI_Type_free(pairs)
        CALL MPI_Type_free(gaps)
        CALL MPI_Type_free(mixed)
    END SUBROUTINE
    SUBROUTINE persistent()
        INTEGER, ASYNCHRONOUS :: a(10), got(10)
        TYPE(MPI_Request) :: r(2), sum
        INTEGER :: round
        CALL MPI_Send_init(a(1:10:2), 5, MPI_INTEGER, 0, 1, MPI_COMM_SELF, r(1))
        CALL MPI_Recv_init(got(10:1:-2), 5, MPI_INTEGER, 0, 1, MPI_COMM_SELF, r(2))
        CALL MPI_Allreduce_init(a(1:10:3), got(1:7:2), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, sum)
        DO round = 1, 3
            a = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * round
            got = 0
            CALL MPI_Startall(2, r)
            CALL MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
            CALL check(ALL(got == [0, 9, 0, 7, 0, 5, 0, 3, 0, 1] * round), 'a persistent section')
            CALL MPI_Start(sum)
            CALL MPI_Wait(sum, MPI_STATUS_IGNORE)
            CALL check(ALL(got == [ranks, 9, 4 * ranks, 7, 7 * ranks, 5, 10 * ranks, 3, 0, 1] * round), 'a persistent sum')
        END DO
        got = 5
        CALL MPI_Request_free(r(1))
        CALL MPI_Request_free(r(2))
        CALL MPI_Request_free(sum)
        CALL check(ALL(got == 5), 'nothing goes back when a request is freed')
    END SUBROUTINE
    SUBROUTINE packing()
        INTEGER :: a(8), place, i, size
        CHARACTER :: room(200)
        a = [(i, i = 1, 8)]
        place = 0
        CALL MPI_Pack(a(1:8:2), 4, MPI_INTEGER, room(2:200:2), 100, place, MPI_COMM_WORLD)
        CALL MPI_Pack_size(4, MPI_INTEGER, MPI_COMM_WORLD, size)
        CALL check(place == 16 .AND. size >= place, 'a packed size')
        place = 0
        CALL MPI_Unpack(room(2:200:2), 100, place, a(8:1:-2), 4, MPI_INTEGER, MPI_COMM_WORLD)
        CALL check(ALL(a == [1, 7, 3, 5, 5, 3, 7, 1]), 'what was packed')
        place = 0
        CALL external(a, room)
    END SUBROUTINE
    SUBROUTINE external(a, room)
        INTEGER :: a(8)
        CHARACTER :: room(200)
        INTEGER(MPI_ADDRESS_KIND) :: place
        INTEGER :: got(2)
        place = 0
        CALL MPI_Pack_external('external32', a(2:8:6), 2, MPI_INTEGER, room, 200_MPI_ADDRESS_KIND, place)
        CALL check(place == 8 .AND. ICHAR(room(4)) == 7 .AND. ICHAR(room(1)) == 0, 'external32 of a section')
        place = 0
        CALL MPI_Unpack_external('external32  ', room, 8_MPI_ADDRESS_KIND, place, got, 2, MPI_INTEGER)
        CALL check(ALL(got == [7, 1]), 'external32 back')
    END SUBROUTINE
    SUBROUTINE windows()
        INTEGER, ASYNCHRONOUS :: room(12), a(12)
        INTEGER :: i, next
        TYPE(MPI_Win) :: win
        room = 0
        a = [(i, i = 1, 12)]
        next = MOD(rank + 1, ranks)
        CALL MPI_Win_create(room, 48_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
        CALL MPI_Win_fence(0, win)
        CALL MPI_Put(a(12:1:-3), 4, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win)
        CALL MPI_Win_fence(0, win)
        CALL check(ALL(room == [0, 12, 9, 6, 3, 0, 0, 0, 0, 0, 0, 0]), 'a put of a section')
        CALL MPI_Accumulate(a(1:4:2), 2, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 2, MPI_INTEGER, MPI_SUM, win)
        CALL MPI_Win_fence(0, win)
        a = 0
        CALL MPI_Get(a(1:12:4), 3, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
        CALL MPI_Win_fence(0, win)
        CALL check(ALL(a == [13, 0, 0, 0, 12, 0, 0, 0, 6, 0, 0, 0]), 'a get into a section')
        CALL MPI_Win_free(win)
    END SUBROUTINE
    SUBROUTINE collectives()
        INTEGER :: a(6), every(2, 2 * ranks, 2), i, wanted(2 * ranks)
        a = [(10 * rank + i, i = 1, 6)]
        wanted = [(10 * i + 1, 10 * i + 3, i = 0, ranks - 1)]
        every = 0
        CALL MPI_Gather(a(1:4:2), 2, MPI_INTEGER, every(2, :, 1), 2, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD)
        IF (rank == ranks - 1) CALL check(ALL(every(2, :, 1) == wanted) .AND. SUM(every) == SUM(wanted), 'a gather')
        CALL MPI_Allgather(a(1:4:2), 2, MPI_INTEGER, every(1, :, 2), 2, MPI_INTEGER, MPI_COMM_WORLD)
        CALL check(ALL(every(1, :, 2) == wanted) .AND. ALL(every(2, :, 2) == 0), 'an allgather')
        CALL MPI_Allgatherv(a(1:6:5), 2, MPI_INTEGER, every(2, :, 2), [(2, i = 1, ranks)], [(2 * i, i = ranks - 1, 0, -1)], &
            MPI_INTEGER, MPI_COMM_WORLD)
        CALL check(every(2, 2 * ranks, 2) == 6 .AND. ALL(every(1, :, 2) == wanted), 'an allgather of other places')
        CALL MPI_Scatter(every(1, :, 2), 2, MPI_INTEGER, a(6:1:-3), 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
        CALL check(a(6) == 10 * rank + 1 .AND. a(3) == 10 * rank + 3 .AND. a(5) == 10 * rank + 5, 'a scatter')
        a = rank
        CALL MPI_Bcast(a(2:6:2), 3, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD)
        CALL check(ALL(a(2:6:2) == ranks - 1) .AND. ALL(a(1:5:2) == rank), 'a broadcast')
        a = [(i, i = 1, 6)]
        CALL MPI_Allreduce(MPI_IN_PLACE, a(1:6:2), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
        CALL check(ALL(a == [ranks, 2, 3 * ranks, 4, 5 * ranks, 6]), 'a sum in place')
        CALL MPI_Scan(a(2:6:2), a(5:1:-2), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
        CALL check(ALL(a(5:1:-2) == [2, 4, 6] * (rank + 1)), 'a scan')
    END SUBROUTINE
    SUBROUTINE nonblocking()
        INTEGER, ASYNCHRONOUS :: a(9), every(3, ranks), sums(9)
        INTEGER :: i
        LOGICAL :: done
        TYPE(MPI_Request) :: r(4)
        a = [(10 * rank + i, i = 1, 9)]
        every = 0
        sums = 0
        CALL MPI_Iallreduce(a(1:9:2), sums(9:1:-2), 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(1))
        CALL MPI_Iallgather(a(9), 1, MPI_INTEGER, every(2, :), 1, MPI_INTEGER, MPI_COMM_WORLD, r(2))
        CALL MPI_Igather(a(2), 1, MPI_INTEGER, every(3, :), 1, MPI_INTEGER, 0, MPI_COMM_WORLD, r(3))
        CALL MPI_Ibcast(sums(2:8:6), 2, MPI_INTEGER, 0, MPI_COMM_WORLD, r(4))
        done = .FALSE.
        DO WHILE (.NOT. done)
            CALL MPI_Testall(4, r, done, MPI_STATUSES_IGNORE)
        END DO
        CALL check(sums(9) == SUM([(10 * i + 1, i = 0, ranks - 1)]) .AND. sums(1) == sums(9) + 8 * ranks, 'a sum, not waited for')
        CALL check(ALL(every(2, :) == [(10 * i + 9, i = 0, ranks - 1)]) .AND. ALL(every(1, :) == 0), 'an allgather, not waited for')
        IF (rank == 0) CALL check(ALL(every(3, :) == [(10 * i + 2, i = 0, ranks - 1)]), 'a gather, not waited for')
        CALL check(ALL(sums(2:8:6) == 0) .AND. ALL(r == MPI_REQUEST_NULL), 'a broadcast, not waited for')
    END SUBROUTINE
    ! Of a library that has them.
    SUBROUTINE partitions()
        INTEGER, ASYNCHRONOUS :: a(12), got(12)
        INTEGER :: i, code
        TYPE(MPI_Request) :: r(2)
        a = [(i, i = 1, 12)]
        got = 0
        CALL MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
        CALL MPI_Psend_init(a(1:12:3), 2, 2_MPI_COUNT_KIND, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, r(1), code)
        CALL MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
        IF (code == MPI_ERR_UNSUPPORTED_OPERATION) RETURN
        CALL MPI_Precv_init(got(1:12:2), 2, 2_MPI_COUNT_KIND, MPI_INTEGER, source=rank, tag=1, comm=MPI_COMM_WORLD, &
            info=MPI_INFO_NULL, request=r(2))
        CALL MPI_Startall(2, r)
        CALL MPI_Pready(1, r(1))
        CALL MPI_Pready(0, r(1))
        CALL MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
        CALL check(ALL(got == [1, 0, 4, 0, 7, 0, 10, 0, 0, 0, 0, 0]), 'partitions of a section')
        CALL MPI_Request_free(r(1))
        CALL MPI_Request_free(r(2))
    END SUBROUTINE
    ! A count that is larger than the section goes to the error handler.
    SUBROUTINE mistakes()
        INTEGER :: a(10), code, class
        TYPE(MPI_Request) :: r
        CALL MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
        CALL MPI_Isend(a(1:10:2), 6, MPI_INTEGER, 0, 1, MPI_COMM_SELF, r, code)
        CALL MPI_Error_class(code, class)
        CALL check(class == MPI_ERR_BUFFER, 'more than the section has')
        CALL MPI_Send(a(1:10:2), -1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, code)
        CALL MPI_Error_class(code, class)
        CALL check(class == MPI_ERR_COUNT, 'a negative count')
        CALL MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    END SUBROUTINE
END PROGRAM
