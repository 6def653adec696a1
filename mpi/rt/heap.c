/* SPDX-License-Identifier: Apache-2.0
 * heap.c - see heap.h.
 */
#include "rt/heap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "rt/node.h"
#include "rt/rt.h"

/* The heap of another rank of this node. */
typedef struct mapped {
    vbn_key_t *key; /* NULL: not yet */
    const unsigned char *at;
} mapped_t;

static vbn_mem_t *heap;
static mapped_t *others; /* by index on the node; NULL: none is mapped */
static int other_count;

static int setting_has(const char *name, const char *word)
{
    char text[1024] = "";
    return vbn_setting(rt.context, name, text, sizeof(text), NULL) == VBN_OK && strstr(text, word) != NULL;
}

/* NULL: it is not loaded. */
static rt_heap_share_func_t *library(void)
{
    rt_heap_share_func_t *share = NULL;
    void *found = dlsym(RTLD_DEFAULT, RT_HEAP_SHARE);
    memcpy(&share, &found, sizeof(share));
    return share;
}

static void go_without(const char *cause)
{
    rt_say("rank %d of %d: mpi.heap=node has no effect: %s", rt.rank, rt.size, cause);
}

/* A program that is linked with another allocator takes nothing from the library. */
static int is_used(const rt_heap_share_t *share)
{
    void *volatile block = malloc(RT_HEAP_PROBE);
    const uintptr_t offset = (uintptr_t)block - (uintptr_t)share->base;
    free(block);
    return block == NULL || offset < share->size;
}

static void adopt(void)
{
    rt_heap_share_t share;
    rt_heap_share_func_t *ask = library();
    if (ask == NULL)
        go_without(
            "libverbena_heap.so is not loaded; start the program by an mpiexec beside it, whose path has no space "
            "and no colon, or set LD_PRELOAD");
    else if (ask(&share) != 0)
        go_without(share.cause);
    else if (!is_used(&share))
        go_without("the program has a malloc of its own");
    else if (vbn_mem_adopt(rt.context, share.fd, share.base, share.size, &heap) != VBN_OK)
        go_without(vbn_error_text());
}

void rt_heap_open(void)
{
    if (setting_has("mpi.heap", "node"))
        adopt();
    if (rt.rank == 0 && setting_has("mpi.collectives", "explain"))
        rt_say("heap: %s", heap != NULL ? "node: large blocks of malloc lie in memory that ranks of the node map"
                                        : "private: the program's malloc is the system's");
}

uint64_t rt_heap_offset(const void *at, size_t length)
{
    const uintptr_t offset = heap == NULL ? 0 : (uintptr_t)at - (uintptr_t)vbn_mem_address(heap);
    const size_t most = heap == NULL ? 0 : vbn_mem_size(heap);
    return offset < most && length <= most - offset ? offset : RT_HEAP_NOWHERE;
}

size_t rt_heap_key(void *key)
{
    size_t length = VBN_KEY_MAX;
    if (heap == NULL || vbn_key_export(heap, 0, vbn_mem_size(heap), VBN_ACCESS_READ, key, &length) != VBN_OK)
        return 0;
    return length;
}

static int make_room(void)
{
    if (others == NULL)
        others = calloc((size_t)rt_node.count, sizeof(*others));
    if (others == NULL)
        return rt_fail("no memory left for a table of %d ranks", rt_node.count);
    other_count = rt_node.count;
    return 0;
}

static int import(int rank, const void *key, size_t length, vbn_key_t **key_p)
{
    rt_wait_t wait = RT_WAIT;
    vbn_op_t op = {0};
    vbn_peer_t *peer = rt_peer(rank);
    wait.op = &op;
    if (peer == NULL)
        return -1;
    vbn_status_t status = vbn_key_import_op(peer, key, length, key_p, &op);
    if (status < 0)
        return rt_fail("%s", vbn_error_text());
    while (status == VBN_INPROGRESS && op.complete == 0)
        rt_wait_step(&wait);
    if (vbn_key_pointer(*key_p) != NULL)
        return 0;
    vbn_key_release(*key_p);
    return rt_fail("the memory of rank %d is not mapped here", rank);
}

int rt_heap_join(int rank, const void *key, size_t length)
{
    const int index = rt_node_index(rank);
    vbn_key_t *mine;
    if (make_room() != 0)
        return -1;
    if (rank == rt.rank || others[index].key != NULL)
        return 0;
    if (import(rank, key, length, &mine) != 0)
        return -1;
    if (others[index].key != NULL) { /* another thread was faster */
        vbn_key_release(mine);
        return 0;
    }
    others[index] = (mapped_t){.key = mine, .at = vbn_key_pointer(mine)};
    return 0;
}

const unsigned char *rt_heap_at(int index, uint64_t offset)
{
    return (index == rt_node.index ? (const unsigned char *)vbn_mem_address(heap) : others[index].at) + offset;
}

void rt_heap_leave(void)
{
    for (int i = 0; i < other_count; i++)
        vbn_key_release(others[i].key);
    free(others);
    others = NULL;
    other_count = 0;
}

void rt_heap_close(void)
{
    if (heap != NULL)
        (void)vbn_mem_free(heap);
    heap = NULL;
}
