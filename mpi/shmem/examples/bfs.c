/* SPDX-License-Identifier: Apache-2.0
 * bfs.c - breadth-first search of a skewed random graph (Kronecker, 16 edges a vertex), vertices spread over the PEs. Who finds a
 * vertex of another PE reserves places in that PE's queue by fetch-add and puts the find there; a level ends by barriers. Each tree
 * is checked. The result does not depend on the number of PEs. Calls of OpenSHMEM 1.4 only.
 *
 *     oshcc bfs.c -o bfs && oshrun -n 4 ./bfs [SCALE]      2 to the power of SCALE vertices
 */
#include <shmem.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EDGES 16 /* of a vertex, on average */
#define ROOTS 4
#define BATCH 64 /* finds that are put together */

static int me, pes;
static uint32_t vertices;
static uint32_t *first, *next_to; /* neighbours of own vertex i: next_to[first[i]] to next_to[first[i + 1] - 1] */
static int *level;                /* symmetric: of own vertices, -1: not reached */
static uint32_t *parent;
static uint64_t *queue; /* symmetric: finds of others: vertex, parent */
static long *fill;      /* symmetric: finds in it */
static long *found;     /* symmetric, of PE 0: vertices of this level and its neighbours */
static uint32_t *here, *later;
static long here_count, later_count;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Both ends of an edge: bit by bit one of four quarters, of which the first is the most likely. */
static void edge(uint64_t number, uint32_t *from, uint32_t *to)
{
    *from = *to = 0;
    for (uint32_t bit = 1; bit < vertices; bit <<= 1) {
        const uint64_t dice = mixed(number * 64 + bit) % 100;
        *from |= dice >= 76 ? bit : 0;
        *to |= (dice >= 57 && dice < 76) || dice >= 95 ? bit : 0;
    }
}

static int is_mine(uint32_t vertex)
{
    return (int)(vertex % (uint32_t)pes) == me;
}

/* Every PE makes all edges and keeps those of its vertices: once to count them, once to store them. */
static void build(void)
{
    const uint32_t own = vertices / (uint32_t)pes + 1;
    first = calloc(own + 2, sizeof(*first));
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t number = 0; number < (uint64_t)vertices * EDGES; number++) {
            uint32_t ends[2];
            edge(number, &ends[0], &ends[1]);
            for (int i = 0; i < 2; i++)
                if (is_mine(ends[i]) && pass == 0)
                    first[ends[i] / (uint32_t)pes + 2]++;
                else if (is_mine(ends[i]))
                    next_to[first[ends[i] / (uint32_t)pes + 1]++] = ends[1 - i];
        }
        for (uint32_t i = 2; pass == 0 && i < own + 2; i++)
            first[i] += first[i - 1];
        if (pass == 0)
            next_to = malloc((first[own + 1] + 1) * sizeof(*next_to));
    }
}

static void visit(uint32_t vertex, uint32_t from, int depth)
{
    const uint32_t i = vertex / (uint32_t)pes;
    if (level[i] >= 0)
        return;
    level[i] = depth;
    parent[i] = from;
    later[later_count++] = vertex;
}

static void send_finds(const uint64_t *finds, long count, int pe)
{
    const long place = shmem_long_atomic_fetch_add(fill, count, pe);
    shmem_putmem(queue + place, finds, (size_t)count * sizeof(*finds), pe);
}

static void expand(int depth, uint64_t (*finds)[BATCH], long *counts)
{
    for (long k = 0; k < here_count; k++) {
        const uint32_t from = here[k], i = from / (uint32_t)pes;
        for (uint32_t e = first[i]; e < first[i + 1]; e++) {
            const uint32_t vertex = next_to[e];
            const int pe = (int)(vertex % (uint32_t)pes);
            if (pe == me) {
                visit(vertex, from, depth);
                continue;
            }
            finds[pe][counts[pe]++] = (uint64_t)vertex << 32 | from;
            if (counts[pe] == BATCH) {
                send_finds(finds[pe], BATCH, pe);
                counts[pe] = 0;
            }
        }
    }
    for (int pe = 0; pe < pes; pe++)
        if (counts[pe] > 0)
            send_finds(finds[pe], counts[pe], pe);
}

