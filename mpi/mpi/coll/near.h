/* SPDX-License-Identifier: Apache-2.0
 * near.h - what the collectives over slots of node memory share (near.c).
 */
#ifndef VERBENA_MPI_NEAR_H
#define VERBENA_MPI_NEAR_H

#include "coll/coll.h"
#include "grp/levels.h"
#include "grp/node.h"

/* The ranks that may have slots: those of an intracommunicator on one node, or those of this node. */
typedef struct near {
    grp_t *all;
    grp_t *here; /* all, if that is one node */
} near_t;

/* MPI_SUCCESS or COLL_FAR. */
int near_find(near_t *near, MPI_Comm comm);
/* MPI_SUCCESS: there are slots, made now if this is the first collective; COLL_FAR: there are none; or an error. */
int near_ready(near_t *near);
/* Memory of pieces beside the slots, which are there; as near_ready. */
int near_ready_for_pieces(near_t *near);

static inline int near_is_one_node(const near_t *near)
{
    return near->here == near->all;
}

/* Whether the table takes slots of each node, and messages between the nodes; bytes: as at steps_NAME of steps.c. */
static inline int near_takes_levels(near_t *near, table_row_t row, size_t bytes)
{
    grp_t *all = near->all;
    return near_is_one_node(near) ||
           grp_choose(&all->call, GRP_LEVELS, table_is_few(row, grp_size(all), grp_nodes(all), bytes), bytes);
}

/* Whether the table takes one of several ways by their times: of two ranks of a node, with so many bytes. */
static inline int near_is_measured(near_t *near, table_row_t row, size_t bytes)
{
    grp_t *all = near->all;
    return !grp_choose(&all->call, GRP_KNOWN, table_is_few(row, grp_size(all), grp_nodes(all), bytes), bytes);
}

#endif
