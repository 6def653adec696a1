/* SPDX-License-Identifier: Apache-2.0
 * node.c - making nodes, in the simplest shape that says the same.
 */
#include "dt/node.h"

#include <stdlib.h>

#include "err/err.h"

dt_node_t dt_node_empty = {.shape = DT_RUNS};

dt_node_t *dt_node_keep(dt_node_t *node)
{
    if (node->refs > 0)
        node->refs++;
    return node;
}

void dt_node_release(dt_node_t *node)
{
    if (node == NULL || node->refs == 0 || --node->refs > 0)
        return;
    if (node->child != NULL)
        dt_node_release(node->child);
    for (size_t i = 0; node->entries != NULL && i < node->count; i++)
        dt_node_release(node->entries[i].node);
    free(node->entries);
    free(node);
}

static int too_large(void)
{
    return err_set(MPI_ERR_ARG, "the datatype does not fit into an address space");
}

static int give(const dt_node_t *made, dt_node_t **node_p)
{
    dt_node_t *node = malloc(sizeof(*node));
    if (node == NULL)
        return err_set(MPI_ERR_NO_MEM, "datatype: no memory left");
    *node = *made;
    node->refs = 1;
    if (node->child != NULL)
        (void)dt_node_keep(node->child);
    *node_p = node;
    return MPI_SUCCESS;
}

/* Where the bytes [low, high) at offset end up when they are repeated. */
static int spread(dt_node_t *made, MPI_Aint low, MPI_Aint high)
{
    MPI_Aint way;
    if (__builtin_mul_overflow((MPI_Aint)made->count - 1, made->stride, &way))
        return too_large();
    const MPI_Aint before = way < 0 ? way : 0;
    const MPI_Aint after = way > 0 ? way : 0;
    if (__builtin_add_overflow(low, made->offset, &made->low) ||
        __builtin_add_overflow(made->low, before, &made->low) ||
        __builtin_add_overflow(high, made->offset, &made->high) ||
        __builtin_add_overflow(made->high, after, &made->high))
        return too_large();
    return MPI_SUCCESS;
}

static int give_runs(size_t count, size_t length, MPI_Aint stride, MPI_Aint offset, dt_node_t **node_p)
{
    dt_node_t made = {.shape = DT_RUNS,
                      .pieces = count,
                      .offset = offset,
                      .count = count,
                      .length = length,
                      .stride = count == 1 ? 0 : stride};
    if (count > PTRDIFF_MAX || __builtin_mul_overflow(count, length, &made.bytes) || made.bytes > PTRDIFF_MAX)
        return too_large();
    const int rc = spread(&made, 0, (MPI_Aint)length);
    return rc != MPI_SUCCESS ? rc : give(&made, node_p);
}

static int give_loop(dt_node_t *child, size_t count, MPI_Aint stride, MPI_Aint offset, dt_node_t **node_p)
{
    dt_node_t made = {.shape = DT_LOOP, .offset = offset, .count = count, .stride = stride, .child = child};
    if (count > PTRDIFF_MAX || __builtin_mul_overflow(count, child->bytes, &made.bytes) || made.bytes > PTRDIFF_MAX)
        return too_large();
    if (__builtin_mul_overflow(count, child->pieces, &made.pieces))
        made.pieces = SIZE_MAX;
    const int rc = spread(&made, child->low, child->high);
    return rc != MPI_SUCCESS ? rc : give(&made, node_p);
}

static int repeat_runs(dt_node_t *child, size_t count, MPI_Aint stride, MPI_Aint offset, dt_node_t **node_p)
{
    MPI_Aint first;
    MPI_Aint whole;
    size_t bytes;
    if (__builtin_add_overflow(offset, child->offset, &first))
        return too_large();
    if (count == 1)
        return give_runs(child->count, child->length, child->stride, first, node_p);
    if (child->count == 1 && stride == (MPI_Aint)child->length)
        return __builtin_mul_overflow(count, child->length, &bytes) ? too_large()
                                                                    : give_runs(1, bytes, 0, first, node_p);
    if (child->count == 1)
        return give_runs(count, child->length, stride, first, node_p);
    if (!__builtin_mul_overflow((MPI_Aint)child->count, child->stride, &whole) && whole == stride)
        return __builtin_mul_overflow(count, child->count, &bytes)
                   ? too_large()
                   : give_runs(bytes, child->length, child->stride, first, node_p);
    return give_loop(child, count, stride, offset, node_p);
}

int dt_node_repeat(dt_node_t *child, size_t count, MPI_Aint stride, MPI_Aint offset, dt_node_t **node_p)
{
    *node_p = NULL;
    if (count == 0 || child->bytes == 0) {
        *node_p = &dt_node_empty;
        return MPI_SUCCESS;
    }
    if (count == 1 && offset == 0) {
        *node_p = dt_node_keep(child);
        return MPI_SUCCESS;
    }
    return child->shape == DT_RUNS ? repeat_runs(child, count, stride, offset, node_p)
                                   : give_loop(child, count, stride, offset, node_p);
}

