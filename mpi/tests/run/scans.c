/* SPDX-License-Identifier: Apache-2.0
 * scans.c - scan and exscan: few and many elements, in private memory and in memory that the ranks of a node share, in place,
 * at any address, with operations of the program that do not commute, on types with gaps. All forms have the bits of the sum
 * from the first rank on, in each round.
 * ranks: 1 2 3 4 5 6 7 tcp nodes
 */
#include "rule.h"

#define MOST 70001
#define GUARD 17

/* Element i of a rank: sums depend on the order. */
static double element(int from, int i)
{
    return (from * 7919 + i % 1000 + 1) / 3.0 * (from % 2 == 0 ? 1e-9 : 1e9);
}

/* Of the ranks before `end`. */
static double sum_before(int end, int i)
{
    double sum = element(0, i);
    for (int from = 1; from < end; from++)
        sum += element(from, i);
    return sum;
}

static void is_right(const double *result, int count, int end)
{
    for (int i = 0; i < count && end > 0; i++) {
        const double expected = sum_before(end, i);
        CHECK(memcmp(&result[i], &expected, sizeof(expected)) == 0);
    }
    for (int i = 0; i < count && end == 0; i++)
        CHECK(result[i] == GUARD);
    CHECK(result[count] == GUARD);
}

static void clear(double *result, int count)
{
    for (int i = 0; i <= count; i++)
        result[i] = GUARD;
}

static void set(double *mine, int count)
{
    for (int i = 0; i < count; i++)
        mine[i] = element(rank, i);
}

