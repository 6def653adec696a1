! SPDX-License-Identifier: Apache-2.0
! What differs between families: marks, statuses, handles, keys, sections, callbacks. Compiled with each family's own modules.
module state
  implicit none
  integer :: seen = 0
contains
  subroutine largest(a, b, n, kind)
    use mpi_f08
    use, intrinsic :: iso_c_binding
    type(c_ptr), value :: a, b
    integer :: n
    type(MPI_Datatype) :: kind
    integer, pointer :: x(:), y(:)
    call c_f_pointer(a, x, [n])
    call c_f_pointer(b, y, [n])
    if (kind /= MPI_INTEGER) error stop 'operation: datatype'
    y = max(x, y)
  end subroutine

  subroutine on_error(comm, code)
    use mpi_f08
    type(MPI_Comm) :: comm
    integer :: code
    if (comm /= MPI_COMM_WORLD) error stop 'error handler: communicator'
    seen = code
  end subroutine
end module

program families
  use mpi_f08
  use state
  implicit none
  integer :: rank, size, count, kind, total, code
  integer :: whole(4, 4), few(4)
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  type(MPI_Op) :: op
  type(MPI_Errhandler) :: handler
  type(MPI_Info) :: info
  type(MPI_Datatype) :: column
  integer(MPI_ADDRESS_KIND) :: value
  logical :: found
  character(len=8) :: text

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call get_command_argument(1, text)
  read (text, *) count
  if (size /= count) error stop 'not our library'

  total = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (total /= size * (size + 1) / 2) error stop 'MPI_IN_PLACE'

  whole = rank
  call MPI_Irecv(few, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(whole(:, 2), 4, MPI_INTEGER, mod(rank + 1, size), 5, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  if (any(few /= mod(rank + size - 1, size))) error stop 'messages'
  if (requests(1) /= MPI_REQUEST_NULL) error stop 'MPI_REQUEST_NULL'

  whole(3, :) = [1, 2, 3, 4] * (rank + 1)
  few = whole(3, :)
  call MPI_Sendrecv(few, 3, MPI_INTEGER, rank, 9, whole(1, 1), 4, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, status)
  call MPI_Get_count(status, MPI_INTEGER, count)
  if (count /= 3 .or. status%MPI_SOURCE /= rank .or. status%MPI_TAG /= 9) error stop 'status'
  call MPI_Recv(few, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, status)
  if (status%MPI_SOURCE /= MPI_PROC_NULL .or. status%MPI_TAG /= MPI_ANY_TAG) error stop 'MPI_PROC_NULL'

  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, found)
  if (.not. found .or. value < 32767) error stop 'MPI_TAG_UB'

  call MPI_Op_create(largest, .true., op)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (total /= size - 1) error stop 'operation'
  call MPI_Op_free(op)
  if (op /= MPI_OP_NULL) error stop 'MPI_OP_NULL'

  call MPI_Comm_create_errhandler(on_error, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
  call MPI_Send(rank, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, code)
  if (code == MPI_SUCCESS .or. seen /= code) error stop 'error handler'
  call MPI_Error_class(code, kind)
  if (kind /= MPI_ERR_RANK) error stop 'MPI_ERR_RANK'

  call MPI_Type_vector(4, 1, 4, MPI_INTEGER, column)
  call MPI_Type_commit(column)
  few = [4, 3, 2, 1]
  call MPI_Sendrecv(few, 4, MPI_INTEGER, rank, 2, whole(2, 1), 1, column, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  if (any(whole(2, :) /= few)) error stop 'datatype'
  call MPI_Type_free(column)

  call MPI_Info_create(info)
  call MPI_Info_set(info, 'key', 'value')
  call MPI_Info_get(info, 'key', 8, text, found)
  if (.not. found .or. text /= 'value') error stop 'info'
  call MPI_Info_free(info)
  if (info /= MPI_INFO_NULL) error stop 'MPI_INFO_NULL'
  call MPI_Finalize()
end program
