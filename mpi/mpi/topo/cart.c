/* SPDX-License-Identifier: Apache-2.0
 * cart.c - Cartesian topologies: the last dimension runs fastest. Ranks are not reordered.
 */
#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "topo/topology.h"

/* The number of points of a grid that must have room in `most` ranks. */
static int grid_size(int ndims, const int *dims, int most, int *size_p)
{
    long size = 1;
    if (ndims > 0 && dims == NULL)
        return err_set(MPI_ERR_ARG, "dims is NULL");
    for (int i = 0; i < ndims; i++) {
        if (dims[i] <= 0)
            return err_set(MPI_ERR_DIMS, "dims[%d] is %d; it must be positive", i, dims[i]);
        size *= dims[i];
        if (size > most)
            return err_set(MPI_ERR_DIMS, "the grid has more points than comm has ranks, which are %d", most);
    }
    *size_p = (int)size;
    return MPI_SUCCESS;
}

static void coords_of(const topo_t *topo, int rank, int *coords)
{
    for (int i = topo->ndims - 1; i >= 0; i--) {
        coords[i] = rank % topo->dims[i];
        rank /= topo->dims[i];
    }
}

/* The rank that is `steps` away from these coordinates in one dimension; MPI_PROC_NULL: beyond the border. */
static int rank_at(const topo_t *topo, const int *coords, int dimension, long steps)
{
    int rank = 0;
    for (int i = 0; i < topo->ndims; i++) {
        long at = coords[i] + (i == dimension ? steps : 0);
        if (topo->periods[i])
            at = (at % topo->dims[i] + topo->dims[i]) % topo->dims[i];
        if (at < 0 || at >= topo->dims[i])
            return MPI_PROC_NULL;
        rank = rank * topo->dims[i] + (int)at;
    }
    return rank;
}

/* In each dimension first the neighbour below, then the one above. */
static void set_neighbors(topo_t *topo)
{
    topo->in_count = topo->out_count = 2 * topo->ndims;
    topo->out = topo->in;
    for (int i = 0; i < topo->ndims; i++) {
        topo->in[2 * i] = rank_at(topo, topo->coords, i, -1);
        topo->in[2 * i + 1] = rank_at(topo, topo->coords, i, 1);
    }
}

/* NULL: no memory left. */
static topo_t *make(int ndims, const int *dims, const int *periods, int rank)
{
    topo_t *topo = topo_open(MPI_CART, 5 * (size_t)ndims);
    if (topo == NULL)
        return NULL;
    topo->ndims = ndims;
    topo->dims = topo->room;
    topo->periods = topo->dims + ndims;
    topo->coords = topo->periods + ndims;
    topo->in = topo->coords + ndims;
    for (int i = 0; i < ndims; i++) {
        topo->dims[i] = dims[i];
        topo->periods[i] = periods[i] != 0;
    }
    coords_of(topo, rank, topo->coords);
    set_neighbors(topo);
    return topo;
}

int mpi_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
                    MPI_Comm *comm_cart)
{
    mpi_comm_t *parent = comm_of(comm_old);
    int size;
    const int rc = grid_size(ndims, dims, parent->ranks->size, &size);
    (void)reorder;
    if (rc != MPI_SUCCESS)
        return rc;
    if (ndims > 0 && periods == NULL)
        return err_set(MPI_ERR_ARG, "periods is NULL");
    return topology_comm(parent, size, make(ndims, dims, periods, parent->ranks->rank), comm_cart);
}

int mpi_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[], int *newrank)
{
    const rt_group_t *ranks = comm_of(comm)->ranks;
    int size;
    const int rc = grid_size(ndims, dims, ranks->size, &size);
    (void)periods;
    if (rc == MPI_SUCCESS)
        *newrank = ranks->rank < size ? ranks->rank : MPI_UNDEFINED;
    return rc;
}

int mpi_Cartdim_get(MPI_Comm comm, int *ndims)
{
    topo_t *topo;
    const int rc = topology_of(comm, MPI_CART, &topo);
    if (rc == MPI_SUCCESS)
        *ndims = topo->ndims;
    return rc;
}

