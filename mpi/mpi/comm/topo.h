/* SPDX-License-Identifier: Apache-2.0
 * topo.h - the topology of a communicator, which duplicates share. What makes and asks for them is in topo/.
 */
#ifndef VERBENA_MPI_TOPO_H
#define VERBENA_MPI_TOPO_H

#include "comm/comm.h"

typedef struct topo {
    int refs;
    int kind; /* MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH */
    /* This rank's neighbours in the order of the neighbourhood collectives; MPI_PROC_NULL: none there. */
    int in_count;
    int out_count;
    int *in;
    int *out;
    /* Cartesian */
    int ndims;
    int *dims;
    int *periods;
    int *coords; /* of this rank */
    /* graph: the edges of node i end at ends[i] */
    int nodes;
    int *ends;
    int *edges;
    /* distributed graph: NULL when it has no weights */
    int *in_weights;
    int *out_weights;
    int room[]; /* for all of them */
} topo_t;

/* Zeroed, with room for so many ints; NULL: no memory left. */
topo_t *topo_open(int kind, size_t ints);
void topo_release(topo_t *topo);

#endif
