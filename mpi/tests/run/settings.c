/* SPDX-License-Identifier: Apache-2.0
 * settings.c - not a rule: after a small collective each rank prints how many threads it has and how much memory of other
 * processes it may reach, for run.py, which sets what decides both.
 */
#include <mpi.h>

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    if (folder != NULL)
        closedir(folder);
    return count;
}

/* Addresses of shareable memory, in GiB. */
static uint64_t shared_gib(void)
{
    char line[512];
    uint64_t total = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long long low;
        unsigned long long high;
        if (strstr(line, "memfd:") != NULL && sscanf(line, "%llx-%llx", &low, &high) == 2)
            total += high - low;
    }
    if (maps != NULL)
        fclose(maps);
    return total >> 30;
}

int main(int argc, char **argv)
{
    int one = 1;
    int sum = 0;
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("sum %s, threads %d, node memory %s\n", sum == size ? "right" : "wrong", threads(),
           shared_gib() > 0 ? "yes" : "no");
    MPI_Finalize();
    return 0;
}
