/* SPDX-License-Identifier: Apache-2.0
 * array.c - parts of arrays of several dimensions: subarray, and darray, which is what one process has of an array that
 * is distributed over a grid. Both are made dimension by dimension, the one whose elements are next to each other first.
 */
#include <stdlib.h>

#include "dt/make.h"
#include "err/err.h"
#include "mpi_impl.h"

/* An array while its dimensions are gone through. */
typedef struct array {
    dt_node_t *node; /* what is chosen of the dimensions so far */
    MPI_Aint extent; /* bytes that they span */
    MPI_Aint elements;
} array_t;

/* Along one dimension: cycles of `length` elements every `stride`, from `first` on, then `rest` elements. */
typedef struct choice {
    MPI_Count size; /* of the dimension */
    MPI_Count first;
    MPI_Count length;
    MPI_Count cycles;
    MPI_Count stride;
    MPI_Count rest;
} choice_t;

static void begin(dt_draft_t *draft, array_t *array, const dt_type_t *old)
{
    *array = (array_t){.node = dt_node_keep(old->node), .extent = (MPI_Aint)old->extent, .elements = 1};
    draft->align = old->align;
}

static void choose(dt_draft_t *draft, array_t *array, const choice_t *choice)
{
    dt_node_t *block = NULL;
    dt_node_t *chosen = NULL;
    dt_block_t parts[2] = {{0}};
    const MPI_Aint stride = dt_draft_times(draft, (MPI_Aint)choice->stride, array->extent);
    const MPI_Aint total = dt_draft_times(draft, (MPI_Aint)choice->size, array->extent);
    const MPI_Aint count = (MPI_Aint)(choice->cycles * choice->length + choice->rest); /* at most the size */
    array->elements = dt_draft_times(draft, array->elements, count);
    if (draft->rc != MPI_SUCCESS)
        return;
    parts[0].offset = (MPI_Aint)choice->first * array->extent; /* at most total, as is the next one */
    if (choice->rest > 0)
        parts[1].offset = (MPI_Aint)(choice->first + choice->cycles * choice->stride) * array->extent;
    draft->rc = dt_node_repeat(array->node, (size_t)choice->length, array->extent, 0, &block);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_node_repeat(block, (size_t)choice->cycles, stride, 0, &parts[0].node);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_node_repeat(array->node, (size_t)choice->rest, array->extent, 0, &parts[1].node);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_node_list(parts, parts[1].node->bytes > 0 ? 2 : 1, &chosen);
    dt_node_release(block);
    dt_node_release(parts[0].node);
    dt_node_release(parts[1].node);
    dt_node_release(array->node);
    array->node = chosen;
    array->extent = total;
}

static void end(dt_draft_t *draft, array_t *array, const dt_type_t *old)
{
    draft->node = array->node;
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_sig_repeat(old->sig, (size_t)array->elements, &draft->sig);
    dt_draft_resize(draft, 0, array->extent);
}

/* The dimension that comes i-th, the one with neighbouring elements first. */
static int dimension(int i, int ndims, int order)
{
    return order == MPI_ORDER_C ? ndims - 1 - i : i;
}

static int check_order(int ndims, int order)
{
    if (ndims < 1)
        return err_set(MPI_ERR_ARG, "ndims is %d; an array has a dimension at least", ndims);
    return order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN
               ? MPI_SUCCESS
               : err_set(MPI_ERR_ARG, "order is %d, neither MPI_ORDER_C nor MPI_ORDER_FORTRAN", order);
}

static void choose_part(dt_draft_t *draft, array_t *array, int i, MPI_Count size, MPI_Count subsize, MPI_Count start)
{
    const choice_t choice = {.size = size, .first = start, .length = subsize, .cycles = 1, .stride = 0};
    if (subsize < 1 || start < 0 || start > size - subsize)
        draft->rc = err_set(MPI_ERR_ARG, "dimension %d: %lld elements from %lld on are not part of %lld", i,
                            (long long)subsize, (long long)start, (long long)size);
    if (draft->rc == MPI_SUCCESS)
        choose(draft, array, &choice);
}

int mpi_Type_create_subarray(int ndims, const MPI_Count array_of_sizes[], const MPI_Count array_of_subsizes[],
                             const MPI_Count array_of_starts[], int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    dt_draft_t draft = {.rc = check_order(ndims, order)};
    array_t array;
    const size_t n = (size_t)ndims;
    const dt_argument_t arguments[] = {{.kind = DT_INTEGER, .n = 1, .ints = &ndims},
                                       {.kind = DT_COUNT, .n = n, .values = array_of_sizes},
                                       {.kind = DT_COUNT, .n = n, .values = array_of_subsizes},
                                       {.kind = DT_COUNT, .n = n, .values = array_of_starts},
                                       {.kind = DT_INTEGER, .n = 1, .ints = &order}};
    if (array_of_sizes == NULL || array_of_subsizes == NULL || array_of_starts == NULL)
        draft.rc = err_set(MPI_ERR_ARG, "an array of %d elements is NULL", ndims);
    begin(&draft, &array, dt_find(oldtype));
    for (int i = 0; i < ndims && draft.rc == MPI_SUCCESS; i++) {
        const int at = dimension(i, ndims, order);
        choose_part(&draft, &array, at, array_of_sizes[at], array_of_subsizes[at], array_of_starts[at]);
    }
    end(&draft, &array, dt_find(oldtype));
    return dt_draft_end(&draft, MPI_COMBINER_SUBARRAY, arguments, 5, &oldtype, 1, newtype);
}

