/* SPDX-License-Identifier: Apache-2.0
 * exchange.c - two groups tell each other something: from leader to leader, and by a broadcast on.
 */
#include "comm/inter.h"
#include "err/err.h"
#include "mpi_impl.h"

comm_bridge_t inter_bridge(mpi_comm_t *comm)
{
    return (comm_bridge_t){.local = &comm->grp, .between = &comm->between};
}

int comm_exchange(const comm_bridge_t *bridge, const void *mine, size_t length, void *theirs, size_t their_length)
{
    int rc = 0;
    if (grp_rank(bridge->local) == bridge->leader)
        rc = grp_sendrecv(bridge->between, bridge->remote_leader, mine, length, bridge->remote_leader, theirs,
                          their_length, 0);
    if (rc >= 0)
        rc = grp_bcast(bridge->local, theirs, their_length, bridge->leader);
    return rc < 0 ? err_core((vbn_status_t)rc, "exchange between two groups", grp_error()) : MPI_SUCCESS;
}
