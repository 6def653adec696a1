/* SPDX-License-Identifier: Apache-2.0
 * ring.c - a number goes round all PEs: each puts it to the next one, and waits for it from the one before.
 *
 *     oshcc ring.c -o ring && oshrun -n 4 ./ring
 */
#include <shmem.h>

#include <stdio.h>

static long box; /* static data is symmetric: every PE has one, and others may write to it */

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe();
    const int size = shmem_n_pes();
    const int next = (me + 1) % size;
    if (me == 0)
        shmem_long_p(&box, 1, next);
    shmem_long_wait_until(&box, SHMEM_CMP_NE, 0);
    printf("PE %d of %d has %ld\n", me, size, box);
    if (me != 0)
        shmem_long_p(&box, box + 1, next);
    shmem_barrier_all();
    if (me == 0)
        printf("the number has come back as %ld\n", box);
    shmem_finalize();
    return 0;
}
