/* SPDX-License-Identifier: Apache-2.0
 * apply.c - the accumulate family at the target. Elements travel packed: a pair without the gap between its numbers. Numbers that
 * threads of the target read at the same time are stored as one word each.
 */
#include "win/apply.h"

#include <sched.h>
#include <string.h>

#include "dt/data.h"
#include "op/op.h"

#define LOOKS 256       /* at a word that another process holds, before others may run */
#define ELEMENT_MOST 64 /* bytes; long double _Complex has 32 */

typedef uint16_t number2_t __attribute__((may_alias, aligned(1)));
typedef uint32_t number4_t __attribute__((may_alias, aligned(1)));
typedef uint64_t number8_t __attribute__((may_alias, aligned(1)));

static int is_predefined(MPI_Op op)
{
    return (uintptr_t)op > OP_FIRST && (uintptr_t)op < OP_FIRST + OP_NAMED;
}

int win_op_takes(MPI_Op op, const dt_type_t *basic)
{
    return op == MPI_REPLACE || op == MPI_NO_OP || (is_predefined(op) && op_find(op, dt_handle(basic)) != NULL);
}

/* Bytes of data that travel for an element. */
static size_t carried(const win_header_t *header, size_t size)
{
    return header->kind == WIN_CAS ? 2 * size : (MPI_Op)(uintptr_t)header->op == MPI_NO_OP ? 0 : size;
}

static int check(const win_header_t *header, size_t length, const dt_type_t **basic_p)
{
    const dt_type_t *basic = header->basic < DT_FIRST || header->basic >= DT_FIRST + DT_NAMED
                                 ? NULL
                                 : dt_find((MPI_Datatype)(uintptr_t)header->basic);
    if (basic == NULL || basic->size == 0 || basic->extent > ELEMENT_MOST || header->count == 0 ||
        header->count > WIN_DATA_MOST / basic->size || (header->kind == WIN_CAS && header->count != 1))
        return MPI_ERR_TYPE;
    if (header->kind != WIN_CAS && !win_op_takes((MPI_Op)(uintptr_t)header->op, basic))
        return MPI_ERR_OP;
    *basic_p = basic;
    return length == header->count * carried(header, basic->size) ? MPI_SUCCESS : MPI_ERR_COUNT;
}

/* Attached bytes from this one on, to the end of its region; for changes only where the process may write. */
static size_t attached_from(const win_memory_t *memory, uintptr_t at, int writes)
{
    for (const win_region_t *region = memory->regions; region != NULL; region = region->next)
        if (at >= region->start && at - region->start < region->length)
            return region->read_only && writes ? 0 : region->length - (at - region->start);
    return 0;
}

/* Bytes of several regions may be one access: 12.2.4 asks that each is attached. */
static int is_attached(const win_memory_t *memory, uintptr_t low, size_t length, int writes)
{
    while (length > 0) {
        const size_t some = attached_from(memory, low, writes);
        if (some == 0)
            return 0;
        low += some;
        length -= some < length ? some : length;
    }
    return 1;
}

/* What lies between the elements need not be attached. */
static int are_attached(const win_memory_t *memory, const win_header_t *header, size_t element, int writes)
{
    for (uint64_t i = 0; i < header->count; i++)
        if (!is_attached(memory, header->at + i * (uint64_t)header->spacing, element, writes))
            return 0;
    return 1;
}

static int changes(const win_header_t *header)
{
    return header->kind == WIN_CAS || (MPI_Op)(uintptr_t)header->op != MPI_NO_OP;
}

