/* SPDX-License-Identifier: Apache-2.0
 * nowhere.c - a buffer that is NULL, or MPI_IN_PLACE where that means nothing, is MPI_ERR_BUFFER; an array that is NULL is
 * MPI_ERR_ARG: in each function that would use it. All goes on afterwards.
 * ranks: 1 2 3 tcp nodes
 */
#include "rule.h"

#define MOST 20000

static int mine[4 * MOST];
static int other[4 * MOST];
static MPI_Request request;

#define FAILS(class, call) CHECK(class_of(call) == (class))
#define BOTH(call, ...)                                                                                                \
    do {                                                                                                               \
        FAILS(MPI_ERR_BUFFER, call(NULL, __VA_ARGS__));                                                                \
        FAILS(MPI_ERR_BUFFER, call(MPI_IN_PLACE, __VA_ARGS__));                                                        \
    } while (0)
/* The other buffer, with the first one as it should be. */
#define SECOND(call, ...)                                                                                              \
    do {                                                                                                               \
        FAILS(MPI_ERR_BUFFER, call(mine, NULL, __VA_ARGS__));                                                          \
        FAILS(MPI_ERR_BUFFER, call(mine, MPI_IN_PLACE, __VA_ARGS__));                                                  \
        FAILS(MPI_ERR_BUFFER, call(NULL, other, __VA_ARGS__));                                                         \
        FAILS(MPI_ERR_BUFFER, call(MPI_IN_PLACE, NULL, __VA_ARGS__));                                                  \
    } while (0)

static int packs(const void *in, void *packed, int n)
{
    const int rc = MPI_Pack_external("external32", in, n, MPI_INT, packed, sizeof(mine), &(MPI_Aint){0});
    return MPI_Pack(in, n, MPI_INT, packed, sizeof(mine), &(int){0}, MPI_COMM_WORLD) == rc ? rc : MPI_ERR_OTHER;
}

