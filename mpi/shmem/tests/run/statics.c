/* SPDX-License-Identifier: Apache-2.0
 * Static data is symmetric, with and without initial values, also inside functions, from its first byte to its last. A child
 * after fork() has a copy: what it writes its parent does not see.
 * PEs: 1 2 4 hosts
 */
#include <sys/wait.h>
#include <unistd.h>

#include "rule.h"

static long with_value = 17;
long global[3] = {1, 2, 3};
static long without[100000];

static long *inside(void)
{
    static long one = 5;
    return &one;
}

static void child_has_a_copy(void)
{
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        global[0] = 4711;
        without[77] = 4711;
        _exit(with_value == (me + size - 1) % size ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(global[0] == 100 + (me + size - 1) % size && without[77] == 0);
}

static void test(void)
{
    const int next = (me + 1) % size;
    const int before = (me + size - 1) % size;
    CHECK(with_value == 17 && global[2] == 3 && *inside() == 5);
    shmem_barrier_all();
    shmem_long_p(&with_value, me, next);
    shmem_long_p(&global[0], 100 + me, next);
    shmem_long_p(inside(), 200 + me, next);
    shmem_long_p(&without[0], 300 + me, next);
    shmem_long_p(&without[99999], 400 + me, next);
    shmem_barrier_all();
    CHECK(with_value == before && global[0] == 100 + before && *inside() == 200 + before);
    CHECK(without[0] == 300 + before && without[99999] == 400 + before && global[1] == 2);
    CHECK(shmem_long_g(&without[99999], next) == 400 + me);
    child_has_a_copy();
    CHECK(shmem_addr_accessible(&with_value, next) && shmem_addr_accessible(&without[50000], next));
    shmem_barrier_all();
}
