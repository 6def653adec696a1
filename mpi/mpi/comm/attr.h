/* SPDX-License-Identifier: Apache-2.0
 * attr.h - attributes of communicators.
 */
#ifndef VERBENA_MPI_COMM_ATTR_H
#define VERBENA_MPI_COMM_ATTR_H

#include "comm/comm.h"

/* Copies what the keys' copy functions let through; the first that fails ends it with its code. */
int attr_copy(const mpi_comm_t *from, mpi_comm_t *to);
/* Deletes all, the last one set first. A delete function that fails ends it with its code. */
int attr_delete_all(mpi_comm_t *comm);

#endif
