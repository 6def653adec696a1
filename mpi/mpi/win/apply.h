/* SPDX-License-Identifier: Apache-2.0
 * apply.h - the accumulate family at the target: one element after the other (MPI 5.0, 12.3.4, 12.7.1).
 */
#ifndef VERBENA_MPI_WIN_APPLY_H
#define VERBENA_MPI_WIN_APPLY_H

#include "dt/dt.h"
#include "win/message.h"

/* Whether calls of the accumulate family take this operation on these elements. */
int win_op_takes(MPI_Op op, const dt_type_t *basic);
/* Memory that calls change. */
typedef struct win_memory {
    unsigned char *base;
    size_t size;
    const win_region_t *regions; /* of a dynamic window, whose base and size are 0 */
    int is_dynamic;
    int read_only;          /* this process may not write to it */
    _Atomic uint32_t *word; /* W4; NULL: none */
} win_memory_t;

/* Elements of memory of this process, and what becomes of them. All of it is right already. */
typedef struct win_change {
    unsigned char *first;
    int64_t spacing; /* from an element to the next one */
    size_t count;
    const dt_type_t *basic;
    MPI_Op op;
    int swaps;                 /* compare and swap: data has the new value, then the expected one */
    const unsigned char *data; /* packed; NULL for MPI_NO_OP */
} win_change_t;

/* Makes a change. word: W4, or NULL. before: gets the elements as they were, packed; NULL: nobody asks. */
void win_change(const win_change_t *change, _Atomic uint32_t *word, unsigned char *before);

/* Carries out a message of kind WIN_ACC, WIN_GET_ACC or WIN_CAS; for the last two the elements before go, packed, to `before`, of
 * WIN_DATA_MOST bytes. MPI_SUCCESS, MPI_ERR_RMA_RANGE for elements that are not all in the window or attached, MPI_ERR_ACCESS for
 * a change of memory that the process may not write, or another error of a message that no origin sends; then nothing has
 * changed. */
int win_apply(const win_memory_t *memory, const win_header_t *header, const void *data, size_t length,
              unsigned char *before, size_t *before_length_p);

#endif
