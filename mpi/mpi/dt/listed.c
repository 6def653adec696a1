/* SPDX-License-Identifier: Apache-2.0
 * listed.c - constructors of irregular datatypes: indexed, hindexed, blocks of one length, struct.
 */
#include <stdlib.h>

#include "dt/make.h"
#include "err/err.h"
#include "mpi_impl.h"

/* Blocks of one old type. lengths[i * step] elements at displs[i] * unit bytes. */
typedef struct list {
    dt_type_t *old;
    MPI_Count count;
    const MPI_Count *lengths;
    size_t step; /* 0: all have the first length */
    const MPI_Count *displs;
    MPI_Aint unit;
} list_t;

static int is_side_by_side(const dt_type_t *type)
{
    return dt_node_is_run(type->node) && type->size == type->extent;
}

/* Consecutive blocks of one length share their node; of old types that lie side by side a block is a run. */
static void add_block(dt_draft_t *draft, const list_t *list, MPI_Count i, dt_block_t *block, dt_node_t **last,
                      MPI_Count *last_length)
{
    const MPI_Count length = list->lengths[(size_t)i * list->step];
    dt_type_t *old = list->old;
    block->offset = dt_draft_times(draft, (MPI_Aint)list->displs[i], list->unit);
    if (length < 0)
        draft->rc = err_set(MPI_ERR_ARG, "block %lld has %lld elements, which is negative", (long long)i,
                            (long long)length);
    if (draft->rc != MPI_SUCCESS)
        return;
    dt_draft_bound(draft, old, length, block->offset);
    if (is_side_by_side(old)) {
        block->length = (size_t)dt_draft_times(draft, (MPI_Aint)length, (MPI_Aint)old->size);
        if (__builtin_add_overflow(block->offset, old->node->offset, &block->offset))
            draft->rc = err_set(MPI_ERR_ARG, "block %lld does not fit into an address space", (long long)i);
        return;
    }
    if (*last == NULL || length != *last_length) {
        dt_node_release(*last);
        *last_length = length;
        draft->rc = dt_node_repeat(old->node, (size_t)length, (MPI_Aint)old->extent, 0, last);
    }
    block->node = *last;
    if (*last != NULL)
        (void)dt_node_keep(*last);
}

static void draft_blocks(dt_draft_t *draft, const list_t *list)
{
    dt_node_t *last = NULL;
    MPI_Count last_length = 0;
    MPI_Count total = 0;
    dt_block_t *blocks = calloc((size_t)list->count + 1, sizeof(*blocks));
    if (blocks == NULL)
        draft->rc = err_set(MPI_ERR_NO_MEM, "datatype of %lld blocks: no memory left", (long long)list->count);
    for (MPI_Count i = 0; i < list->count && draft->rc == MPI_SUCCESS; i++) {
        add_block(draft, list, i, &blocks[i], &last, &last_length);
        if (__builtin_add_overflow(total, list->lengths[(size_t)i * list->step], &total))
            draft->rc = err_set(MPI_ERR_ARG, "the blocks have more elements than can be counted");
    }
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_node_list(blocks, (size_t)list->count, &draft->node);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_sig_repeat(list->old->sig, (size_t)total, &draft->sig);
    for (MPI_Count i = 0; blocks != NULL && i < list->count; i++)
        dt_node_release(blocks[i].node);
    dt_node_release(last);
    free(blocks);
}

/* What the call says of its arrays: the same of all four. */
static int check_arrays(dt_draft_t *draft, MPI_Count count, const void *lengths, const void *displs)
{
    if (count > 0 && (lengths == NULL || displs == NULL))
        draft->rc = err_set(MPI_ERR_ARG, "an array of %lld elements is NULL", (long long)count);
    return draft->rc == MPI_SUCCESS;
}

static int make_list(const list_t *list, int combiner, dt_argument_kind_t displ_kind, MPI_Datatype oldtype,
                     MPI_Datatype *newtype)
{
    dt_draft_t draft = {0};
    const size_t count = (size_t)list->count;
    const dt_argument_t arguments[] = {{.kind = DT_COUNT, .n = 1, .values = &list->count},
                                       {.kind = DT_COUNT, .n = list->step == 0 ? 1 : count, .values = list->lengths},
                                       {.kind = displ_kind, .n = count, .values = list->displs}};
    if (check_arrays(&draft, list->count, list->lengths, list->displs))
        draft_blocks(&draft, list);
    return dt_draft_end(&draft, combiner, arguments, 3, &oldtype, 1, newtype);
}

