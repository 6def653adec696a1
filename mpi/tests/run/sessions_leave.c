/* SPDX-License-Identifier: Apache-2.0
 * sessions_leave.c - a rank whose part of a broadcast is done ends its session and leaves, while another one is late: who waits
 * for the late one goes on waiting. The runtime is open by the session alone, behind MPI_Finalize.
 * ranks: 4 tcp nodes
 */
#include "session.h"

#include <unistd.h>

enum { LATE = 2, LATE_SECONDS = 4 };

int main(void)
{
    MPI_Session session = session_begin();
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    MPI_Comm comm = session_comm(session, "mpi://WORLD", "leave");
    session_use(comm);
    int value = rank == 0 ? 7 : 0;
    if (rank == LATE)
        sleep(LATE_SECONDS);
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    CHECK(value == 7);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}
