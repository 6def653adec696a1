/* SPDX-License-Identifier: Apache-2.0
 * inter.h - communicators out of intercommunicators; the first ranks of both groups are the leaders.
 */
#ifndef VERBENA_MPI_INTER_H
#define VERBENA_MPI_INTER_H

#include "comm/comm.h"

comm_bridge_t inter_bridge(mpi_comm_t *comm);
/* An intercommunicator whose remote group is the one that the other side of the bridge names. Takes ranks over. */
int inter_create_over(const mpi_comm_t *parent, const comm_bridge_t *bridge, rt_group_t *ranks, MPI_Comm *newcomm);
/* Those of the local group that are in ranks, with those that the other side names. Takes ranks over. */
int inter_create(mpi_comm_t *parent, rt_group_t *ranks, MPI_Comm *newcomm);

#endif
