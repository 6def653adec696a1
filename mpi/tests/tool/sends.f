! SPDX-License-Identifier: Apache-2.0
! sends.f - each rank sends itself three messages.
      program sends
      implicit none
      include 'mpif.h'
      integer rank, got, i, code
      call mpi_init(code)
      call mpi_comm_rank(MPI_COMM_WORLD, rank, code)
      do i = 1, 3
        call mpi_send(rank, 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD,
     &                code)
        call mpi_recv(got, 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD,
     &                MPI_STATUS_IGNORE, code)
      end do
      call mpi_finalize(code)
      if (got .ne. rank) stop 1
      end