static int check_room(const topo_t *topo, int maxdims)
{
    return maxdims >= topo->ndims
               ? MPI_SUCCESS
               : err_set(MPI_ERR_ARG, "maxdims is %d, but the topology has %d dimensions", maxdims, topo->ndims);
}

int mpi_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
    topo_t *topo;
    int rc = topology_of(comm, MPI_CART, &topo);
    if (rc == MPI_SUCCESS)
        rc = check_room(topo, maxdims);
    for (int i = 0; rc == MPI_SUCCESS && i < topo->ndims; i++) {
        dims[i] = topo->dims[i];
        periods[i] = topo->periods[i];
        coords[i] = topo->coords[i];
    }
    return rc;
}

int mpi_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
    topo_t *topo;
    int rc = topology_of(comm, MPI_CART, &topo);
    if (rc == MPI_SUCCESS)
        rc = check_room(topo, maxdims);
    if (rc == MPI_SUCCESS && (rank < 0 || rank >= comm_of(comm)->ranks->size))
        rc = err_set(MPI_ERR_RANK, "rank is %d, but the ranks of the communicator are 0 to %d", rank,
                     comm_of(comm)->ranks->size - 1);
    if (rc == MPI_SUCCESS)
        coords_of(topo, rank, coords);
    return rc;
}

int mpi_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
    topo_t *topo;
    const int rc = topology_of(comm, MPI_CART, &topo);
    if (rc != MPI_SUCCESS)
        return rc;
    if (coords == NULL && topo->ndims > 0)
        return err_set(MPI_ERR_ARG, "coords is NULL");
    const int found = rank_at(topo, coords, 0, 0);
    if (found == MPI_PROC_NULL)
        return err_set(MPI_ERR_ARG, "coords lie outside the grid in a dimension that is not periodic");
    *rank = found;
    return MPI_SUCCESS;
}

int mpi_Cart_shift(MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest)
{
    topo_t *topo;
    const int rc = topology_of(comm, MPI_CART, &topo);
    if (rc != MPI_SUCCESS)
        return rc;
    if (direction < 0 || direction >= topo->ndims)
        return err_set(MPI_ERR_ARG, "direction is %d, but the topology has %d dimensions", direction, topo->ndims);
    *rank_source = rank_at(topo, topo->coords, direction, -(long)disp);
    *rank_dest = rank_at(topo, topo->coords, direction, disp);
    return MPI_SUCCESS;
}

/* The dimensions that remain, or those that do not: this rank's number in the grid of these alone. */
static int number_in(const topo_t *topo, const int *remains, int wanted)
{
    int number = 0;
    for (int i = 0; i < topo->ndims; i++)
        if ((remains[i] != 0) == wanted)
            number = number * topo->dims[i] + topo->coords[i];
    return number;
}

static topo_t *remaining(const topo_t *topo, const int *remains, int rank)
{
    topo_t *all = make(topo->ndims, topo->dims, topo->periods, rank);
    int count = 0;
    for (int i = 0; all != NULL && i < topo->ndims; i++) {
        if (!remains[i])
            continue;
        all->dims[count] = topo->dims[i];
        all->periods[count++] = topo->periods[i];
    }
    topo_t *made = all == NULL ? NULL : make(count, all->dims, all->periods, rank);
    topo_release(all);
    return made;
}

int mpi_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
    topo_t *topo;
    int rc = topology_of(comm, MPI_CART, &topo);
    if (rc == MPI_SUCCESS && topo->ndims > 0 && remain_dims == NULL)
        rc = err_set(MPI_ERR_ARG, "remain_dims is NULL");
    if (rc == MPI_SUCCESS)
        rc = mpi_Comm_split(comm, number_in(topo, remain_dims, 0), number_in(topo, remain_dims, 1), newcomm);
    if (rc != MPI_SUCCESS)
        return rc;
    mpi_comm_t *made = comm_of(*newcomm);
    made->topo = remaining(topo, remain_dims, made->ranks->rank);
    return made->topo != NULL ? MPI_SUCCESS : err_set(MPI_ERR_NO_MEM, "topology: no memory left");
}