/* How many elements a process gets at a time. */
static MPI_Count block_of(dt_draft_t *draft, int i, MPI_Count size, int distrib, int darg, int processes)
{
    const MPI_Count even = size / processes + (size % processes > 0);
    const MPI_Count block = darg != MPI_DISTRIBUTE_DFLT_DARG ? darg : distrib == MPI_DISTRIBUTE_CYCLIC ? 1 : even;
    if (distrib == MPI_DISTRIBUTE_NONE && processes == 1)
        return size;
    if (distrib == MPI_DISTRIBUTE_NONE)
        draft->rc = err_set(MPI_ERR_ARG, "dimension %d is not distributed, but over %d processes", i, processes);
    else if (distrib != MPI_DISTRIBUTE_BLOCK && distrib != MPI_DISTRIBUTE_CYCLIC)
        draft->rc = err_set(MPI_ERR_ARG, "dimension %d: %d is no distribution", i, distrib);
    else if (block < 1 || (distrib == MPI_DISTRIBUTE_BLOCK && block < even))
        draft->rc = err_set(MPI_ERR_ARG, "dimension %d: blocks of %lld for %d processes do not hold %lld elements", i,
                            (long long)block, processes, (long long)size);
    return block;
}

static void choose_share(dt_draft_t *draft, array_t *array, MPI_Count size, MPI_Count block, int processes,
                         MPI_Count place)
{
    choice_t choice = {.size = size, .length = block < size ? block : size};
    MPI_Count first;
    if (__builtin_mul_overflow(block, place, &first) || first > size)
        first = size; /* nothing is left for this process */
    if (__builtin_mul_overflow(block, (MPI_Count)processes, &choice.stride))
        choice.stride = size;
    choice.first = first;
    const MPI_Count left = size - first;
    choice.cycles = left / choice.stride;
    const MPI_Count tail = left % choice.stride;
    choice.cycles += tail >= block;
    choice.rest = tail >= block ? 0 : tail;
    choose(draft, array, &choice);
}

static void check_grid(dt_draft_t *draft, int size, int rank, int ndims, const int *psizes)
{
    MPI_Count processes = 1;
    for (int i = 0; i < ndims && draft->rc == MPI_SUCCESS; i++)
        if (psizes[i] < 1 || __builtin_mul_overflow(processes, psizes[i], &processes))
            draft->rc = err_set(MPI_ERR_ARG, "dimension %d of the grid has %d processes", i, psizes[i]);
    if (draft->rc == MPI_SUCCESS && (processes != size || rank < 0 || rank >= size))
        draft->rc = err_set(MPI_ERR_ARG, "rank %d of %d in a grid of %lld processes", rank, size, (long long)processes);
}

/* Where a rank is in dimension i of the grid, whose ranks are in row-major order. */
static int place_in(const int *psizes, int ndims, int i, int rank)
{
    for (int k = ndims - 1; k > i; k--)
        rank /= psizes[k];
    return rank % psizes[i];
}

int mpi_Type_create_darray(int size, int rank, int ndims, const MPI_Count array_of_gsizes[],
                           const int array_of_distribs[], const int array_of_dargs[], const int array_of_psizes[],
                           int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    dt_draft_t draft = {.rc = check_order(ndims, order)};
    array_t array;
    const int head[] = {size, rank, ndims};
    const size_t n = (size_t)ndims;
    const dt_argument_t arguments[] = {{.kind = DT_INTEGER, .n = 3, .ints = head},
                                       {.kind = DT_COUNT, .n = n, .values = array_of_gsizes},
                                       {.kind = DT_INTEGER, .n = n, .ints = array_of_distribs},
                                       {.kind = DT_INTEGER, .n = n, .ints = array_of_dargs},
                                       {.kind = DT_INTEGER, .n = n, .ints = array_of_psizes},
                                       {.kind = DT_INTEGER, .n = 1, .ints = &order}};
    if (array_of_gsizes == NULL || array_of_distribs == NULL || array_of_dargs == NULL || array_of_psizes == NULL)
        draft.rc = err_set(MPI_ERR_ARG, "an array of %d elements is NULL", ndims);
    if (draft.rc == MPI_SUCCESS)
        check_grid(&draft, size, rank, ndims, array_of_psizes);
    begin(&draft, &array, dt_find(oldtype));
    for (int i = 0; i < ndims && draft.rc == MPI_SUCCESS; i++) {
        const int at = dimension(i, ndims, order);
        const MPI_Count gsize = array_of_gsizes[at];
        if (gsize < 1)
            draft.rc = err_set(MPI_ERR_ARG, "dimension %d has %lld elements", at, (long long)gsize);
        const MPI_Count block = draft.rc != MPI_SUCCESS ? 0
                                                        : block_of(&draft, at, gsize, array_of_distribs[at],
                                                                   array_of_dargs[at], array_of_psizes[at]);
        if (draft.rc == MPI_SUCCESS)
            choose_share(&draft, &array, gsize, block, array_of_psizes[at], place_in(array_of_psizes, ndims, at, rank));
    }
    end(&draft, &array, dt_find(oldtype));
    return dt_draft_end(&draft, MPI_COMBINER_DARRAY, arguments, 6, &oldtype, 1, newtype);
}
