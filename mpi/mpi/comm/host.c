/* SPDX-License-Identifier: Apache-2.0
 * host.c - which ranks of a communicator share a host, under a launcher that does not say it: each rank tells where it is.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/inter.h"
#include "err/err.h"
#include "rt/host.h"

static size_t offset_of(const grp_blocks_t *blocks, int rank)
{
    return (size_t)rank * blocks->unit;
}

static size_t length_of(const grp_blocks_t *blocks, int rank)
{
    (void)rank;
    return blocks->unit;
}

/* The lowest rank of the job that is where this one is. */
static int lowest(int so_far, const rt_group_t *ranks, const rt_host_t *hosts, const rt_host_t *own)
{
    for (int i = 0; i < ranks->size; i++)
        if (memcmp(&hosts[i], own, sizeof(*own)) == 0 && rt_group_world(ranks, i) < so_far)
            so_far = rt_group_world(ranks, i);
    return so_far;
}

static int gather(mpi_comm_t *comm, rt_host_t *hosts, rt_host_t *theirs)
{
    const size_t length = (size_t)comm->ranks->size * sizeof(*hosts);
    const grp_blocks_t blocks = {.base = hosts, .offset = offset_of, .length = length_of, .unit = sizeof(*hosts)};
    const int status = grp_allgather(&comm->grp, &blocks);
    if (status < 0)
        return err_core((vbn_status_t)status, "hosts of a communicator", grp_error());
    if (!comm_is_inter(comm))
        return MPI_SUCCESS;
    const comm_bridge_t bridge = inter_bridge(comm);
    return comm_exchange(&bridge, hosts, length, theirs, (size_t)comm->peers->size * sizeof(*theirs));
}

int comm_host(mpi_comm_t *comm, int *host_p)
{
    rt_host_t *hosts = calloc((size_t)comm->ranks->size, sizeof(*hosts));
    rt_host_t *theirs = calloc((size_t)comm->peers->size, sizeof(*theirs));
    int rc = hosts == NULL || theirs == NULL ? err_set(MPI_ERR_NO_MEM, "hosts of a communicator: no memory left")
                                             : MPI_SUCCESS;
    if (rc == MPI_SUCCESS) {
        rt_host_t own;
        rt_find_host(&own);
        hosts[comm->ranks->rank] = own;
        rc = gather(comm, hosts, theirs);
        *host_p = lowest(rt.rank, comm->ranks, hosts, &own);
        if (comm_is_inter(comm))
            *host_p = lowest(*host_p, comm->peers, theirs, &own);
    }
    free(hosts);
    free(theirs);
    return rc;
}
