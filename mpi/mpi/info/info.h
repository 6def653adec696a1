/* SPDX-License-Identifier: Apache-2.0
 * info.h - info objects: keys and values in the order in which they were set.
 */
#ifndef VERBENA_MPI_INFO_H
#define VERBENA_MPI_INFO_H

#include <stddef.h>

#include "obj/obj.h"

typedef struct info_pair {
    char *key;
    char *value;
} info_pair_t;

typedef struct mpi_info {
    obj_t obj;
    int count;
    int room;
    info_pair_t *pairs;
} mpi_info_t;

/* Of infos that the program cannot name yet, or under obj_lock. NULL: no memory left. */
mpi_info_t *info_create(void);
void info_destroy(mpi_info_t *info);
/* Copies both; what the key had is replaced. -1: no memory left. */
int info_put(mpi_info_t *info, const char *key, const char *value);
/* The value of a key, NULL: there is none. The info keeps it. */
const char *info_value(const mpi_info_t *info, const char *key);
/* A copy of the info behind a handle (MPI_INFO_NULL: an empty one). The program may change the info at any time: the copy is
 * made under obj_lock, which the second one finds locked. */
int info_copy(MPI_Info handle, MPI_Info *copy);
int info_copy_locked(MPI_Info handle, MPI_Info *copy);
/* What mpi_minimum_memory_alignment asks for at least, in bytes: a power of two. 0: nothing, no number, or one that no address can
 * have. */
size_t info_alignment(MPI_Info handle);

#endif