/* Where the first element is; NULL: some are outside, or, of a dynamic window, not for writing when that is asked for. */
static unsigned char *locate(const win_memory_t *memory, const win_header_t *header, const dt_type_t *basic, int writes)
{
    const size_t element = (size_t)basic->node->high;
    int64_t last;
    uint64_t low = header->at;
    uint64_t high = header->at;
    if (__builtin_mul_overflow(header->spacing, (int64_t)header->count - 1, &last))
        return NULL;
    if (last < 0 ? (uint64_t)-last > low : __builtin_add_overflow(high, (uint64_t)last, &high))
        return NULL;
    low -= last < 0 ? (uint64_t)-last : 0;
    if (__builtin_add_overflow(high, element, &high))
        return NULL;
    if (memory->is_dynamic)
        return is_attached(memory, low, high - low, writes) || are_attached(memory, header, element, writes)
                   ? (unsigned char *)(uintptr_t)header->at
                   : NULL;
    return high <= memory->size ? memory->base + header->at : NULL;
}

/* Each number is one load and one store. */
static void copy_number(void *to, const void *from, size_t size)
{
    switch (size) {
    case 1: *(uint8_t *)to = *(const uint8_t *)from; break;
    case 2: *(number2_t *)to = *(const number2_t *)from; break;
    case 4: *(number4_t *)to = *(const number4_t *)from; break;
    default: *(number8_t *)to = *(const number8_t *)from; break;
    }
}

static unsigned char *element_at(const win_change_t *job, size_t i)
{
    return job->first + (ptrdiff_t)i * (ptrdiff_t)job->spacing;
}

/* At most what an element's buffer holds: check() has refused larger ones, which the compiler cannot see. */
static size_t bounded(size_t bytes)
{
    return bytes < ELEMENT_MOST ? bytes : ELEMENT_MOST;
}

/* Between the window and a buffer of this process. */
static void load(const win_change_t *job, size_t i, unsigned char *natural)
{
    vbn_copy_words(natural, element_at(job, i), bounded((size_t)job->basic->node->high), element_at(job, i));
}

static void store(const win_change_t *job, size_t i, const unsigned char *natural)
{
    if (job->basic->kind == DT_PAIR) { /* what lies in its gap is not touched */
        unsigned char packed[ELEMENT_MOST];
        const dt_data_t from = {
            .base = (void *)(uintptr_t)natural, .type = (dt_type_t *)(uintptr_t)job->basic, .count = 1};
        const dt_data_t to = {.base = element_at(job, i), .type = (dt_type_t *)(uintptr_t)job->basic, .count = 1};
        dt_pack(&from, 0, packed, job->basic->size);
        dt_unpack(&to, 0, packed, job->basic->size);
        return;
    }
    vbn_copy_words(element_at(job, i), natural, bounded(job->basic->size), element_at(job, i));
}

/* Packed elements and those as they lie in memory differ for pairs. */
static void expand(const win_change_t *job, const unsigned char *packed, unsigned char *natural)
{
    const dt_data_t data = {.base = natural, .type = (dt_type_t *)(uintptr_t)job->basic, .count = 1};
    if (job->basic->kind == DT_PAIR)
        dt_unpack(&data, 0, packed, job->basic->size);
    else
        memcpy(natural, packed, bounded(job->basic->size));
}

static void shrink(const win_change_t *job, unsigned char *natural, unsigned char *packed)
{
    const dt_data_t data = {.base = natural, .type = (dt_type_t *)(uintptr_t)job->basic, .count = 1};
    if (job->basic->kind == DT_PAIR)
        dt_pack(&data, 0, packed, job->basic->size);
    else
        memcpy(packed, natural, bounded(job->basic->size));
}

static void apply_one(const win_change_t *job, op_kernel_t kernel, size_t i, unsigned char *before)
{
    _Alignas(16) unsigned char current[ELEMENT_MOST] = {0};
    _Alignas(16) unsigned char given[ELEMENT_MOST] = {0};
    const size_t size = job->basic->size;
    load(job, i, current);
    if (before != NULL)
        shrink(job, current, before + i * size);
    if (job->op == MPI_NO_OP)
        return;
    expand(job, job->data + i * size, given);
    if (kernel == NULL) {
        store(job, i, given);
        return;
    }
    kernel(given, current, 1);
    store(job, i, current);
}

