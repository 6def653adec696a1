/* SPDX-License-Identifier: Apache-2.0
 * in_place.c - MPI_IN_PLACE takes the data from where the result goes, in every collective that knows it and in all
 * forms; at a rank that is not the root it is an error where the root alone may pass it.
 * ranks: 1 2 3 4 5
 */
#include "rule.h"

static int data[64];
static int counts[8];
static int displs[8];
static int bytes[8];
static MPI_Datatype types[8];

static void fill_from(int value)
{
    for (int i = 0; i < 64; i++)
        data[i] = value * 100 + i;
}

static void done(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void test_rooted(int root)
{
    MPI_Request request;
    void *place = rank == root ? MPI_IN_PLACE : data;
    fill_from(rank);
    data[rank == root ? root : 0] = rank + 7;
    MPI_Igather(place, 1, MPI_INT, data, 1, MPI_INT, root, MPI_COMM_WORLD, &request);
    done(&request);
    for (int i = 0; rank == root && i < size; i++)
        CHECK(data[i] == i + 7);
    fill_from(rank);
    MPI_Iscatterv(data, counts, displs, MPI_INT, place, 1, MPI_INT, root, MPI_COMM_WORLD, &request);
    done(&request);
    CHECK(data[0] == (rank == root ? rank * 100 : root * 100 + rank));
    fill_from(rank);
    MPI_Ireduce(place, data, 2, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &request);
    done(&request);
    for (int i = 0; rank == root && i < 2; i++)
        CHECK(data[i] == 100 * size * (size - 1) / 2 + i * size);
}

static void test_all(void)
{
    MPI_Request request;
    fill_from(rank);
    data[rank] = rank;
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts, displs, MPI_INT, MPI_COMM_WORLD, &request);
    done(&request);
    for (int i = 0; i < size; i++)
        CHECK(data[i] == i);
    for (int form = 0; form < 3; form++) {
        fill_from(rank);
        if (form == 0)
            MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 1, MPI_INT, MPI_COMM_WORLD, &request);
        else if (form == 1)
            MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, data, counts, displs, MPI_INT, MPI_COMM_WORLD,
                           &request);
        else
            MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, data, counts, bytes, types, MPI_COMM_WORLD, &request);
        done(&request);
        for (int i = 0; i < size; i++)
            CHECK(data[i] == i * 100 + rank);
    }
}

static void test_reductions(void)
{
    MPI_Request request;
    const int before = 100 * rank * (rank - 1) / 2;
    fill_from(rank);
    MPI_Iscan(MPI_IN_PLACE, data, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    done(&request);
    CHECK(data[1] == before + rank * 100 + rank + 1);
    fill_from(rank);
    MPI_Iexscan(MPI_IN_PLACE, data, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    done(&request);
    CHECK(data[1] == (rank == 0 ? 1 : before + rank));
    fill_from(rank);
    MPI_Ireduce_scatter(MPI_IN_PLACE, data, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    done(&request);
    CHECK(data[0] == 100 * size * (size - 1) / 2 + rank * size);
    fill_from(rank);
    MPI_Ireduce_scatter_block(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    done(&request);
    CHECK(data[0] == 100 * size * (size - 1) / 2 + rank * size);
}

/* The communicator is not used afterwards: what its root would wait for was not sent. */
static void test_errors(void)
{
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (rank != 0) {
        CHECK(class_of(MPI_Igather(MPI_IN_PLACE, 1, MPI_INT, data, 1, MPI_INT, 0, comm, &request)) == MPI_ERR_BUFFER);
        CHECK(class_of(MPI_Iscatter(data, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, comm, &request)) == MPI_ERR_BUFFER);
        CHECK(class_of(MPI_Reduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, 0, comm)) == MPI_ERR_BUFFER);
        CHECK(request == MPI_REQUEST_NULL);
    }
    MPI_Comm_free(&comm);
}

static void test(void)
{
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = i;
        bytes[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    for (int root = 0; root < size; root++)
        test_rooted(root);
    test_all();
    test_reductions();
    test_errors();
}
