C SPDX-License-Identifier: Apache-2.0
C hello.f - fixed source form and mpif.h: names of the two kinds, a string, a status that is ignored.
      PROGRAM HELLO
      INCLUDE 'mpif.h'
      INTEGER RANK, SIZE, CODE, LENGTH, SUM, I
      CHARACTER*(MPI_MAX_PROCESSOR_NAME) NAME
      CALL MPI_INIT(CODE)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, CODE)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, SIZE, CODE)
      CALL MPI_GET_PROCESSOR_NAME(NAME, LENGTH, CODE)
      IF (LENGTH .LT. 1 .OR. NAME(LENGTH+1:) .NE. ' ') STOP 2
      SUM = RANK
      CALL MPI_ALLREDUCE(MPI_IN_PLACE, SUM, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, CODE)
      IF (SUM .NE. SIZE * (SIZE - 1) / 2) STOP 3
      IF (RANK .EQ. 0) THEN
        DO I = 1, SIZE - 1
          CALL MPI_RECV(SUM, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7,
     &                  MPI_COMM_WORLD, MPI_STATUS_IGNORE, CODE)
        END DO
      ELSE
        CALL MPI_SEND(RANK, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, CODE)
      END IF
      CALL MPI_FINALIZE(CODE)
      END
