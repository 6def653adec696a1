/* SPDX-License-Identifier: Apache-2.0
 * large_elements.c - operations of the program on elements that are larger than the buffers of collectives, or whose gap is; and an
 * operation that copies elements with their padding. In place, at each root, and by a form that does not block.
 * ranks: 1 2 3 5 nodes
 */
#include "rule.h"

#include <stddef.h>

#define MOST 5 /* elements, of each block */

/* Of the elements in use: */
static int ints;
static size_t extent;
static MPI_Datatype type;

static int *at(void *elements, int i)
{
    return (int *)(void *)((char *)elements + (size_t)i * extent);
}

static void add(void *in, void *inout, int *length, MPI_Datatype *of)
{
    CHECK(*of == type);
    for (int i = 0; i < *length; i++)
        for (int k = 0; k < ints; k++)
            at(inout, i)[k] += at(in, i)[k];
}

/* So many elements: not a byte behind the last one's data. */
static void *elements_of(int count)
{
    const size_t bytes = (size_t)(count - 1) * extent + (size_t)ints * sizeof(int);
    return memset(malloc(bytes), 0x5a, bytes);
}

static void set(void *elements, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < ints; k++)
            at(elements, i)[k] = rank + 7 * i + k;
}

/* The sums over the first ranks, of elements from `first` on; gaps are left alone. */
static void check(void *elements, int first, int count, int ranks)
{
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < ints; k++)
            CHECK(at(elements, i)[k] == ranks * (7 * (first + i) + k) + ranks * (ranks - 1) / 2);
        CHECK(i + 1 == count || extent == (size_t)ints * sizeof(int) || ((char *)at(elements, i + 1))[-1] == 0x5a);
    }
}

static void everywhere(MPI_Op op, int count)
{
    MPI_Request request;
    void *mine = elements_of(count), *result = elements_of(count);
    set(mine, count);
    MPI_Allreduce(mine, result, count, type, op, MPI_COMM_WORLD);
    check(result, 0, count, size);
    set(result, count);
    MPI_Allreduce(MPI_IN_PLACE, result, count, type, op, MPI_COMM_WORLD);
    check(result, 0, count, size);
    set(result, count);
    MPI_Iallreduce(mine, result, count, type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(result, 0, count, size);
    MPI_Scan(mine, result, count, type, op, MPI_COMM_WORLD);
    check(result, 0, count, rank + 1);
    MPI_Exscan(mine, result, count, type, op, MPI_COMM_WORLD);
    check(result, 0, count, rank == 0 ? 1 : rank); /* at rank 0: what the scan has left */
    free(mine);
    free(result);
}

static void at_roots(MPI_Op op, int count)
{
    void *mine = elements_of(count), *result = elements_of(count);
    for (int root = 0; root < size; root++) {
        set(mine, count);
        set(result, count);
        MPI_Reduce(mine, result, count, type, op, root, MPI_COMM_WORLD);
        if (rank == root)
            check(result, 0, count, size);
        set(result, count);
        MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, result, count, type, op, root, MPI_COMM_WORLD);
        if (rank == root)
            check(result, 0, count, size);
    }
    free(mine);
    free(result);
}

static void in_blocks(MPI_Op op, int count)
{
    void *mine = elements_of(count * size), *result = elements_of(count);
    set(mine, count * size);
    MPI_Reduce_scatter_block(mine, result, count, type, op, MPI_COMM_WORLD);
    check(result, count * rank, count, size);
    free(mine);
    free(result);
}

static void with(int elements_ints, size_t elements_extent, int commutes)
{
    MPI_Datatype dense;
    MPI_Op op;
    ints = elements_ints;
    extent = elements_extent;
    MPI_Type_contiguous(ints, MPI_INT, &dense);
    MPI_Type_create_resized(dense, 0, (MPI_Aint)extent, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add, commutes, &op);
    for (int count = 1; count <= MOST; count += 2) {
        everywhere(op, count);
        at_roots(op, count);
        in_blocks(op, count);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&dense);
}

#define PADDING (1 << 20)

typedef struct padded {
    char ahead[PADDING];
    int value;
    char behind[PADDING];
} padded_t;

static void take_larger(void *in, void *inout, int *length, MPI_Datatype *of)
{
    padded_t *to = inout;
    (void)of;
    for (int i = 0; i < *length; i++)
        if (((padded_t *)in)[i].value > to[i].value)
            to[i] = ((padded_t *)in)[i];
}

static void with_padding(int count)
{
    static const int one = 1;
    static const MPI_Aint place = offsetof(padded_t, value);
    const MPI_Datatype number = MPI_INT;
    MPI_Datatype field, whole;
    MPI_Op op;
    padded_t *mine = calloc((size_t)count, sizeof(*mine)), *result = calloc((size_t)count, sizeof(*mine));
    MPI_Type_create_struct(1, &one, &place, &number, &field);
    MPI_Type_create_resized(field, 0, sizeof(padded_t), &whole);
    MPI_Type_commit(&whole);
    MPI_Op_create(take_larger, 1, &op);
    for (int i = 0; i < count; i++)
        mine[i].value = (rank + i) % size;
    MPI_Allreduce(mine, result, count, whole, op, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        CHECK(result[i].value == size - 1);
    MPI_Scan(mine, result, count, whole, op, MPI_COMM_WORLD);
    CHECK(result[0].value == rank);
    for (int root = 0; root < size; root++) {
        MPI_Reduce(mine, result, count, whole, op, root, MPI_COMM_WORLD);
        CHECK(rank != root || result[count - 1].value == size - 1);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&whole);
    MPI_Type_free(&field);
    free(mine);
    free(result);
}

static void test(void)
{
    for (int commutes = 0; commutes < 2; commutes++) {
        with(2048, 8 << 10, commutes);
        with(2304, 9 << 10, commutes);
        with(10240, 40 << 10, commutes);
        with(1, 40 << 10, commutes);
    }
    for (int count = 1; count <= 3; count += 2)
        with_padding(count);
}
