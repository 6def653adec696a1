/* SPDX-License-Identifier: Apache-2.0
 * heap.c - see heap.h.
 */
#include "rt/heap.h"

#include <dlfcn.h>
#include <string.h>

#include "rt/rt.h"

static vbn_mem_t *heap;

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

void rt_heap_close(void)
{
    if (heap != NULL)
        (void)vbn_mem_free(heap);
    heap = NULL;
}
