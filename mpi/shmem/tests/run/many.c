/* SPDX-License-Identifier: Apache-2.0
 * 64 PEs on few processors: a ring of waits, collectives, locks; descriptors and memory mappings of a PE do not grow with the
 * square of the PEs: each has a connection for node memory, and one for each PE that it sends messages to.
 * PEs: 64 hosts
 */
#include <dirent.h>

#include "rule.h"

static long box, sum_in, sum_out, lock, counter;

static int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 3; /* two names that are no descriptors, and the folder */
}

static void test(void)
{
    for (long round = 1; round <= 3; round++) {
        if (me == 0)
            shmem_long_p(&box, round, 1 % size);
        shmem_long_wait_until(&box, SHMEM_CMP_EQ, round);
        if (me != 0) {
            shmem_long_p(&box, round, (me + 1) % size);
            shmem_quiet();
        }
        sum_in = me;
        CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum_out, &sum_in, 1) == 0 &&
              sum_out == (long)size * (size - 1) / 2);
    }
    for (int pe = 0; pe < size; pe++) /* all of them are reached */
        shmem_long_atomic_inc(&counter, pe);
    shmem_barrier_all();
    CHECK(counter == size);
    shmem_barrier_all(); /* nobody writes to it before all have looked */
    shmem_set_lock(&lock);
    shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    CHECK(shmem_long_g(&counter, 0) == 2 * size);
    const int own = descriptors();
    if (shmem_team_n_pes(SHMEM_TEAM_SHARED) == size && me != 0)
        CHECK(own <= 90); /* three for each of up to 13 connections, and those of the core */
    shmem_barrier_all();
}
