/* SPDX-License-Identifier: Apache-2.0
 * topology.h - what the functions of topologies share.
 */
#ifndef VERBENA_MPI_TOPOLOGY_H
#define VERBENA_MPI_TOPOLOGY_H

#include "comm/topo.h"

/* The topology of comm if it is of this kind, else MPI_ERR_TOPOLOGY. */
int topology_of(MPI_Comm comm, int kind, topo_t **topo_p);
/* A communicator of the first `size` ranks of parent with this topology, which the call takes over; NULL: there was no
 * memory for it. The other ranks get MPI_COMM_NULL. */
int topology_comm(mpi_comm_t *parent, int size, topo_t *topo, MPI_Comm *newcomm);

#endif
