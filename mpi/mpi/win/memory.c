/* SPDX-License-Identifier: Apache-2.0
 * memory.c - see memory.h.
 */
#include "win/memory.h"

#include "err/err.h"
#include "rt/memory.h"
#include "rt/node.h"
#include "win/shared.h"

static size_t data_of(MPI_Aint size)
{
    return ((size_t)size + WIN_LINE - 1) / WIN_LINE * WIN_LINE;
}

static size_t alignment_for(const mpi_win_t *draft)
{
    const size_t least = (size_t)draft->size < WIN_PAGE_BYTES ? WIN_LINE : WIN_PAGE_BYTES;
    return draft->alignment > least ? draft->alignment : least;
}

/* A rank without data has words, too: its lock is taken as others' are. */
int win_memory_allocate(mpi_win_t *draft)
{
    rt_memory_place_t place;
    if ((size_t)draft->size > SIZE_MAX - WIN_LINE - sizeof(win_control_t))
        return err_set(MPI_ERR_SIZE, "size %lld is more than an address space", (long long)draft->size);
    const size_t data = data_of(draft->size);
    if (rt_memory_alloc(data + sizeof(win_control_t), alignment_for(draft), &draft->block) != 0) {
        draft->block = NULL;
        return err_set(MPI_ERR_NO_MEM, "memory of the window: %s", rt.error);
    }
    rt_memory_find(draft->block, &place);
    draft->base = draft->size > 0 ? draft->block : NULL;
    if (place.mem == NULL)
        return MPI_SUCCESS;
    win_control_t *control = (win_control_t *)(void *)((char *)draft->block + data);
    win_control_open(control);
    draft->mem = place.mem;
    draft->node_at = place.is_node ? place.offset : 0;
    draft->exposed = draft->size > 0 ? data + sizeof(win_control_t) : 0;
    draft->word = &control->word;
    draft->gate = place.is_node ? &control->gate : NULL;
    return MPI_SUCCESS;
}

/* Registered memory is reached by the core's put and get, on the same host by copies of the kernel: no rank frees the window while
 * others still copy. */
int win_memory_register(mpi_win_t *win)
{
    const int others = win->flavour == MPI_WIN_FLAVOR_CREATE || (win->block != NULL && win->mem == NULL);
    if (!others || win->size == 0)
        return MPI_SUCCESS;
    vbn_status_t status = vbn_mem_register(rt.context, win->base, (size_t)win->size, WIN_ACCESS | VBN_ACCESS_COPY,
                                           &win->mem);
    if (status == VBN_ERR_ACCESS) { /* others may still read it */
        win->read_only = 1;
        status = vbn_mem_register(rt.context, win->base, (size_t)win->size, VBN_ACCESS_READ | VBN_ACCESS_COPY,
                                  &win->mem);
    }
    win->registered = status == VBN_OK;
    if (status == VBN_OK)
        return MPI_SUCCESS;
    win->mem = NULL;
    return status == VBN_ERR_RANGE || status == VBN_ERR_ACCESS
               ? err_set(MPI_ERR_BASE, "base: %lld bytes at %p: %s", (long long)win->size, win->base, vbn_error_text())
               : err_core(status, "memory of the window", vbn_error_text());
}

int win_memory_describe(mpi_win_t *win, int rank, win_description_t *description)
{
    *description = (win_description_t){
        .size = (uint64_t)win->size, .unit = (uint64_t)win->unit, .read_only = (uint64_t)win->read_only};
    if (win->word != NULL && win->size > 0)
        description->word_at = (uint64_t)((uintptr_t)win->word - (uintptr_t)win->base);
    if (win_shares_node(win, rank)) {
        description->node_at = win->node_at;
        description->gate_at = (uint64_t)((uintptr_t)win->gate - (uintptr_t)rt_node.base);
        return MPI_SUCCESS;
    }
    if (win->mem == NULL || win->exposed == 0)
        return MPI_SUCCESS;
    const size_t start = (uintptr_t)win->base - (uintptr_t)vbn_mem_address(win->mem);
    const unsigned access = (win->read_only ? VBN_ACCESS_READ : WIN_ACCESS) | (win->registered ? VBN_ACCESS_COPY : 0);
    size_t length = sizeof(description->key);
    win->told = 1;
    if (vbn_key_export(win->mem, start, win->exposed, access, description->key, &length) != VBN_OK)
        return MPI_ERR_OTHER;
    description->key_length = length;
    return MPI_SUCCESS;
}

void win_memory_end(const mpi_win_t *win)
{
    if (win->registered)
        (void)vbn_mem_free(win->mem);
    else if (win->told)
        rt_memory_end_keys(win->block);
    if (win->block != NULL)
        (void)rt_memory_free(win->block);
    win_shared_end(win->shared);
}
