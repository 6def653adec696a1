/* SPDX-License-Identifier: Apache-2.0
 * A program may put functions of its own in the place of the library's, which it reaches by their second names.
 * PEs: 1 2
 */
#define SHMEM_NO_GENERICS
#include <pshmem.h>

#include "rule.h"

static int puts_seen;
static long box;

void shmem_long_p(long *dest, long value, int pe)
{
    puts_seen++;
    pshmem_long_p(dest, value, pe);
}

static void test(void)
{
    shmem_long_p(&box, 5, (me + 1) % size);
    shmem_barrier_all();
    CHECK(puts_seen == 1 && box == 5);
}