/* One number of up to 8 bytes, as most calls have it: one load and one store, without copies through memory of any length. */
static int apply_number(const win_change_t *job, op_kernel_t kernel, unsigned char *before)
{
    const size_t size = job->basic->size;
    _Alignas(8) unsigned char current[8];
    _Alignas(8) unsigned char given[8];
    if (job->count != 1 || size > 8 || (size & (size - 1)) != 0 || job->basic->kind == DT_PAIR ||
        job->op == MPI_NO_OP || (uintptr_t)job->first % size != 0)
        return 0;
    copy_number(current, job->first, size);
    copy_number(given, job->data, size);
    if (before != NULL)
        copy_number(before, current, size);
    if (kernel != NULL)
        kernel(given, current, 1);
    copy_number(job->first, kernel != NULL ? current : given, size);
    return 1;
}

/* Many numbers side by side, aligned as the kernels need them: in one call of the kernel. */
static int apply_all(const win_change_t *job, op_kernel_t kernel, unsigned char *before)
{
    _Alignas(16) unsigned char given[WIN_DATA_MOST];
    const size_t bytes = job->count * job->basic->size;
    if (kernel == NULL || job->basic->kind == DT_PAIR || job->count < 2 || job->spacing != (int64_t)job->basic->size ||
        (uintptr_t)job->first % job->basic->align != 0)
        return 0;
    if (before != NULL)
        memcpy(before, job->first, bytes);
    memcpy(given, job->data, bytes);
    kernel(given, job->first, job->count);
    return 1;
}

static void compare_and_swap(const win_change_t *job, unsigned char *before)
{
    const size_t size = job->basic->size;
    _Alignas(16) unsigned char current[ELEMENT_MOST] = {0};
    load(job, 0, current);
    memcpy(before, current, size);
    if (memcmp(current, job->data + size, size) == 0)
        store(job, 0, job->data);
}

/* Nobody holds it longer than WIN_DATA_MOST bytes take. */
static void hold(_Atomic uint32_t *word)
{
    int looks = 0;
    /* acquire: what the holder before has stored is seen */
    while (atomic_exchange_explicit(word, 1, memory_order_acquire) != 0)
        while (atomic_load_explicit(word, memory_order_relaxed) != 0)
            if (++looks % LOOKS == 0)
                (void)sched_yield(); /* the holder may wait for this processor */
}

static void change_all(const win_change_t *job, unsigned char *before)
{
    const op_kernel_t kernel = job->op == MPI_REPLACE || job->op == MPI_NO_OP ? NULL
                                                                              : op_find(job->op, dt_handle(job->basic));
    if (!apply_number(job, kernel, before) && !apply_all(job, kernel, before))
        for (size_t i = 0; i < job->count; i++)
            apply_one(job, kernel, i, before);
}

void win_change(const win_change_t *job, _Atomic uint32_t *word, unsigned char *before)
{
    if (word != NULL)
        hold(word);
    if (job->swaps)
        compare_and_swap(job, before);
    else
        change_all(job, before);
    if (word != NULL) /* release: pairs with the acquire of the next holder */
        atomic_store_explicit(word, 0, memory_order_release);
}

int win_apply(const win_memory_t *memory, const win_header_t *header, const void *data, size_t length,
              unsigned char *before, size_t *before_length_p)
{
    win_change_t job = {.op = (MPI_Op)(uintptr_t)header->op,
                        .swaps = header->kind == WIN_CAS,
                        .spacing = header->spacing,
                        .count = header->count,
                        .data = data};
    const int rc = check(header, length, &job.basic);
    if (rc != MPI_SUCCESS)
        return rc;
    job.first = locate(memory, header, job.basic, 0);
    if (job.first == NULL)
        return MPI_ERR_RMA_RANGE;
    if (changes(header) && (memory->read_only || locate(memory, header, job.basic, 1) == NULL))
        return MPI_ERR_ACCESS;
    *before_length_p = header->kind == WIN_ACC ? 0 : header->count * job.basic->size;
    win_change(&job, memory->word, header->kind == WIN_ACC ? NULL : before);
    return MPI_SUCCESS;
}