int mpi_Type_indexed(MPI_Count count, const MPI_Count array_of_blocklengths[], const MPI_Count array_of_displacements[],
                     MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    dt_type_t *old = dt_find(oldtype);
    const list_t list = {old, count, array_of_blocklengths, 1, array_of_displacements, (MPI_Aint)old->extent};
    return make_list(&list, MPI_COMBINER_INDEXED, DT_COUNT, oldtype, newtype);
}

int mpi_Type_create_hindexed(MPI_Count count, const MPI_Count array_of_blocklengths[],
                             const MPI_Count array_of_displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    const list_t list = {dt_find(oldtype), count, array_of_blocklengths, 1, array_of_displacements, 1};
    return make_list(&list, MPI_COMBINER_HINDEXED, DT_ADDRESS, oldtype, newtype);
}

int mpi_Type_create_indexed_block(MPI_Count count, MPI_Count blocklength, const MPI_Count array_of_displacements[],
                                  MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    dt_type_t *old = dt_find(oldtype);
    const list_t list = {old, count, &blocklength, 0, array_of_displacements, (MPI_Aint)old->extent};
    return make_list(&list, MPI_COMBINER_INDEXED_BLOCK, DT_COUNT, oldtype, newtype);
}

int mpi_Type_create_hindexed_block(MPI_Count count, MPI_Count blocklength, const MPI_Count array_of_displacements[],
                                   MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    const list_t list = {dt_find(oldtype), count, &blocklength, 0, array_of_displacements, 1};
    return make_list(&list, MPI_COMBINER_HINDEXED_BLOCK, DT_ADDRESS, oldtype, newtype);
}

/* Block i of a struct; its node is the caller's to release. */
static void add_member(dt_draft_t *draft, MPI_Count length, MPI_Count displ, MPI_Datatype type, dt_block_t *block,
                       dt_sig_part_t *part)
{
    dt_type_t *old = dt_draft_old(draft, type);
    if (length < 0)
        draft->rc = err_set(MPI_ERR_ARG, "a block of %lld elements: that is negative", (long long)length);
    if (draft->rc != MPI_SUCCESS)
        return;
    *part = (dt_sig_part_t){.sig = old->sig, .count = (size_t)length};
    block->offset = (MPI_Aint)displ;
    dt_draft_bound(draft, old, length, block->offset);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_node_repeat(old->node, (size_t)length, (MPI_Aint)old->extent, 0, &block->node);
}

static void draft_struct(dt_draft_t *draft, MPI_Count count, const MPI_Count *lengths, const MPI_Count *displs,
                         const MPI_Datatype *types)
{
    dt_block_t *blocks = calloc((size_t)count + 1, sizeof(*blocks));
    dt_sig_part_t *parts = calloc((size_t)count + 1, sizeof(*parts));
    if (blocks == NULL || parts == NULL)
        draft->rc = err_set(MPI_ERR_NO_MEM, "struct of %lld blocks: no memory left", (long long)count);
    for (MPI_Count i = 0; i < count && draft->rc == MPI_SUCCESS; i++)
        add_member(draft, lengths[i], displs[i], types[i], &blocks[i], &parts[i]);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_node_list(blocks, (size_t)count, &draft->node);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_sig_join(parts, (size_t)count, &draft->sig);
    for (MPI_Count i = 0; blocks != NULL && i < count; i++)
        dt_node_release(blocks[i].node);
    free(blocks);
    free(parts);
}

int mpi_Type_create_struct(MPI_Count count, const MPI_Count array_of_blocklengths[],
                           const MPI_Count array_of_displacements[], const MPI_Datatype array_of_types[],
                           MPI_Datatype *newtype)
{
    dt_draft_t draft = {0};
    const dt_argument_t arguments[] = {{.kind = DT_COUNT, .n = 1, .values = &count},
                                       {.kind = DT_COUNT, .n = (size_t)count, .values = array_of_blocklengths},
                                       {.kind = DT_ADDRESS, .n = (size_t)count, .values = array_of_displacements}};
    if (check_arrays(&draft, count, array_of_blocklengths, array_of_displacements) &&
        check_arrays(&draft, count, array_of_types, array_of_types))
        draft_struct(&draft, count, array_of_blocklengths, array_of_displacements, array_of_types);
    return dt_draft_end(&draft, MPI_COMBINER_STRUCT, arguments, 3, array_of_types, (size_t)count, newtype);
}
