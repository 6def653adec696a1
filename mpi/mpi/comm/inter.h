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

/* What a rank asks for by MPI_Comm_split. */
typedef struct split_entry {
    int color;
    int key;
    int rank;
} split_entry_t;

/* Those of a colour by key, equal keys by rank, out of one entry per rank of parent, which it sorts; NULL: no memory
 * left. */
rt_group_t *split_group(const rt_group_t *parent, split_entry_t *entries, int color);
/* entries: of the local group; taken over. */
int inter_split(mpi_comm_t *parent, split_entry_t *entries, int color, MPI_Comm *newcomm);

#endif
