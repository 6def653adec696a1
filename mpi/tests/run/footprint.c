/* SPDX-License-Identifier: Apache-2.0
 * footprint.c - 64 ranks on whatever processors there are; a rank connects to those it talks to only, and to the first rank of
 * its node. Rank 0 prints what a rank takes: sockets (one for each peer over shared memory) and its share of the memory.
 * ranks: 64 tcp
 */
#include <dirent.h>
#include <unistd.h>

#include "rule.h"

#define ROUNDS 6 /* of a reduction of 64 ranks */

static int64_t sockets(void)
{
    char path[300];
    char target[64];
    int64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        const ssize_t length = readlink(path, target, sizeof(target));
        count += length > 7 && memcmp(target, "socket:", 7) == 0;
    }
    closedir(folder);
    return count;
}

/* Its own memory, and of what it shares its part. */
static int64_t kibibytes(void)
{
    char line[256];
    long found = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "Pss: %ld kB", &found) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return found;
}

/* The most of any rank but the first of the node, to which all others connect to share memory with it. What asks takes part in
   a reduction itself, after it has looked. */
static int64_t report(const char *when)
{
    const int64_t own[2] = {rank == 0 ? 0 : sockets(), kibibytes()};
    const int64_t first = sockets();
    int64_t most[2];
    MPI_Allreduce(own, most, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, after %s: at most %lld sockets (rank 0: %lld) and %lld KiB a rank\n", size, when,
               (long long)most[0], (long long)first, (long long)most[1]);
    return most[0];
}

static void test(void)
{
    int sum;
    int *from = calloc((size_t)size, sizeof(int));
    int *to = calloc((size_t)size, sizeof(int));
    /* Those that looked first have begun with the reduction, and connect. */
    const int64_t at_start = report("MPI_Init");
    CHECK(at_start < 8 + 2 * ROUNDS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    CHECK(report("a barrier and an allreduce") < size / 2);
    for (int i = 0; i < size; i++)
        from[i] = rank * 1000 + i;
    MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(to[i] == i * 1000 + rank);
    (void)report("an alltoall");
    free(from);
    free(to);
}
