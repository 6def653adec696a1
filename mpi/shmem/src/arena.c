/* SPDX-License-Identifier: Apache-2.0
 * arena.c - where page, static data and heap of this PE lie: in its part of node memory, or in memory of its own when it
 * shares with nobody.
 */
#include <stdlib.h>
#include <unistd.h>

#include "shmem/src/shm.h"

#define PAGE_BYTES ((size_t)64 << 10) /* of the page, before static data */
#define ALIGNED ((size_t)2 << 20)     /* where the heap of memory of its own begins */

static int too_large(size_t most)
{
    return rt_fail(
        "SHMEM_SYMMETRIC_SIZE is %zu bytes, but there are addresses for %zu only; choose a smaller one, or raise "
        "ulimit -v",
        shm.limit, most);
}

static int use_node(void)
{
    const size_t quarter = rt_node_quarter();
    shm.shift = rt_node.shift;
    shm.index = (unsigned)rt_node.index;
    shm.on_node = rt_node.count;
    shm.part = (uintptr_t)rt_node.parts + ((size_t)rt_node.index << rt_node.shift);
    shm.page_at = quarter;
    shm.statics_at = shm.page_at + PAGE_BYTES;
    shm.heap_at = 2 * quarter;
    shm.mem = rt_node.mem;
    shm.mem_at = shm.part - (uintptr_t)rt_node.base;
    if (shm.limit > 2 * quarter)
        return too_large(2 * quarter);
    if (shm.statics_length > quarter - PAGE_BYTES)
        return rt_fail("static data of %zu bytes does not fit into %zu; raise ulimit -v", shm.statics_length, quarter);
    return 0;
}

static int use_own(void)
{
    shm.shift = 0;
    shm.index = 0;
    shm.on_node = 1;
    shm.page_at = 0;
    shm.statics_at = PAGE_BYTES;
    shm.heap_at = (PAGE_BYTES + shm.statics_length + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (vbn_mem_reserve(rt.context, shm.heap_at + shm.limit, &shm.own) != VBN_OK)
        return rt_fail("symmetric heap of %zu bytes (SHMEM_SYMMETRIC_SIZE): %s", shm.limit, vbn_error_text());
    shm.mem = shm.own;
    shm.mem_at = 0;
    shm.part = (uintptr_t)vbn_mem_address(shm.own);
    return 0;
}

/* Whether the PEs of this node are consecutive: then an index is a subtraction. */
static int number_near(void)
{
    int is_range = 1;
    shm.first = (unsigned)(shm.own != NULL ? shm.pe : rt_node.ranks[0]);
    for (int i = 0; i < shm.on_node && shm.own == NULL; i++)
        is_range &= rt_node.ranks[i] == rt_node.ranks[0] + i;
    shm.near = is_range ? (unsigned)shm.on_node : 0;
    if (is_range)
        return 0;
    shm.index_of = malloc((size_t)shm.pes * sizeof(int));
    if (shm.index_of == NULL)
        return rt_fail("table of %d PEs: no memory left", shm.pes);
    for (int pe = 0; pe < shm.pes; pe++)
        shm.index_of[pe] = rt_node_index(pe);
    return 0;
}

int shm_arena_open(void)
{
    const int found = rt_node_open();
    if (found < 0 || (found > 0 ? use_node() : use_own()) != 0 || number_near() != 0)
        return -1;
    shm.heap = shm.part + shm.heap_at;
    return shm_commit(shm.page_at, PAGE_BYTES);
}

/* Node memory stays the runtime's; what was allocated of it does, too. */
void shm_arena_close(void)
{
    if (shm.own != NULL)
        (void)vbn_mem_free(shm.own);
    free(shm.index_of);
    shm.own = NULL;
    shm.index_of = NULL;
}

int shm_commit(size_t at, size_t length)
{
    return length == 0 || vbn_mem_commit(shm.mem, shm.mem_at + at, length) == VBN_OK ? 0
                                                                                     : rt_fail("%s", vbn_error_text());
}
