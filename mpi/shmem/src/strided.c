/* SPDX-License-Identifier: Apache-2.0
 * strided.c - iput, iget, ibput, ibget: elements or blocks of them at equal distances.
 */
#include "shmem/src/entry.h"
#include "shmem/src/far.h"

/* Distances in bytes. */
typedef struct strided {
    size_t block;
    size_t count;
    ptrdiff_t to;
    ptrdiff_t from;
} strided_t;

static strided_t layout(ptrdiff_t dst, ptrdiff_t sst, size_t element, size_t block, size_t count, const char *function)
{
    if (dst < (ptrdiff_t)block || sst < (ptrdiff_t)block)
        shm_fatal(function, "arguments dst and sst are %td and %td elements, but a block has %zu", dst, sst, block);
    return (strided_t){block * element, count, dst * (ptrdiff_t)element, sst * (ptrdiff_t)element};
}

/* Bytes from the first to the last that is touched. */
static size_t span(const strided_t *layout, ptrdiff_t stride)
{
    return (layout->count - 1) * (size_t)stride + layout->block;
}

/* is_put: `to` is the side that others see, else `from`. */
static void copy_elements(void *to, const void *from, const strided_t *layout, int is_put)
{
    unsigned char *at = to;
    const unsigned char *source = from;
    for (size_t i = 0; i < layout->count; i++, at += layout->to, source += layout->from)
        vbn_copy_words(at, source, layout->block, is_put ? at : source);
}

static void put_far(shm_ctx_t *ctx, unsigned char *dest, const unsigned char *source, const strided_t *layout, int pe,
                    const char *function)
{
    size_t offset;
    size_t covered;
    rt_enter();
    vbn_key_t *key = shm_far_key(pe, dest, &offset, &covered, function);
    if (span(layout, layout->to) <= covered) {
        shm_op_t *op = shm_op_new(NULL, pe, function);
        op->blocks = (vbn_strided_t){(void *)(uintptr_t)source, layout->block, layout->count, layout->from,
                                     (size_t)layout->to};
        shm_op_begun(op, vbn_put_strided(key, offset, &op->blocks, &op->op), function);
        shm_op_end(op);
    } else { /* F3 */
        for (size_t i = 0; i < layout->count; i++)
            shm_far_put(ctx, dest + (ptrdiff_t)i * layout->to, source + (ptrdiff_t)i * layout->from, layout->block, pe,
                        0, function);
    }
    rt_leave();
}

static void get_far(shm_ctx_t *ctx, unsigned char *dest, const unsigned char *source, const strided_t *layout, int pe,
                    const char *function)
{
    size_t offset;
    size_t covered;
    rt_enter();
    vbn_key_t *key = shm_far_key(pe, source, &offset, &covered, function);
    if (span(layout, layout->from) <= covered) {
        shm_op_t *op = shm_op_new(NULL, pe, function);
        op->blocks = (vbn_strided_t){dest, layout->block, layout->count, layout->to, (size_t)layout->from};
        shm_op_begun(op, vbn_get_strided(key, offset, &op->blocks, &op->op), function);
        shm_op_end(op);
    } else {
        for (size_t i = 0; i < layout->count; i++)
            shm_far_get(ctx, dest + (ptrdiff_t)i * layout->to, source + (ptrdiff_t)i * layout->from, layout->block, pe,
                        0, function);
    }
    rt_leave();
}

void shm_iput(shm_ctx_t *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t element,
              size_t block, size_t count, int pe, const char *function)
{
    pe = shm_pe_of(ctx, pe, function);
    shm_check_pe(pe, function);
    if (count == 0 || block == 0)
        return;
    const strided_t blocks = layout(dst, sst, element, block, count, function);
    void *to = shm_find_near(dest, span(&blocks, blocks.to), pe, function);
    if (to == NULL) {
        put_far(ctx, dest, source, &blocks, pe, function);
        return;
    }
    copy_elements(to, source, &blocks, 1);
    shm_touch((unsigned)shm_index(pe));
}

void shm_iget(shm_ctx_t *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t element,
              size_t block, size_t count, int pe, const char *function)
{
    pe = shm_pe_of(ctx, pe, function);
    shm_check_pe(pe, function);
    if (count == 0 || block == 0)
        return;
    const strided_t blocks = layout(dst, sst, element, block, count, function);
    const void *from = shm_find_near(source, span(&blocks, blocks.from), pe, function);
    if (from == NULL)
        get_far(ctx, dest, source, &blocks, pe, function);
    else
        copy_elements(dest, from, &blocks, 0);
}