static void forms(const double *mine, double *result, int count)
{
    MPI_Request request;
    clear(result, count);
    MPI_Scan(mine, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    is_right(result, count, rank + 1);
    clear(result, count);
    MPI_Exscan(mine, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    is_right(result, count, rank);
    clear(result, count);
    MPI_Iscan(mine, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    is_right(result, count, rank + 1);
    clear(result, count);
    MPI_Exscan_init(mine, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    is_right(result, count, rank);
}

static void in_place(double *both, int count)
{
    clear(both, count);
    set(both, count);
    MPI_Scan(MPI_IN_PLACE, both, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    is_right(both, count, rank + 1);
    set(both, count);
    MPI_Exscan(MPI_IN_PLACE, both, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count && rank == 0; i++)
        CHECK(both[i] == element(0, i));
    if (rank > 0)
        is_right(both, count, rank);
}

/* The first rank of an exclusive scan has no use for a result. */
static void without_result(const double *mine, double *result, int count)
{
    clear(result, count);
    MPI_Exscan(mine, rank == 0 ? NULL : result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    is_right(result, count, rank);
}

static double *memory_of(int shared)
{
    double *memory;
    const MPI_Aint bytes = (MPI_Aint)((MOST + 8) * sizeof(double));
    if (!shared)
        return malloc((size_t)bytes);
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
    return memory;
}

static void give_back(double *memory, int shared)
{
    if (shared)
        MPI_Free_mem(memory);
    else
        free(memory);
}

/* All in private memory, all in shared memory, both at different ranks; at other addresses. */
static void places(void)
{
    static const int counts[] = {0, 1, 7, 146, 1024, 1025, 8191, 8193, 33333, MOST};
    for (int round = 0; round < 20; round++) {
        const int count = counts[round % 10];
        const int is_shared = round % 4 == 3 ? 1 : (round >> (rank % 2)) & 1;
        const int gets_shared = round % 4 == 3 || (round + rank) % 3 == 0;
        const int shift = round / 10 * (1 + rank % 3);
        double *mine = memory_of(is_shared);
        double *result = memory_of(gets_shared);
        set(mine + shift, count);
        forms(mine + shift, result + shift, count);
        without_result(mine + shift, result + shift, count);
        in_place(result + shift, count);
        give_back(mine, is_shared);
        give_back(result, gets_shared);
    }
}

/* Bytes at odd addresses: vectors may begin anywhere. */
static void bytes(void)
{
    static unsigned char mine[MOST + 8];
    static unsigned char result[MOST + 8];
    for (int shift = 0; shift < 4; shift++) {
        unsigned char *from = mine + (shift + rank) % 5;
        unsigned char *to = result + (shift + 2 * rank) % 7;
        for (int i = 0; i < MOST; i++)
            from[i] = (unsigned char)(rank * 31 + i * 7);
        MPI_Scan(from, to, MOST, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD);
        for (int i = 0; i < MOST; i++) {
            unsigned char expected = 0;
            for (int r = 0; r <= rank; r++)
                expected = (unsigned char)(expected ^ (unsigned char)(r * 31 + i * 7));
            CHECK(to[i] == expected);
        }
    }
}

/* Affine maps modulo 2^32: their composition depends on the order. */
typedef struct map {
    uint32_t factor;
    uint32_t term;
} map_t;

static map_t after(map_t first, map_t second)
{
    return (map_t){second.factor * first.factor, second.factor * first.term + second.term};
}

static void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
    MPI_Aint low;
    MPI_Aint extent;
    MPI_Type_get_extent(*type, &low, &extent);
    for (int i = 0; i < *length; i++) {
        map_t *to = (map_t *)((char *)inout + i * extent);
        *to = after(*(map_t *)((char *)in + i * extent), *to);
    }
}

static map_t map_of(int from, int i)
{
    return (map_t){(uint32_t)(2 * (from * 13 + i) + 1), (uint32_t)(from * 7 + i * 3)};
}

/* type: of a map, so many of map_t from one to the next. */
static void compositions(MPI_Datatype type, int step, MPI_Op op, int count)
{
    map_t *mine = calloc((size_t)(count * step) + 1, sizeof(*mine));
    map_t *result = calloc((size_t)(count * step) + 1, sizeof(*result));
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        for (int i = 0; i < count; i++)
            mine[i * step] = map_of(rank, i);
        (exclusive ? MPI_Exscan : MPI_Scan)(mine, result, count, type, op, MPI_COMM_WORLD);
        for (int i = 0; i < count && rank >= exclusive; i++) {
            map_t expected = map_of(0, i);
            for (int from = 1; from <= rank - exclusive; from++)
                expected = after(expected, map_of(from, i));
            CHECK(memcmp(&result[i * step], &expected, sizeof(expected)) == 0);
            CHECK(step == 1 || result[i * step + 1].factor == 0);
        }
    }
    free(mine);
    free(result);
}

/* Large enough for several messages, with an odd rest. */
static void operations(void)
{
    static const int counts[] = {1, 100, 16384, 16385, MOST};
    MPI_Datatype dense;
    MPI_Datatype gaps;
    MPI_Op op;
    MPI_Op_create(compose, 0, &op);
    MPI_Type_contiguous(2, MPI_UINT32_T, &dense);
    MPI_Type_create_resized(dense, 0, 2 * sizeof(map_t), &gaps);
    MPI_Type_commit(&dense);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < 5; i++) {
        compositions(dense, 1, op, counts[i]);
        compositions(gaps, 2, op, counts[i]);
    }
    MPI_Type_free(&dense);
    MPI_Type_free(&gaps);
    MPI_Op_free(&op);
}

/* Pairs, whose elements have bytes that mean nothing. */
static void pairs(int count)
{
    struct pair {
        double value;
        int index;
    } *mine = calloc((size_t)count, sizeof(*mine)), *result = calloc((size_t)count, sizeof(*result));
    for (int i = 0; i < count; i++) {
        mine[i].value = (rank * 5 + i) % 7;
        mine[i].index = rank;
    }
    MPI_Scan(mine, result, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        int best = 0;
        for (int from = 1; from <= rank; from++)
            if ((from * 5 + i) % 7 > (best * 5 + i) % 7)
                best = from;
        CHECK(result[i].index == best && result[i].value == (best * 5 + i) % 7);
    }
    free(mine);
    free(result);
}

/* The first ranks run ahead of the others as far as they may; buffers are used again. */
static void many(void)
{
    static int value[4000];
    static int upto[4000];
    for (int round = 0; round < 300; round++) {
        const int count = round % 3 == 0 ? 4000 : round % 3;
        for (int i = 0; i < count; i++)
            value[i] = rank + round + i;
        MPI_Scan(value, upto, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            CHECK(upto[i] == (rank + 1) * (round + i) + rank * (rank + 1) / 2);
    }
}

static void test(void)
{
    places();
    bytes();
    operations();
    pairs(3);
    pairs(5000);
    many();
}
