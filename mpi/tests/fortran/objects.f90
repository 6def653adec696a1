! SPDX-License-Identifier: Apache-2.0
! objects.f90 - operations, error handlers, attributes, general requests of the program; topologies, groups, info, names, windows.
! ranks: 1 3
MODULE functions
    USE mpi
    IMPLICIT NONE
    INTEGER :: calls = 0, heard = 0, freed = 0
CONTAINS
    SUBROUTINE largest(in, inout, n, type)
        INTEGER :: n, type
        INTEGER :: in(n), inout(n)
        IF (type == MPI_INTEGER) inout = MAX(in, inout)
        calls = calls + 1
    END SUBROUTINE
    SUBROUTINE handle(comm, code)
        INTEGER :: comm, code
        IF (comm == MPI_COMM_SELF .AND. code /= MPI_SUCCESS) heard = heard + 1
    END SUBROUTINE
    SUBROUTINE copy(comm, keyval, extra, in, out, flag, ierror)
        INTEGER :: comm, keyval, ierror
        INTEGER(KIND=MPI_ADDRESS_KIND) :: extra, in, out
        LOGICAL :: flag
        out = in + extra
        flag = .TRUE.
        ierror = MPI_SUCCESS
    END SUBROUTINE
    SUBROUTINE remove(comm, keyval, value, extra, ierror)
        INTEGER :: comm, keyval, ierror
        INTEGER(KIND=MPI_ADDRESS_KIND) :: value, extra
        freed = freed + INT(value)
        ierror = MPI_SUCCESS
    END SUBROUTINE
    SUBROUTINE query(extra, status, ierror)
        INTEGER(KIND=MPI_ADDRESS_KIND) :: extra
        INTEGER :: status(MPI_STATUS_SIZE), ierror
        CALL MPI_Status_set_elements(status, MPI_INTEGER, INT(extra), ierror)
        CALL MPI_Status_set_cancelled(status, .FALSE., ierror)
        status(MPI_SOURCE) = MPI_UNDEFINED
        status(MPI_TAG) = MPI_UNDEFINED
    END SUBROUTINE
    SUBROUTINE done(extra, ierror)
        INTEGER(KIND=MPI_ADDRESS_KIND) :: extra
        INTEGER :: ierror
        freed = freed + INT(extra)
        ierror = MPI_SUCCESS
    END SUBROUTINE
    SUBROUTINE cancel(extra, complete, ierror)
        INTEGER(KIND=MPI_ADDRESS_KIND) :: extra
        LOGICAL :: complete
        INTEGER :: ierror
        ierror = MPI_SUCCESS
    END SUBROUTINE
END MODULE

PROGRAM objects
    USE rule
    USE functions
    IMPLICIT NONE
    CALL begin()
    CALL operation()
    CALL handler()
    CALL attributes()
    CALL general()
    CALL grid()
    CALL texts()
    CALL window()
    CALL sizes()
    CALL MPI_Finalize(code)
