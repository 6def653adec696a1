/* SPDX-License-Identifier: Apache-2.0
 * PE 1 is killed while the others are inside the call that the argument names: the job ends, and says which PE and how.
 */
#include <signal.h>
#include <unistd.h>
#define RULE_OWN_MAIN
#include "rule.h"

static long in[4096], out[4096 * 8], word;
static uint64_t signal_word;
static long lock;

static void call(const char *name)
{
    if (strcmp(name, "barrier") == 0)
        shmem_barrier_all();
    if (strcmp(name, "sync") == 0)
        shmem_sync_all();
    if (strcmp(name, "broadcast") == 0)
        (void)shmem_long_broadcast(SHMEM_TEAM_WORLD, out, in, 4096, 1);
    if (strcmp(name, "collect") == 0)
        (void)shmem_long_collect(SHMEM_TEAM_WORLD, out, in, (size_t)me + 1);
    if (strcmp(name, "fcollect") == 0)
        (void)shmem_long_fcollect(SHMEM_TEAM_WORLD, out, in, 100);
    if (strcmp(name, "alltoall") == 0)
        (void)shmem_long_alltoall(SHMEM_TEAM_WORLD, out, in, 100);
    if (strcmp(name, "alltoalls") == 0)
        (void)shmem_long_alltoalls(SHMEM_TEAM_WORLD, out, in, 2, 2, 50);
    if (strcmp(name, "reduce") == 0)
        (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, out, in, 4096);
    if (strcmp(name, "scan") == 0)
        (void)shmem_long_sum_inscan(SHMEM_TEAM_WORLD, out, in, 10);
    if (strcmp(name, "malloc") == 0)
        (void)shmem_malloc(100);
    if (strcmp(name, "wait") == 0)
        shmem_long_wait_until(&word, SHMEM_CMP_NE, 0);
    if (strcmp(name, "signal") == 0)
        (void)shmem_signal_wait_until(&signal_word, SHMEM_CMP_NE, 0);
    if (strcmp(name, "lock") == 0)
        shmem_set_lock(&lock);
    if (strcmp(name, "atomic") == 0)
        while (shmem_long_atomic_fetch_add(&word, 1, 1) >= 0)
            ;
    if (strcmp(name, "finalize") == 0)
        shmem_finalize();
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    size = shmem_n_pes();
    if (argc != 2)
        return 1;
    if (strcmp(argv[1], "lock") == 0 && me == 1)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 1)
        raise(SIGKILL);
    call(argv[1]);
    for (;;)
        (void)pause(); /* the launcher ends it */
}
