/* SPDX-License-Identifier: Apache-2.0
 * deleted.c - the functions of MPI-1 that MPI 3.0 deleted serve programs that a header of old has declared them to.
 * ranks: 1
 */
#include "rule.h"

#include <stddef.h>

int MPI_Address(void *location, MPI_Aint *address);
int MPI_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);
int MPI_Type_extent(MPI_Datatype type, MPI_Aint *extent);
int MPI_Type_hindexed(int count, int *lengths, MPI_Aint *displacements, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_lb(MPI_Datatype type, MPI_Aint *displacement);
int MPI_Type_struct(int count, int *lengths, MPI_Aint *displacements, MPI_Datatype *olds, MPI_Datatype *type);
int MPI_Type_ub(MPI_Datatype type, MPI_Aint *displacement);

static int calls;

static void count(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    calls++;
}

static void handlers(void)
{
    MPI_Errhandler handler;
    MPI_Errhandler found;
    CHECK(MPI_Errhandler_create(count, &handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_set(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_get(MPI_COMM_WORLD, &found) == MPI_SUCCESS && found == handler);
    CHECK(MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_COMM_WORLD) != MPI_SUCCESS && calls == 1);
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
}

static void is_bounded(MPI_Datatype type, MPI_Aint lb, MPI_Aint ub)
{
    MPI_Aint at = -1;
    CHECK(MPI_Type_lb(type, &at) == MPI_SUCCESS && at == lb);
    CHECK(MPI_Type_ub(type, &at) == MPI_SUCCESS && at == ub);
    CHECK(MPI_Type_extent(type, &at) == MPI_SUCCESS && at == ub - lb);
    MPI_Type_free(&type);
}

static void test(void)
{
    struct {
        int one;
        double two[3];
    } data[2];
    MPI_Aint addresses[2];
    int lengths[2] = {1, 3};
    MPI_Datatype olds[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype type;
    CHECK(MPI_Address(&data[0].one, &addresses[0]) == MPI_SUCCESS && addresses[0] == (MPI_Aint)&data[0]);
    CHECK(MPI_Address(&data[0].two, &addresses[1]) == MPI_SUCCESS);
    addresses[1] -= addresses[0];
    addresses[0] = 0;
    CHECK(MPI_Type_struct(2, lengths, addresses, olds, &type) == MPI_SUCCESS);
    is_bounded(type, 0, sizeof(data[0]));
    addresses[0] = -8;
    CHECK(MPI_Type_hindexed(2, lengths, addresses, MPI_INT, &type) == MPI_SUCCESS);
    is_bounded(type, -8, 20);
    CHECK(MPI_Type_hvector(3, 1, 16, MPI_INT, &type) == MPI_SUCCESS);
    is_bounded(type, 0, 36);
    handlers();
}
