/* SPDX-License-Identifier: Apache-2.0
 * user_op.c - an operation that does not commute is applied in the order of the ranks; of equal values MINLOC takes
 * the first.
 * ranks: 1 2 3 4 5
 */
#include "rule.h"

/* 2x2 matrices: the product depends on the order. */
static void multiply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const long *a = in;
    long *b = inout;
    CHECK(*type == MPI_LONG && *length == 4);
    const long product[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                             a[2] * b[1] + a[3] * b[3]};
    memcpy(b, product, sizeof(product));
}

static void test(void)
{
    MPI_Op op;
    int commutes = -1;
    long expected[4] = {1, 0, 0, 1};
    for (int i = 0; i < size; i++) {
        long matrix[4] = {1, i + 1, i, 2};
        int four = 4;
        MPI_Datatype type = MPI_LONG;
        multiply(expected, matrix, &four, &type);
        memcpy(expected, matrix, sizeof(matrix));
    }
    MPI_Op_create(multiply, 0, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK(commutes == 0);
    const long mine[4] = {1, rank + 1, rank, 2};
    long result[4];
    MPI_Allreduce(mine, result, 4, MPI_LONG, op, MPI_COMM_WORLD);
    CHECK(memcmp(result, expected, sizeof(result)) == 0);
    for (int root = 0; root < size; root++) {
        MPI_Reduce(mine, result, 4, MPI_LONG, op, root, MPI_COMM_WORLD);
        CHECK(rank != root || memcmp(result, expected, sizeof(result)) == 0);
    }
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
    struct {
        double value;
        int index;
    } pair = {.value = rank / 2, .index = rank};
    MPI_Allreduce(MPI_IN_PLACE, &pair, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    CHECK(pair.index == (size - 1) / 2 * 2);
}
