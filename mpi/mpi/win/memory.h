/* SPDX-License-Identifier: Apache-2.0
 * memory.h - the memory of a window: where it comes from, how other ranks reach it (MPI 5.0, 12.2).
 */
#ifndef VERBENA_MPI_WIN_MEMORY_H
#define VERBENA_MPI_WIN_MEMORY_H

#include "win/message.h"

#define WIN_LINE ((size_t)64)         /* of the processor: words of W4 and W7 share none with data */
#define WIN_PAGE_BYTES ((size_t)4096) /* windows of so many bytes and more begin with a page */

/* Behind the data of a rank, where other ranks map it. */
typedef struct win_control {
    _Alignas(64) _Atomic uint32_t word; /* W4 */
    _Alignas(64) win_gate_t gate;       /* W7 */
} win_control_t;

/* Nobody knows of it yet: the memory may have been another window's. */
static inline void win_control_open(win_control_t *control)
{
    atomic_store_explicit(&control->word, 0, memory_order_relaxed);
    atomic_store_explicit(&control->gate, 0, memory_order_relaxed);
}

/* Memory of MPI_Win_allocate, of the allocator of rt/memory.h. Its content is undefined. MPI_SUCCESS or an error. */
int win_memory_allocate(mpi_win_t *draft);
/* Lets other ranks reach memory that nobody can map: of MPI_Win_create, and allocated where no arena was to be had. */
int win_memory_register(mpi_win_t *win);
/* What another rank needs to know; the same host's ranks map it, others get a key. MPI_SUCCESS, or the error for the answer. */
int win_memory_describe(mpi_win_t *win, int rank, win_description_t *description);
/* Ends registration and keys, and gives allocated memory back. */
void win_memory_end(const mpi_win_t *win);

#endif
