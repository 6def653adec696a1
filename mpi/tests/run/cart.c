/* SPDX-License-Identifier: Apache-2.0
 * cart.c - Cartesian topologies: coordinates and ranks, shifts over borders, sub-grids, duplicates keep them; dimensions
 * are as close to each other as can be.
 * ranks: 1 2 3 4 6
 */
#include "rule.h"

static void is_kind(MPI_Comm comm, int kind)
{
    int found;
    MPI_Topo_test(comm, &found);
    CHECK(found == kind);
}

static void check_dims(int nodes, int ndims, const int *wanted)
{
    int dims[4] = {0};
    MPI_Dims_create(nodes, ndims, dims);
    for (int i = 0; i < ndims; i++)
        CHECK(dims[i] == wanted[i]);
}

static void test_dims(void)
{
    check_dims(1, 1, (int[]){1});
    check_dims(6, 2, (int[]){3, 2});
    check_dims(7, 3, (int[]){7, 1, 1});
    check_dims(12, 2, (int[]){4, 3});
    check_dims(16, 3, (int[]){4, 2, 2});
    check_dims(36, 3, (int[]){4, 3, 3});
    check_dims(72, 3, (int[]){6, 4, 3});
    check_dims(1000000, 3, (int[]){100, 100, 100});
    check_dims(2147483647, 2, (int[]){2147483647, 1});
    int dims[3] = {0, 3, 0};
    MPI_Dims_create(24, 3, dims);
    CHECK(dims[0] == 4 && dims[1] == 3 && dims[2] == 2);
    dims[0] = 5;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Dims_create(24, 3, dims)) == MPI_ERR_DIMS);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void test_places(MPI_Comm grid, const int *dims, const int *periods)
{
    int at[2];
    int back;
    int got_dims[2];
    int got_periods[2];
    int below;
    int above;
    MPI_Cart_get(grid, 2, got_dims, got_periods, at);
    CHECK(memcmp(got_dims, dims, sizeof(got_dims)) == 0 && memcmp(got_periods, periods, sizeof(got_periods)) == 0);
    CHECK(at[0] == rank / dims[1] && at[1] == rank % dims[1]);
    for (int i = 0; i < dims[0] * dims[1]; i++) {
        MPI_Cart_coords(grid, i, 2, at);
        CHECK(at[0] == i / dims[1] && at[1] == i % dims[1]);
        at[0] -= 3 * dims[0]; /* this dimension is periodic */
        MPI_Cart_rank(grid, at, &back);
        CHECK(back == i);
    }
    MPI_Cart_shift(grid, 0, 1, &below, &above);
    const int row = rank / dims[1];
    CHECK(below == (row + dims[0] - 1) % dims[0] * dims[1] + rank % dims[1]);
    CHECK(above == (row + 1) % dims[0] * dims[1] + rank % dims[1]);
    MPI_Cart_shift(grid, 1, -1, &below, &above);
    CHECK(above == (rank % dims[1] == 0 ? MPI_PROC_NULL : rank - 1));
    CHECK(below == (rank % dims[1] == dims[1] - 1 ? MPI_PROC_NULL : rank + 1));
}

static void test_sub(MPI_Comm grid, const int *dims)
{
    MPI_Comm row;
    MPI_Comm point;
    int ndims;
    int count;
    int place;
    MPI_Cart_sub(grid, (int[]){0, 1}, &row);
    is_kind(row, MPI_CART);
    MPI_Cartdim_get(row, &ndims);
    MPI_Comm_size(row, &count);
    MPI_Comm_rank(row, &place);
    CHECK(ndims == 1 && count == dims[1] && place == rank % dims[1]);
    MPI_Cart_sub(grid, (int[]){0, 0}, &point);
    MPI_Cartdim_get(point, &ndims);
    MPI_Comm_size(point, &count);
    CHECK(ndims == 0 && count == 1);
    MPI_Comm_free(&row);
    MPI_Comm_free(&point);
}

static void test(void)
{
    int dims[2] = {0, 0};
    const int periods[2] = {1, 0};
    MPI_Comm grid;
    MPI_Comm copy;
    MPI_Comm part;
    test_dims();
    is_kind(MPI_COMM_WORLD, MPI_UNDEFINED);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    is_kind(grid, MPI_CART);
    MPI_Comm_dup(grid, &copy);
    MPI_Comm_free(&grid);
    is_kind(copy, MPI_CART);
    test_places(copy, dims, periods);
    test_sub(copy, dims);
    MPI_Comm_split(copy, 0, 0, &part);
    is_kind(part, MPI_UNDEFINED);
    MPI_Comm_free(&part);
    MPI_Comm_free(&copy);
    MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &grid); /* one point */
    CHECK((grid == MPI_COMM_NULL) == (rank > 0));
    if (grid != MPI_COMM_NULL)
        MPI_Comm_free(&grid);
}