/* A list while it is made. */
typedef struct list {
    dt_entry_t *entries;
    size_t count;
    size_t bytes;
    size_t pieces;
    MPI_Aint low;
    MPI_Aint high;
} list_t;

static int append(list_t *list, const dt_block_t *block)
{
    dt_node_t *node = block->node;
    const size_t bytes = node == NULL ? block->length : node->bytes;
    MPI_Aint offset = block->offset;
    MPI_Aint low;
    MPI_Aint high;
    if (bytes == 0)
        return MPI_SUCCESS;
    if (__builtin_add_overflow(offset, node == NULL ? 0 : node->low, &low) ||
        __builtin_add_overflow(offset, node == NULL ? (MPI_Aint)bytes : node->high, &high) ||
        __builtin_add_overflow(list->bytes, bytes, &list->bytes) || list->bytes > PTRDIFF_MAX)
        return too_large();
    list->low = list->count == 0 || low < list->low ? low : list->low;
    list->high = list->count == 0 || high > list->high ? high : list->high;
    if (node != NULL && dt_node_is_run(node)) {
        offset += node->offset; /* low, which fits */
        node = NULL;
    }
    const dt_entry_t *last = list->count > 0 ? &list->entries[list->count - 1] : NULL;
    if (node == NULL && last != NULL && last->node == NULL && /* it touches the run before it */
        last->offset + (MPI_Aint)(list->bytes - bytes - last->start) == offset)
        return MPI_SUCCESS;
    list->entries[list->count++] = (dt_entry_t){.offset = offset, .start = list->bytes - bytes, .node = node};
    if (__builtin_add_overflow(list->pieces, node == NULL ? 1 : node->pieces, &list->pieces))
        list->pieces = SIZE_MAX;
    return MPI_SUCCESS;
}

/* Whether all entries are runs of one length, equally far from each other. */
static int is_regular(const list_t *list)
{
    const dt_entry_t *entries = list->entries;
    const size_t length = list->bytes / list->count;
    MPI_Aint stride = 0;
    if (list->bytes % list->count != 0)
        return 0;
    if (list->count > 1 && __builtin_sub_overflow(entries[1].offset, entries[0].offset, &stride))
        return 0;
    for (size_t i = 0; i < list->count; i++) {
        MPI_Aint step = stride;
        if (i > 0 && __builtin_sub_overflow(entries[i].offset, entries[i - 1].offset, &step))
            return 0;
        if (entries[i].node != NULL || entries[i].start != i * length || step != stride)
            return 0;
    }
    return 1;
}

static int give_list(list_t *list, dt_node_t **node_p)
{
    const size_t size = (list->count + 1) * sizeof(*list->entries);
    dt_entry_t *fitting = realloc(list->entries, size);
    if (fitting != NULL)
        list->entries = fitting;
    dt_node_t made = {.shape = DT_LIST,
                      .bytes = list->bytes,
                      .pieces = list->pieces,
                      .low = list->low,
                      .high = list->high,
                      .count = list->count,
                      .entries = list->entries};
    const int rc = give(&made, node_p);
    if (rc != MPI_SUCCESS)
        return rc;
    list->entries[list->count] = (dt_entry_t){.start = list->bytes};
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].node != NULL)
            (void)dt_node_keep(list->entries[i].node);
    list->entries = NULL;
    return MPI_SUCCESS;
}

static int simplest(list_t *list, dt_node_t **node_p)
{
    const dt_entry_t *first = list->entries;
    if (list->count == 0) {
        *node_p = &dt_node_empty;
        return MPI_SUCCESS;
    }
    if (list->count == 1 && first->node != NULL)
        return dt_node_repeat(first->node, 1, 0, first->offset, node_p);
    if (is_regular(list)) {
        const MPI_Aint stride = list->count > 1 ? first[1].offset - first[0].offset : 0;
        return give_runs(list->count, list->bytes / list->count, stride, first->offset, node_p);
    }
    return give_list(list, node_p);
}

int dt_node_list(const dt_block_t *blocks, size_t count, dt_node_t **node_p)
{
    list_t list = {.entries = calloc(count + 1, sizeof(*list.entries))};
    int rc = list.entries == NULL ? err_set(MPI_ERR_NO_MEM, "datatype: no memory left") : MPI_SUCCESS;
    *node_p = NULL;
    for (size_t i = 0; i < count && rc == MPI_SUCCESS; i++)
        rc = append(&list, &blocks[i]);
    if (rc == MPI_SUCCESS)
        rc = simplest(&list, node_p);
    free(list.entries);
    return rc;
}
