/* SPDX-License-Identifier: Apache-2.0
 * Static data of a library of the program is symmetric: puts, gets, atomics, a wait for it; what the C library has is not.
 * PEs: 1 2 4 hosts
 */
#include <stdio.h>

#include "library/table.h"
#include "rule.h"

static void test(void)
{
    const int next = (me + 1) % size;
    const int before = (me + size - 1) % size;
    long *entries = table_entries();
    CHECK(table_count == 3);
    shmem_barrier_all();
    shmem_long_p(&entries[4999], 100 + me, next);
    shmem_long_atomic_add(&table_count, me, next);
    shmem_barrier_all();
    CHECK(entries[4999] == 100 + before && entries[0] == 0 && table_count == 3 + before);
    CHECK(shmem_long_g(&entries[4999], next) == 100 + me);
    shmem_long_p(&entries[1], 7, next);
    shmem_long_wait_until(&entries[1], SHMEM_CMP_EQ, 7);
    CHECK(shmem_addr_accessible(&table_count, next) && !shmem_addr_accessible(stdout, next));
    shmem_barrier_all();
}
