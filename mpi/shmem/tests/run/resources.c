/* SPDX-License-Identifier: Apache-2.0
 * What a process takes: threads, descriptors, kilobytes resident. The argument says which libraries it uses: mpi, shmem, both.
 * Rank 0 prints its own; run.py compares.
 */
#define RULE_OWN_MAIN
#include <dirent.h>
#include <mpi.h>
#include <unistd.h>

#include "rule.h"

static int entries(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2;
}

static long resident_kb(void)
{
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &all, &pages) != 2)
        return -1;
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void show(void)
{
    printf("threads %d descriptors %d resident %ld\n", entries("/proc/self/task"), entries("/proc/self/fd") - 1,
           resident_kb());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "both";
    const int mpi = strcmp(what, "shmem") != 0;
    const int sh = strcmp(what, "mpi") != 0;
    int rank = 0, sum = 0;
    if (sh)
        shmem_init();
    if (mpi)
        MPI_Init(NULL, NULL);
    for (int i = 0; i < 10; i++) {
        if (mpi)
            MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sh)
            shmem_barrier_all();
    }
    if (mpi)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    else
        rank = shmem_my_pe();
    if (rank == 0)
        show();
    if (mpi)
        MPI_Finalize();
    if (sh)
        shmem_finalize();
    return 0;
}
