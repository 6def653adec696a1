! SPDX-License-Identifier: Apache-2.0
! calls.f90 - mpi_f08 beside the module mpi: handles, statuses, an absent ierror, large counts, functions of the program.
! ranks: 1 3
MODULE given
    USE mpi_f08
    USE, INTRINSIC :: ISO_C_BINDING
    IMPLICIT NONE
    INTEGER :: heard = 0, freed = 0
    INTEGER(MPI_COUNT_KIND) :: largest_length = 0
CONTAINS
    SUBROUTINE largest(in, inout, n, type)
        TYPE(C_PTR), VALUE :: in, inout
        INTEGER :: n
        TYPE(MPI_Datatype) :: type
        INTEGER, POINTER :: a(:), b(:)
        CALL C_F_POINTER(in, a, [n])
        CALL C_F_POINTER(inout, b, [n])
        IF (type == MPI_INTEGER) b = MAX(a, b)
    END SUBROUTINE
    SUBROUTINE largest_c(in, inout, n, type)
        TYPE(C_PTR), VALUE :: in, inout
        INTEGER(MPI_COUNT_KIND) :: n
        TYPE(MPI_Datatype) :: type
        INTEGER, POINTER :: a(:), b(:)
        CALL C_F_POINTER(in, a, [n])
        CALL C_F_POINTER(inout, b, [n])
        IF (type == MPI_INTEGER) b = MAX(a, b)
        largest_length = n
    END SUBROUTINE
    SUBROUTINE handle(comm, error_code)
        TYPE(MPI_Comm) :: comm
        INTEGER :: error_code
        IF (comm == MPI_COMM_SELF .AND. error_code /= MPI_SUCCESS) heard = heard + 1
    END SUBROUTINE
    SUBROUTINE handle_win(win, error_code)
        TYPE(MPI_Win) :: win
        INTEGER :: error_code
        IF (win /= MPI_WIN_NULL .AND. error_code /= MPI_SUCCESS) heard = heard + 10
    END SUBROUTINE
    SUBROUTINE copy(oldtype, type_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
        TYPE(MPI_Datatype) :: oldtype
        INTEGER :: type_keyval, ierror
        INTEGER(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
        LOGICAL :: flag
        attribute_val_out = attribute_val_in + extra_state
        flag = oldtype /= MPI_DATATYPE_NULL
        ierror = MPI_SUCCESS
    END SUBROUTINE
    SUBROUTINE remove(datatype, type_keyval, attribute_val, extra_state, ierror)
        TYPE(MPI_Datatype) :: datatype
        INTEGER :: type_keyval, ierror
        INTEGER(MPI_ADDRESS_KIND) :: attribute_val, extra_state
        freed = freed + INT(attribute_val)
        ierror = MPI_SUCCESS
    END SUBROUTINE
    SUBROUTINE query(extra_state, status, ierror)
        INTEGER(MPI_ADDRESS_KIND) :: extra_state
        TYPE(MPI_Status) :: status
        INTEGER :: ierror
        CALL MPI_Status_set_elements(status, MPI_INTEGER, INT(extra_state))
        CALL MPI_Status_set_cancelled(status, .FALSE.)
        status%MPI_TAG = 5
        ierror = MPI_SUCCESS
    END SUBROUTINE
    SUBROUTINE done(extra_state, ierror)
        INTEGER(MPI_ADDRESS_KIND) :: extra_state
        INTEGER :: ierror
        freed = freed + INT(extra_state)
        ierror = MPI_SUCCESS
    END SUBROUTINE
    SUBROUTINE cancel(extra_state, complete, ierror)
        INTEGER(MPI_ADDRESS_KIND) :: extra_state
        LOGICAL :: complete
        INTEGER :: ierror
        ierror = MPI_SUCCESS
    END SUBROUTINE
END MODULE

PROGRAM calls
    USE rule, ONLY: check, rank, ranks
    USE given
    IMPLICIT NONE
    INTEGER :: provided
    CALL MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
    CALL MPI_Comm_rank(MPI_COMM_WORLD, rank)
    CALL MPI_Comm_size(MPI_COMM_WORLD, ranks)
    CALL handles()
    CALL statuses()
    CALL both_modules()
    CALL operations()
    CALL handlers()
    CALL attributes()
    CALL general()
    CALL large()
    CALL memory()
    CALL others()
    CALL MPI_Finalize()
CONTAINS
    SUBROUTINE handles()
        TYPE(MPI_Comm) :: a, list(2)
        TYPE(MPI_Group) :: g, h
        LOGICAL :: flag
        CALL check(MPI_COMM_WORLD /= MPI_COMM_SELF .AND. MPI_INTEGER == MPI_INTEGER .AND. MPI_SUM /= MPI_MAX, 'constants')
        CALL MPI_Comm_dup(MPI_COMM_WORLD, a)
        CALL check(a /= MPI_COMM_WORLD .AND. a%MPI_VAL /= MPI_COMM_NULL%MPI_VAL, 'a duplicate')
        list = a
        CALL check(ALL(list == a) .AND. .NOT. ANY(list /= a), 'an array of handles')
        CALL MPI_Comm_test_inter(a, flag)
        CALL check(.NOT. flag, 'an intracommunicator')
        CALL MPI_Comm_free(a)
        CALL MPI_Comm_group(MPI_COMM_WORLD, g)
        CALL MPI_Group_range_incl(g, 1, RESHAPE([0, ranks - 1, 2], [3, 1]), h)
        CALL check(a == MPI_COMM_NULL .AND. g /= MPI_GROUP_EMPTY .AND. h /= g, 'a freed communicator')
        CALL MPI_Group_free(g)
        CALL MPI_Group_free(h)
    END SUBROUTINE
    SUBROUTINE statuses()
        TYPE(MPI_Status) :: s, t, both(2)
        INTEGER :: old(MPI_STATUS_SIZE), n, got(3), at
        TYPE(MPI_Request) :: r(2)
        LOGICAL :: flag
        CALL MPI_Sendrecv([1, 2, 3], 3, MPI_INTEGER, rank, 9, got, 3, MPI_INTEGER, rank, MPI_ANY_TAG, MPI_COMM_WORLD, s)
        CALL check(s%MPI_TAG == 9 .AND. s%MPI_SOURCE == rank .AND. ALL(got == [1, 2, 3]), 'a status')
        CALL MPI_Status_f082f(s, old)
        CALL check(old(MPI_TAG) == 9 .AND. old(MPI_SOURCE) == rank, 'a status of mpi')
        CALL MPI_Status_f2f08(old, t)
        CALL MPI_Get_count(t, MPI_INTEGER, n)
        CALL check(n == 3 .AND. t%MPI_TAG == 9, 'a status back')
        CALL MPI_Irecv(got(1), 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, r(1))
        CALL MPI_Irecv(got(2), 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, r(2))
        CALL MPI_Send(8, 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD)
        CALL MPI_Waitany(2, r, at, s)
        CALL check(at == 2 .AND. s%MPI_TAG == 2 .AND. got(2) == 8, 'which request is done')
        CALL MPI_Send(7, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD)
        CALL MPI_Waitall(2, r, both)
        CALL check(both(1)%MPI_TAG == 1 .AND. got(1) == 7, 'statuses of requests')
        CALL MPI_Iprobe(rank, 4, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE)
        CALL check(.NOT. flag, 'nothing to receive')
    END SUBROUTINE
    ! Handles and statuses go from one module to the other; each has its own MPI_BOTTOM and MPI_IN_PLACE.
    SUBROUTINE both_modules()
        USE mpi, ONLY: OLD_WORLD => MPI_COMM_WORLD, OLD_INTEGER => MPI_INTEGER, OLD_SUM => MPI_SUM, OLD_BOTTOM => MPI_BOTTOM, &
            OLD_PLACE => MPI_IN_PLACE, Old_Allreduce => MPI_Allreduce, Old_Dup => MPI_Comm_dup, Old_Get_address => MPI_Get_address
        TYPE(MPI_Comm) :: comm
        TYPE(MPI_Datatype) :: type
        INTEGER :: a, code, number
        INTEGER(MPI_ADDRESS_KIND) :: place
        INTEGER, SAVE :: there
        CALL check(MPI_COMM_WORLD%MPI_VAL == OLD_WORLD .AND. MPI_INTEGER%MPI_VAL == OLD_INTEGER, 'numbers of handles')
        CALL Old_Dup(OLD_WORLD, number, code)
        comm%MPI_VAL = number
        a = 1
        CALL MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INTEGER, MPI_SUM, comm)
        CALL Old_Allreduce(OLD_PLACE, a, 1, OLD_INTEGER, OLD_SUM, number, code)
        CALL check(a == ranks * ranks, 'sums of both modules')
        there = 3
        CALL MPI_Get_address(there, place)
        CALL MPI_Type_create_hindexed(1, [1], [place], MPI_INTEGER, type)
        CALL MPI_Type_commit(type)
        CALL MPI_Bcast(MPI_BOTTOM, 1, type, 0, comm)
        CALL MPI_Allreduce(MPI_IN_PLACE, there, 1, MPI_INTEGER, MPI_SUM, comm)
        CALL Old_Allreduce(OLD_PLACE, there, 1, OLD_INTEGER, OLD_SUM, number, code)
        CALL check(there == 3 * ranks * ranks, 'memory by its address')
        CALL MPI_Type_free(type)
        CALL MPI_Comm_free(comm)
    END SUBROUTINE
    SUBROUTINE operations()
        TYPE(MPI_Op) :: op
        INTEGER :: got(4)
        LOGICAL :: commutes
        CALL MPI_Op_create(largest, .TRUE., op)
        CALL MPI_Op_commutative(op, commutes)
        CALL MPI_Allreduce([rank, -rank], got(1:3:2), 2, MPI_INTEGER, op, MPI_COMM_WORLD)
        CALL check(commutes .AND. got(1) == ranks - 1 .AND. got(3) == 0, 'an operation')
        CALL MPI_Op_free(op)
        CALL MPI_Op_create_c(largest_c, .FALSE., op)
        got = 3
        CALL MPI_Reduce_local([1, 9, 4, 0], got, 4_MPI_COUNT_KIND, MPI_INTEGER, op)
        CALL check(largest_length == 4 .AND. ALL(got == [3, 9, 4, 3]), 'an operation with a large count')
        CALL MPI_Op_free(op)
        CALL check(op == MPI_OP_NULL, 'a freed operation')
    END SUBROUTINE
    ! Without ierror the handler is called all the same.
    SUBROUTINE handlers()
        TYPE(MPI_Errhandler) :: errhandler
        TYPE(MPI_Win) :: win
        INTEGER :: room(2), code
        CALL MPI_Comm_create_errhandler(handle, errhandler)
        CALL MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler)
        CALL MPI_Send(1, -1, MPI_INTEGER, 0, 0, MPI_COMM_SELF)
        CALL MPI_Cart_rank(MPI_COMM_SELF, [0], code)
        CALL check(heard == 2, 'errors without ierror')
        CALL MPI_Send(room, -1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, ierror=code)
        CALL check(heard == 3, 'an error with ierror')
        CALL MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
        CALL MPI_Errhandler_free(errhandler)
        CALL MPI_Win_create_errhandler(handle_win, errhandler)
        CALL MPI_Win_create(room, 8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, win)
        CALL MPI_Win_set_errhandler(win, errhandler)
        heard = 0
        CALL MPI_Win_call_errhandler(win, MPI_ERR_OTHER)
        CALL check(heard == 10, 'the handler of a window')
        CALL MPI_Win_free(win)
        CALL MPI_Errhandler_free(errhandler)
    END SUBROUTINE
    SUBROUTINE attributes()
        TYPE(MPI_Datatype) :: type, other
        INTEGER :: keyval
        INTEGER(MPI_ADDRESS_KIND) :: value
        LOGICAL :: flag
        CALL MPI_Type_create_keyval(copy, remove, keyval, 100_MPI_ADDRESS_KIND)
        CALL MPI_Type_contiguous(3, MPI_INTEGER, type)
        CALL MPI_Type_set_attr(type, keyval, 7_MPI_ADDRESS_KIND)
        CALL MPI_Type_dup(type, other)
        CALL MPI_Type_get_attr(other, keyval, value, flag)
        CALL check(flag .AND. value == 107, 'a copied attribute')
        CALL MPI_Type_free(type)
        CALL MPI_Type_free(other)
        CALL check(freed == 114, 'attributes end with their types')
        CALL MPI_Type_free_keyval(keyval)
        CALL MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
        CALL MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 5_MPI_ADDRESS_KIND)
        CALL MPI_Comm_get_attr(MPI_COMM_SELF, keyval, value, flag)
        CALL check(flag .AND. value == 5, 'an attribute')
        CALL MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
        CALL MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
        CALL check(flag .AND. value >= 32767, 'the largest tag')
    END SUBROUTINE
    SUBROUTINE general()
        TYPE(MPI_Request) :: request
        TYPE(MPI_Status) :: status
        INTEGER :: n
        freed = 0
        CALL MPI_Grequest_start(query, done, cancel, 17_MPI_ADDRESS_KIND, request)
        CALL MPI_Grequest_complete(request)
        CALL MPI_Wait(request, status)
        CALL MPI_Get_count(status, MPI_INTEGER, n)
        CALL check(n == 17 .AND. freed == 17 .AND. status%MPI_TAG == 5, 'a general request')
    END SUBROUTINE
    ! Counts that no INTEGER holds: only of types, for no memory has that many elements.
    SUBROUTINE large()
        INTEGER(MPI_COUNT_KIND) :: size, low, extent, counts(2)
        TYPE(MPI_Datatype) :: type, kinds(1)
        TYPE(MPI_Status) :: status
        INTEGER :: combiner, number(1)
        INTEGER(MPI_COUNT_KIND) :: n(4), wide(1)
        INTEGER(MPI_ADDRESS_KIND) :: places(1)
        CALL MPI_Type_contiguous(3000000000_MPI_COUNT_KIND, MPI_INTEGER, type)
        CALL MPI_Type_size(type, size)
        CALL MPI_Type_get_extent(type, low, extent)
        CALL check(size == 12000000000_MPI_COUNT_KIND .AND. extent == size .AND. low == 0, 'a large type')
        CALL MPI_Type_get_envelope(type, n(1), n(2), n(3), n(4), combiner)
        CALL check(ALL(n == [0, 0, 1, 1]) .AND. combiner == MPI_COMBINER_CONTIGUOUS, 'the envelope of a large type')
        CALL MPI_Type_get_contents(type, n(1), n(2), n(3), n(4), number, places, wide, kinds)
        CALL check(wide(1) == 3000000000_MPI_COUNT_KIND .AND. kinds(1) == MPI_INTEGER, 'the contents of a large type')
        CALL MPI_Sendrecv(0, 0, MPI_INTEGER, rank, 1, 0, 0, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, status)
        CALL MPI_Status_set_elements(status, MPI_INTEGER, 5000000000_MPI_COUNT_KIND)
        CALL MPI_Get_elements(status, MPI_INTEGER, size)
        CALL MPI_Get_count(status, MPI_INTEGER, extent)
        CALL check(size == 5000000000_MPI_COUNT_KIND .AND. extent == size, 'a large status')
        CALL MPI_Type_free(type)
        counts = [1_MPI_COUNT_KIND, 2_MPI_COUNT_KIND]
        CALL MPI_Type_indexed(2_MPI_COUNT_KIND, counts, [0_MPI_COUNT_KIND, 3000000000_MPI_COUNT_KIND], MPI_BYTE, type)
        CALL MPI_Type_get_extent(type, low, extent)
        CALL check(extent == 3000000002_MPI_COUNT_KIND, 'a large distance')
        CALL MPI_Type_free(type)
    END SUBROUTINE
    SUBROUTINE memory()
        TYPE(C_PTR) :: base, other
        INTEGER, POINTER :: a(:)
        TYPE(MPI_Win) :: win
        INTEGER :: unit
        INTEGER(MPI_ADDRESS_KIND) :: size
        CHARACTER, ASYNCHRONOUS :: room(10000)
        CALL MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, base)
        CALL C_F_POINTER(base, a, [10])
        a = rank
        CALL MPI_F_sync_reg(a)
        CALL MPI_Free_mem(a)
        CALL MPI_Win_allocate_shared(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, base, win)
        CALL MPI_Win_shared_query(win, 0, size, unit, other)
        CALL check(C_ASSOCIATED(base, other) .AND. size == 40 .AND. unit == 4, 'shared memory')
        CALL MPI_Win_free(win)
        CALL MPI_Buffer_attach(room, 10000)
        CALL MPI_Bsend([1, 2, 3], 3, MPI_INTEGER, rank, 1, MPI_COMM_WORLD)
        CALL MPI_Recv(unit, 0, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        BLOCK
            INTEGER :: got(3)
            CALL MPI_Recv(got, 3, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
            CALL check(ALL(got == [1, 2, 3]), 'a buffered message')
        END BLOCK
        CALL MPI_Buffer_detach(base, unit)
        CALL MPI_Get_address(room, size)
        CALL check(TRANSFER(base, size) == size .AND. unit == 10000, 'a detached buffer')
    END SUBROUTINE
    SUBROUTINE others()
        INTEGER :: n(3), dims(2)
        DOUBLE PRECISION :: x, began
        CHARACTER(LEN=MPI_MAX_OBJECT_NAME) :: name
        LOGICAL :: periods(2)
        TYPE(MPI_Comm) :: comm
        TYPE(MPI_Info) :: info
        LOGICAL :: flag
        CALL MPI_Sizeof(x, n(1))
        CALL MPI_Sizeof(dims(1:2:2), n(2))
        CALL check(n(1) == 8 .AND. n(2) == 4, 'sizes')
        began = MPI_Wtime()
        CALL check(PMPI_Wtime() >= began .AND. MPI_Aint_add(1_MPI_ADDRESS_KIND, 2_MPI_ADDRESS_KIND) == 3, 'functions')
        dims = 0
        CALL PMPI_Dims_create(ranks, 2, dims)
        CALL MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.TRUE., .FALSE.], .FALSE., comm)
        CALL MPI_Cart_get(comm, 2, dims, periods, n)
        CALL check(periods(1) .AND. .NOT. periods(2) .AND. PRODUCT(dims) == ranks, 'a torus')
        CALL MPI_Comm_set_name(comm, 'a torus')
        CALL MPI_Comm_get_name(comm, name, n(1))
        CALL check(name == 'a torus' .AND. n(1) == 7, 'a name')
        CALL MPI_Comm_free(comm)
        CALL MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [rank], MPI_UNWEIGHTED, 1, [rank], MPI_UNWEIGHTED, MPI_INFO_NULL, &
            .FALSE., comm)
        CALL MPI_Dist_graph_neighbors_count(comm, n(1), n(2), flag)
        CALL check(n(1) == 1 .AND. n(2) == 1 .AND. .NOT. flag, 'a graph without weights')
        CALL MPI_Comm_free(comm)
        CALL MPI_Info_create(info)
        CALL MPI_Info_set(info, 'key', 'value')
        n(1) = 5
        CALL MPI_Info_get_string(info, 'key', n(1), name, flag)
        CALL check(flag .AND. name == 'value' .AND. n(1) == 5, 'a value')
        CALL MPI_Info_free(info)
    END SUBROUTINE
END PROGRAM
