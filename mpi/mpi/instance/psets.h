/* SPDX-License-Identifier: Apache-2.0
 * psets.h - the sets of processes that every session knows by their names (URIs).
 */
#ifndef VERBENA_MPI_PSETS_H
#define VERBENA_MPI_PSETS_H

#include "rt/rt.h"

/* How many there are. */
int psets_count(void);
/* The name of one of them, from 0 on; the library keeps it. */
const char *psets_name(int number);
/* Its ranks, by its name in any case: MPI_SUCCESS with a group that the caller gets; MPI_ERR_ARG: there is none of this name. */
int psets_find(const char *name, rt_group_t **ranks_p);

#endif