CONTAINS
    SUBROUTINE operation()
        INTEGER :: op, out(2), root
        LOGICAL :: commutes
        CALL MPI_Op_create(largest, .TRUE., op, code)
        CALL MPI_Op_commutative(op, commutes, code)
        root = ranks - 1
        out = -1
        CALL MPI_Reduce([rank, -rank], out, 2, MPI_INTEGER, op, root, MPI_COMM_WORLD, code)
        IF (rank == root) CALL check(ALL(out == [root, 0]), 'what an operation gives at its root')
        calls = 0
        out = 3
        CALL MPI_Reduce_local([1, 9], out, 2, MPI_INTEGER, op, code)
        CALL check(calls == 1 .AND. ALL(out == [3, 9]), 'an operation is called')
        CALL MPI_Op_free(op, code)
        CALL check(op == MPI_OP_NULL .AND. commutes, 'a freed operation')
    END SUBROUTINE
    SUBROUTINE handler()
        INTEGER :: errhandler, class
        CHARACTER(LEN=MPI_MAX_ERROR_STRING) :: text
        CHARACTER(LEN=10) :: short
        INTEGER :: length
        CALL MPI_Comm_create_errhandler(handle, errhandler, code)
        CALL MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler, code)
        CALL MPI_Send(1, -1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, code)
        CALL MPI_Error_class(code, class, code)
        CALL check(heard == 1 .AND. class == MPI_ERR_COUNT, 'an error handler')
        CALL MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, code)
        CALL MPI_Errhandler_free(errhandler, code)
        CALL MPI_Error_string(MPI_ERR_COUNT, text, length, code)
        CALL check(length > 10 .AND. text(length + 1:) == ' ' .AND. text(length:length) /= ' ', 'a text is filled with blanks')
        CALL MPI_Error_string(MPI_ERR_COUNT, short, length, code)
        CALL check(short == text(1:10) .AND. length == 10, 'a text is cut')
    END SUBROUTINE
    SUBROUTINE attributes()
        INTEGER :: keyval, comm
        INTEGER(KIND=MPI_ADDRESS_KIND) :: value
        LOGICAL :: flag
        CALL MPI_Comm_create_keyval(copy, remove, keyval, 1000_MPI_ADDRESS_KIND, code)
        CALL MPI_Comm_dup(MPI_COMM_SELF, comm, code)
        CALL MPI_Comm_set_attr(comm, keyval, -5_MPI_ADDRESS_KIND, code)
        CALL MPI_Comm_get_attr(comm, keyval, value, flag, code)
        CALL check(flag .AND. value == -5, 'an attribute')
        CALL twin(comm, keyval)
        CALL MPI_Comm_free(comm, code)
        CALL check(freed == 990 .AND. comm == MPI_COMM_NULL, 'attributes end with their objects')
        CALL MPI_Comm_free_keyval(keyval, code)
        CALL MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, code)
        CALL check(flag .AND. value >= 32767, 'the largest tag')
        CALL MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, code)
        CALL MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 12_MPI_ADDRESS_KIND, code)
        CALL MPI_Comm_dup(MPI_COMM_SELF, comm, code)
        CALL MPI_Comm_get_attr(comm, keyval, value, flag, code)
        CALL check(flag .AND. value == 12, 'the standard''s copy')
        CALL MPI_Comm_free(comm, code)
        CALL MPI_Comm_delete_attr(MPI_COMM_SELF, keyval, code)
    END SUBROUTINE
    SUBROUTINE twin(comm, keyval)
        INTEGER, INTENT(IN) :: comm, keyval
        INTEGER :: other
        INTEGER(KIND=MPI_ADDRESS_KIND) :: value
        LOGICAL :: flag
        CALL MPI_Comm_dup(comm, other, code)
        CALL MPI_Comm_get_attr(other, keyval, value, flag, code)
        CALL check(flag .AND. value == 995, 'a copied attribute')
        CALL MPI_Comm_free(other, code)
    END SUBROUTINE
    SUBROUTINE general()
        INTEGER :: request, status(MPI_STATUS_SIZE), n
        freed = 0
        CALL MPI_Grequest_start(query, done, cancel, 17_MPI_ADDRESS_KIND, request, code)
        CALL MPI_Grequest_complete(request, code)
        CALL MPI_Wait(request, status, code)
        CALL MPI_Get_count(status, MPI_INTEGER, n, code)
        CALL check(n == 17 .AND. freed == 17 .AND. request == MPI_REQUEST_NULL, 'a general request')
    END SUBROUTINE
    SUBROUTINE grid()
        INTEGER :: comm, dims(2), coords(2), left, right, world, group, list(1)
        LOGICAL :: periods(2)
        CALL MPI_Cart_create(MPI_COMM_WORLD, 2, [ranks, 1], [.TRUE., .FALSE.], .FALSE., comm, code)
        CALL MPI_Cart_get(comm, 2, dims, periods, coords, code)
        CALL check(ALL(dims == [ranks, 1]) .AND. periods(1) .AND. .NOT. periods(2) .AND. coords(1) == rank, 'a torus')
        CALL MPI_Cart_shift(comm, 0, 1, left, right, code)
        CALL check(right == MOD(rank + 1, ranks), 'a neighbour')
        CALL MPI_Cart_shift(comm, 1, 1, left, right, code)
        CALL check(left == MPI_PROC_NULL .AND. right == MPI_PROC_NULL, 'no neighbour')
        CALL MPI_Comm_group(MPI_COMM_WORLD, world, code)
        CALL MPI_Group_incl(world, 1, [ranks - 1], group, code)
        CALL MPI_Group_translate_ranks(group, 1, [0], world, list, code)
        CALL check(list(1) == ranks - 1, 'ranks of groups')
        CALL MPI_Group_free(group, code)
        CALL MPI_Group_free(world, code)
        CALL MPI_Comm_free(comm, code)
    END SUBROUTINE
    SUBROUTINE texts()
        INTEGER :: info, n, length
        LOGICAL :: flag
        CHARACTER(LEN=12) :: value
        CHARACTER(LEN=MPI_MAX_OBJECT_NAME) :: name
        CALL MPI_Info_create(info, code)
        CALL MPI_Info_set(info, '  key ', ' a value  ', code)
        CALL MPI_Info_get(info, 'key', 12, value, flag, code)
        CALL check(flag .AND. value == 'a value', 'a value is without its outer blanks')
        CALL MPI_Info_get(info, 'key', 3, value, flag, code)
        CALL check(flag .AND. value == 'a v', 'a value is cut')
        length = 12
        CALL MPI_Info_get_string(info, 'key', length, value, flag, code)
        CALL check(flag .AND. length == 7 .AND. value == 'a value', 'a length counts no end')
        CALL MPI_Info_get_nkeys(info, n, code)
        CALL MPI_Info_free(info, code)
        CALL check(n == 1 .AND. info == MPI_INFO_NULL, 'a freed info')
        CALL MPI_Comm_set_name(MPI_COMM_WORLD, ' all of us ', code)
        CALL MPI_Comm_get_name(MPI_COMM_WORLD, name, length, code)
        CALL check(length == 10 .AND. name == ' all of us', 'leading blanks of a name stay')
    END SUBROUTINE
    SUBROUTINE window()
        INTEGER :: win, got
        INTEGER(KIND=MPI_ADDRESS_KIND) :: size, place
        INTEGER, SAVE :: room(2)
        LOGICAL :: flag
        room = rank
        size = 8
        CALL MPI_Win_create(room, size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, code)
        CALL MPI_Win_get_attr(win, MPI_WIN_SIZE, size, flag, code)
        CALL MPI_Win_get_attr(win, MPI_WIN_BASE, place, flag, code)
        CALL MPI_Get_address(room, size, code)
        CALL check(flag .AND. place == size, 'the base of a window')
        CALL MPI_Win_fence(0, win, code)
        CALL MPI_Get(got, 1, MPI_INTEGER, ranks - 1, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, code)
        CALL MPI_Win_fence(0, win, code)
        CALL check(got == ranks - 1, 'what a get brings')
        CALL MPI_Win_free(win, code)
    END SUBROUTINE
    SUBROUTINE sizes()
        INTEGER :: n(4)
        DOUBLE PRECISION :: x, began
        CHARACTER :: c
        CALL MPI_Sizeof(x, n(1), code)
        CALL MPI_Sizeof(n, n(2), code)
        CALL MPI_Sizeof((1.0, 2.0), n(3), code)
        CALL MPI_Sizeof(c, n(4), code)
        CALL check(ALL(n == [8, 4, 8, 1]), 'sizes')
        began = MPI_Wtime()
        CALL check(MPI_Wtime() >= began .AND. MPI_Wtick() > 0, 'the clock')
    END SUBROUTINE
END PROGRAM
