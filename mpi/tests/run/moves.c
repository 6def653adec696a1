/* SPDX-License-Identifier: Apache-2.0
 * moves.c - gather, scatter, allgather, alltoall and their v-forms put each block where it belongs, at every root.
 * ranks: 1 2 3 4 tcp nodes
 */
#include "rule.h"

static int *room(int count)
{
    int *place = malloc((size_t)(count > 0 ? count : 1) * sizeof(int));
    for (int i = 0; i < count; i++)
        place[i] = -1;
    return place;
}

static void fixed(int n)
{
    int *mine = room(n);
    int *all = room(n * size);
    int *other = room(n * size);
    for (int i = 0; i < n; i++)
        mine[i] = rank * n + i;
    for (int root = 0; root < size; root++) {
        MPI_Gather(mine, n, MPI_INT, all, n, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; rank == root && i < n * size; i++)
            CHECK(all[i] == i);
        memset(other, 0, (size_t)(n * size) * sizeof(int));
        MPI_Scatter(all, n, MPI_INT, other, n, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            CHECK(other[i] == rank * n + i);
        MPI_Bcast(other, n, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            CHECK(other[i] == root * n + i);
    }
    memset(all, 0, (size_t)(n * size) * sizeof(int));
    MPI_Allgather(mine, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n * size; i++)
        CHECK(all[i] == i);
    for (int i = 0; i < n * size; i++)
        all[i] = rank * size + i / (n > 0 ? n : 1);
    MPI_Alltoall(all, n, MPI_INT, other, n, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n * size; i++)
        CHECK(other[i] == i / n * size + rank && all[i] == other[i]);
    free(mine);
    free(all);
    free(other);
}

/* Rank i has i + 1 elements; the blocks lie backwards with a hole of one element between them. */
static void varying(void)
{
    int counts[64];
    int places[64];
    int at = 0;
    for (int i = size - 1; i >= 0; i--) {
        counts[i] = i + 1;
        places[i] = at;
        at += i + 2;
    }
    int *mine = room(rank + 1);
    int *all = room(at);
    for (int i = 0; i <= rank; i++)
        mine[i] = rank * 100 + i;
    for (int root = 0; root < size; root++) {
        const int is_root = rank == root;
        MPI_Gatherv(mine, rank + 1, MPI_INT, all, is_root ? counts : NULL, is_root ? places : NULL, MPI_INT, root,
                    MPI_COMM_WORLD);
        MPI_Scatterv(all, is_root ? counts : NULL, is_root ? places : NULL, MPI_INT, mine, rank + 1, MPI_INT, root,
                     MPI_COMM_WORLD);
    }
    MPI_Allgatherv(mine, rank + 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        for (int j = 0; j <= i; j++)
            CHECK(all[places[i] + j] == i * 100 + j);
        CHECK(all[places[i] + i + 1] == -1); /* holes stay as they were */
    }
    free(mine);
    free(all);
}

/* To rank j go j + 1 elements. */
static void varying_alltoall(void)
{
    int send_counts[64];
    int send_places[64];
    int counts[64];
    int places[64];
    int out[4096];
    int in[4096];
    for (int i = 0, at = 0; i < size; at += ++i) {
        send_counts[i] = i + 1;
        send_places[i] = at;
        counts[i] = rank + 1;
        places[i] = i * (rank + 1);
        for (int j = 0; j <= i; j++)
            out[at + j] = rank * 100 + i;
    }
    MPI_Alltoallv(out, send_counts, send_places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size * (rank + 1); i++)
        CHECK(in[i] == i / (rank + 1) * 100 + rank);
}

static void test(void)
{
    fixed(1);
    fixed(3000);
    fixed(50000);
    varying();
    varying_alltoall();
    MPI_Barrier(MPI_COMM_WORLD);
}
