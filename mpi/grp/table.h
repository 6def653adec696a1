/* SPDX-License-Identifier: Apache-2.0
 * table.h - which algorithm a collective takes: for each choice between two of them a row. By the number of ranks and of nodes it
 * has the bytes from which on the second one is taken. All ranks have the same rows, so they choose alike (N5 in node.h). A choice
 * that follows from measured times is choose.h's.
 *
 * The setting mpi.collectives forces rows, as in "bcast=tree,gather.steps=root", where both algorithms are possible. "first" and
 * "second" in it force all rows, "explain" prints the table.
 */
#ifndef VERBENA_GRP_TABLE_H
#define VERBENA_GRP_TABLE_H

#include <stddef.h>

typedef enum table_row {
    TABLE_BARRIER,
    TABLE_BCAST,
    TABLE_REDUCE,
    TABLE_ALLREDUCE,
    TABLE_BCAST_LARGE,
    TABLE_ALLTOALL_LARGE,
    TABLE_REDUCE_SCATTER,
    TABLE_GATHER,
    TABLE_SCATTER,
    TABLE_ALLGATHER,
    TABLE_ALLTOALL,
    TABLE_SCAN,
    TABLE_BARRIER_LEVELS,
    TABLE_BCAST_LEVELS,
    TABLE_REDUCE_LEVELS,
    TABLE_ALLREDUCE_LEVELS,
    TABLE_REDUCE_SCATTER_LEVELS,
    TABLE_SCAN_LEVELS,
    TABLE_GATHER_STEPS,
    TABLE_SCATTER_STEPS,
    TABLE_ALLGATHER_STEPS,
    TABLE_ALLTOALL_STEPS,
    TABLE_ALLREDUCE_STEPS,
    TABLE_REDUCE_SCATTER_STEPS,
    TABLE_SCAN_STEPS,
    TABLE_ROWS
} table_row_t;

/* Fewer bytes take the first algorithm: [more than two ranks][several nodes]. */
extern size_t table_limits[TABLE_ROWS][2][2];

/* ranks and nodes: of the set; a row for the ranks of a node counts those (table.c). bytes: of what the row counts. */
static inline int table_is_few(table_row_t row, int ranks, int nodes, size_t bytes)
{
    return bytes < table_limits[row][ranks > 2][nodes > 1];
}

/* The table as it is, changed by a text like the setting's. 0, or -1 with the reason in `error`. */
int table_set(const char *text, char *error, size_t capacity);
/* A row for people; its length as of snprintf. */
int table_explain(table_row_t row, int ranks, int nodes, char *text, size_t capacity);
/* By the setting, at the start of a library; the first rank prints it if that is wanted. 0, or -1 with rt.error. */
int table_open(void);

#endif