/* One level; how many vertices it has, at all PEs. */
static long advance(int depth, uint64_t (*finds)[BATCH], long *counts)
{
    later_count = 0;
    memset(counts, 0, (size_t)pes * sizeof(*counts));
    expand(depth, finds, counts);
    shmem_barrier_all(); /* all finds have arrived */
    for (long k = 0; k < *fill; k++)
        visit((uint32_t)(queue[k] >> 32), (uint32_t)queue[k], depth);
    *fill = 0;
    shmem_long_atomic_add(&found[depth % 3], later_count, 0);
    shmem_barrier_all();
    const long all = shmem_long_g(&found[depth % 3], 0);
    if (me == 0)
        found[(depth + 2) % 3] = 0; /* of the level before: everybody has read it */
    uint32_t *free_now = here;
    here = later;
    later = free_now;
    here_count = later_count;
    return all;
}

static void search(uint32_t root, uint64_t (*finds)[BATCH], long *counts)
{
    memset(level, -1, (vertices / (uint32_t)pes + 1) * sizeof(*level));
    memset(found, 0, 3 * sizeof(*found));
    later_count = 0;
    *fill = 0;
    if (is_mine(root))
        visit(root, root, 0);
    here_count = later_count;
    if (here_count > 0)
        here[0] = root;
    shmem_barrier_all();
    for (int depth = 1; advance(depth, finds, counts) > 0; depth++)
        ;
}

static int level_of(uint32_t vertex)
{
    return shmem_int_g(&level[vertex / (uint32_t)pes], (int)(vertex % (uint32_t)pes));
}

/* A vertex lies one level behind its parent; both ends of an edge are reached or none, at most a level from each other. */
static void check(uint32_t root, long *sums)
{
    for (uint32_t vertex = (uint32_t)me; vertex < vertices; vertex += (uint32_t)pes) {
        const uint32_t i = vertex / (uint32_t)pes;
        int linked = vertex == root || level[i] < 0;
        for (uint32_t e = first[i]; e < first[i + 1]; e++) {
            const int other = level_of(next_to[e]);
            if ((other < 0) != (level[i] < 0) || abs(other - level[i]) > 1)
                shmem_global_exit(1);
            linked |= next_to[e] == parent[i] && other == level[i] - 1;
        }
        if (!linked)
            shmem_global_exit(1);
        shmem_long_atomic_add(&sums[0], level[i] >= 0, 0);
        shmem_long_atomic_add(&sums[1], level[i] * (long)(vertex % 97 + 1), 0);
    }
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    vertices = 1u << (argc > 1 ? atoi(argv[1]) : 10);
    const size_t own = vertices / (size_t)pes + 1;
    level = shmem_malloc(own * sizeof(*level));
    queue = shmem_malloc((size_t)vertices * EDGES * 2 * sizeof(*queue));
    fill = shmem_malloc(sizeof(*fill));
    found = shmem_malloc(3 * sizeof(*found));
    long *sums = shmem_malloc(2 * sizeof(*sums)), *counts = malloc((size_t)pes * sizeof(*counts));
    uint64_t (*finds)[BATCH] = malloc((size_t)pes * sizeof(*finds));
    parent = malloc(own * sizeof(*parent));
    here = malloc(own * sizeof(*here));
    later = malloc(own * sizeof(*later));
    if (!level || !queue || !fill || !found || !sums || !counts || !finds || !parent || !here || !later)
        shmem_global_exit(1);
    sums[0] = sums[1] = 0;
    build();
    double took = 0;
    for (uint32_t number = 0; number < ROOTS; number++) {
        uint32_t root, to;
        edge(number * 1000, &root, &to);
        shmem_barrier_all();
        const double start = now();
        search(root, finds, counts);
        took += now() - start;
        check(root, sums);
        shmem_barrier_all();
    }
    if (me == 0)
        printf("%ld vertices reached, checksum %ld\nseconds %.4f\n", sums[0], sums[1], took);
    free(later);
    free(here);
    free(parent);
    free(finds);
    free(counts);
    shmem_finalize();
    return 0;
}
