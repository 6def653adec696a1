/* SPDX-License-Identifier: Apache-2.0
 * Set-up and end: pairs of calls inside each other, and anew after the last end; what the library says of itself.
 * PEs: 1 2 4 hosts
 */
#define RULE_OWN_MAIN
#include "rule.h"

static long box;

static int initialized(void)
{
    int flag = -1;
    shmem_query_initialized(&flag);
    return flag != 0;
}

static void use(long value)
{
    long *block = shmem_malloc(sizeof(long));
    CHECK(block != NULL);
    shmem_long_p(block, value + me, (me + 1) % size);
    shmem_long_p(&box, value + me, (me + 1) % size);
    shmem_barrier_all();
    CHECK(*block == value + (me + size - 1) % size && box == *block);
    shmem_free(block);
}

int main(void)
{
    char text[SHMEM_MAX_NAME_LEN];
    int major, minor, level;
    if (initialized())
        return 1;
    for (int cycle = 0; cycle < 20; cycle++) {
        shmem_init();
        me = shmem_my_pe();
        size = shmem_n_pes();
        CHECK(initialized() && shmem_pe_accessible(size - 1) && !shmem_pe_accessible(size));
        shmem_info_get_version(&major, &minor);
        shmem_info_get_name(text);
        CHECK(major == 1 && minor == 6 && strcmp(text, SHMEM_VENDOR_STRING) == 0);
        use(10 * cycle);
        CHECK(shmem_init_thread(SHMEM_THREAD_FUNNELED, &level) == 0);
        shmem_query_thread(&level);
        CHECK(level >= SHMEM_THREAD_SINGLE && level <= SHMEM_THREAD_MULTIPLE);
        use(10 * cycle + 100);
        shmem_finalize();
        CHECK(initialized());
        use(10 * cycle + 200);
        shmem_finalize();
        if (initialized() || box != 10 * cycle + 200 + (me + size - 1) % size) /* static data keeps its values */
            return 1;
    }
    return 0;
}