static void messages(int n)
{
    const int to = (rank + 1) % size;
    BOTH(MPI_Send, n, MPI_INT, to, 1, MPI_COMM_WORLD);
    BOTH(MPI_Ssend, n, MPI_INT, to, 1, MPI_COMM_WORLD);
    BOTH(MPI_Bsend, n, MPI_INT, to, 1, MPI_COMM_WORLD);
    BOTH(MPI_Isend, n, MPI_INT, to, 1, MPI_COMM_WORLD, &request);
    BOTH(MPI_Send_init, n, MPI_INT, to, 1, MPI_COMM_WORLD, &request);
    BOTH(MPI_Recv, n, MPI_INT, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    BOTH(MPI_Recv, n, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    BOTH(MPI_Irecv, n, MPI_INT, to, 1, MPI_COMM_WORLD, &request);
    BOTH(MPI_Sendrecv_replace, n, MPI_INT, to, 1, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    BOTH(MPI_Sendrecv, n, MPI_INT, to, 1, mine, n, MPI_INT, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    BOTH(MPI_Pack, n, MPI_INT, other, sizeof(other), &(int){0}, MPI_COMM_WORLD);
    BOTH(MPI_Unpack, sizeof(mine), &(int){0}, other, n, MPI_INT, MPI_COMM_WORLD);
    SECOND(packs, n);
    CHECK(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void reductions(int n, MPI_Op op)
{
    int counts[8];
    for (int i = 0; i < size; i++)
        counts[i] = n;
    SECOND(MPI_Reduce_local, n, MPI_INT, op);
    FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(MPI_IN_PLACE, mine, n, MPI_INT, op));
    SECOND(MPI_Allreduce, n, MPI_INT, op, MPI_COMM_WORLD);
    SECOND(MPI_Iallreduce, n, MPI_INT, op, MPI_COMM_WORLD, &request);
    SECOND(MPI_Allreduce_init, n, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    SECOND(MPI_Scan, n, MPI_INT, op, MPI_COMM_WORLD);
    SECOND(MPI_Reduce_scatter_block, n, MPI_INT, op, MPI_COMM_WORLD);
    SECOND(MPI_Reduce_scatter, counts, MPI_INT, op, MPI_COMM_WORLD);
    FAILS(MPI_ERR_BUFFER, MPI_Exscan(NULL, other, n, MPI_INT, op, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Exscan(MPI_IN_PLACE, NULL, n, MPI_INT, op, MPI_COMM_WORLD));
    if (size == 1)
        SECOND(MPI_Reduce, n, MPI_INT, op, 0, MPI_COMM_WORLD);
    FAILS(MPI_ERR_BUFFER, MPI_Reduce(NULL, other, n, MPI_INT, op, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Ireduce(NULL, other, n, MPI_INT, op, size - 1, MPI_COMM_WORLD, &request));
}

static void moves(int n)
{
    BOTH(MPI_Bcast, n, MPI_INT, 0, MPI_COMM_WORLD);
    BOTH(MPI_Ibcast, n, MPI_INT, 0, MPI_COMM_WORLD, &request);
    FAILS(MPI_ERR_BUFFER, MPI_Allgather(mine, n, MPI_INT, NULL, n, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Allgather(mine, n, MPI_INT, MPI_IN_PLACE, n, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Allgather(NULL, n, MPI_INT, other, n, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Alltoall(mine, n, MPI_INT, NULL, n, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Alltoall(mine, n, MPI_INT, MPI_IN_PLACE, n, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Alltoall(NULL, n, MPI_INT, other, n, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Gather(NULL, n, MPI_INT, other, n, MPI_INT, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Scatter(mine, n, MPI_INT, NULL, n, MPI_INT, 0, MPI_COMM_WORLD));
}

static void arrays_of_groups(void)
{
    MPI_Group group;
    MPI_Group made;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    FAILS(MPI_ERR_ARG, MPI_Group_translate_ranks(group, 1, NULL, group, mine));
    FAILS(MPI_ERR_ARG, MPI_Group_translate_ranks(group, 1, (int[]){0}, group, NULL));
    CHECK(MPI_Group_translate_ranks(group, 0, NULL, group, NULL) == MPI_SUCCESS);
    FAILS(MPI_ERR_ARG, MPI_Group_incl(group, 1, NULL, &made));
    FAILS(MPI_ERR_ARG, MPI_Group_excl(group, 1, NULL, &made));
    FAILS(MPI_ERR_ARG, MPI_Group_range_incl(group, 1, NULL, &made));
    FAILS(MPI_ERR_ARG, MPI_Group_range_excl(group, 1, NULL, &made));
    MPI_Group_free(&group);
    FAILS(MPI_ERR_ARG, MPI_Cart_create(MPI_COMM_WORLD, 1, NULL, (int[]){0}, 0, &comm));
    FAILS(MPI_ERR_ARG, MPI_Cart_create(MPI_COMM_WORLD, 1, &size, NULL, 0, &comm));
    FAILS(MPI_ERR_ARG, MPI_Dims_create(size, 2, NULL));
    FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, 1, NULL, NULL, 0, &comm));
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &comm);
    FAILS(MPI_ERR_ARG, MPI_Cart_rank(comm, NULL, mine));
    FAILS(MPI_ERR_ARG, MPI_Cart_coords(comm, 0, 1, NULL));
    FAILS(MPI_ERR_ARG, MPI_Cart_get(comm, 1, mine, NULL, mine));
    FAILS(MPI_ERR_ARG, MPI_Cart_sub(comm, NULL, &comm));
    FAILS(MPI_ERR_BUFFER, MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, other, 1, MPI_INT, comm));
    FAILS(MPI_ERR_BUFFER, MPI_Neighbor_allgather(mine, 1, MPI_INT, NULL, 1, MPI_INT, comm));
    MPI_Comm_free(&comm);
}

static void arrays_of_types(void)
{
    MPI_Datatype type;
    const MPI_Aint zero = 0;
    FAILS(MPI_ERR_ARG, MPI_Type_indexed(1, NULL, mine, MPI_INT, &type));
    FAILS(MPI_ERR_ARG, MPI_Type_indexed(1, (int[]){1}, NULL, MPI_INT, &type));
    FAILS(MPI_ERR_ARG, MPI_Type_create_hindexed(1, (int[]){1}, NULL, MPI_INT, &type));
    FAILS(MPI_ERR_ARG, MPI_Type_create_indexed_block(1, 1, NULL, MPI_INT, &type));
    FAILS(MPI_ERR_ARG, MPI_Type_create_struct(1, (int[]){1}, &zero, NULL, &type));
    FAILS(MPI_ERR_ARG, MPI_Type_create_subarray(1, NULL, (int[]){1}, (int[]){0}, MPI_ORDER_C, MPI_INT, &type));
    FAILS(MPI_ERR_ARG,
          MPI_Type_create_subarray_c(1, NULL, (MPI_Count[]){1}, (MPI_Count[]){0}, MPI_ORDER_C, MPI_INT, &type));
    CHECK(MPI_Type_indexed(0, NULL, NULL, MPI_INT, &type) == MPI_SUCCESS);
    MPI_Type_free(&type);
}

static void requests_and_texts(void)
{
    MPI_Status status;
    int flag;
    int n;
    FAILS(MPI_ERR_ARG, MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Testany(1, NULL, &n, &flag, &status));
    FAILS(MPI_ERR_ARG, MPI_Startall(1, NULL));
    request = MPI_REQUEST_NULL;
    FAILS(MPI_ERR_ARG, MPI_Waitsome(1, &request, &n, NULL, MPI_STATUSES_IGNORE));
    CHECK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    FAILS(MPI_ERR_ARG, MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &n));
    FAILS(MPI_ERR_ARG, MPI_Test_cancelled(MPI_STATUS_IGNORE, &n));
    FAILS(MPI_ERR_ARG, MPI_Status_set_cancelled(MPI_STATUS_IGNORE, 1));
    FAILS(MPI_ERR_ARG, MPI_Comm_get_name(MPI_COMM_WORLD, NULL, &n));
    FAILS(MPI_ERR_ARG, MPI_Comm_set_name(MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_get_name(MPI_INT, NULL, &n));
    FAILS(MPI_ERR_ARG, MPI_Error_string(MPI_ERR_ARG, NULL, &n));
    FAILS(MPI_ERR_ARG, MPI_Get_processor_name(NULL, &n));
    FAILS(MPI_ERR_ARG, MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL, &flag));
    FAILS(MPI_ERR_ARG, MPI_Alloc_mem(8, MPI_INFO_NULL, NULL));
}

static void test(void)
{
    const int counts[] = {1, 5, 2000, MOST};
    int sum = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* node memory is there from here on */
    for (int i = 0; i < 4; i++) {
        messages(counts[i]);
        reductions(counts[i], MPI_SUM);
        moves(counts[i]);
    }
    arrays_of_groups();
    arrays_of_types();
    requests_and_texts();
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
}
