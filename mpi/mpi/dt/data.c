/* SPDX-License-Identifier: Apache-2.0
 * data.c - packing, unpacking, lists of pieces: what is done with the runs that a walk finds.
 */
#include "dt/data.h"

#include <string.h>

#include "err/err.h"

typedef struct packer {
    dt_sink_t sink;
    char *packed;
} packer_t;

#define SHORT 32 /* bytes of a run that is not worth a call of memcpy */

/* 1 to SHORT bytes: the first and the last half, which may overlap. */
static inline void copy_short(char *to, const char *from, size_t length)
{
    struct {
        uint64_t words[2];
    } first, last;
    if (length >= 16) {
        memcpy(&first, from, 16);
        memcpy(&last, from + length - 16, 16);
        memcpy(to, &first, 16);
        memcpy(to + length - 16, &last, 16);
    } else if (length >= 8) {
        memcpy(&first, from, 8);
        memcpy(&last, from + length - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + length - 8, &last, 8);
    } else if (length >= 4) {
        memcpy(&first, from, 4);
        memcpy(&last, from + length - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + length - 4, &last, 4);
    } else {
        to[0] = from[0];
        to[length / 2] = from[length / 2];
        to[length - 1] = from[length - 1];
    }
}

static inline void copy_run(char *to, const char *from, size_t length)
{
    if (length <= SHORT)
        copy_short(to, from, length);
    else
        memcpy(to, from, length);
}

/* The compiler makes one load and one store of a memcpy of few bytes whose number it knows. */
static inline void copy_runs(char *to, MPI_Aint to_stride, const char *from, MPI_Aint from_stride, size_t length,
                             size_t count)
{
#define COPY_RUNS(copy)                                                                                                \
    for (size_t i = 0; i < count; i++, to += to_stride, from += from_stride)                                           \
    copy
    switch (length) {
    case 4: COPY_RUNS(memcpy(to, from, 4)); break;
    case 8: COPY_RUNS(memcpy(to, from, 8)); break;
    case 16: COPY_RUNS(memcpy(to, from, 16)); break;
    default: COPY_RUNS(copy_run(to, from, length)); break;
    }
#undef COPY_RUNS
}

static void pack_runs(dt_sink_t *sink, char *memory, size_t length, MPI_Aint stride, size_t count)
{
    packer_t *packer = (packer_t *)sink;
    copy_runs(packer->packed, (MPI_Aint)length, memory, stride, length, count);
    packer->packed += length * count;
}

static void unpack_runs(dt_sink_t *sink, char *memory, size_t length, MPI_Aint stride, size_t count)
{
    packer_t *packer = (packer_t *)sink;
    copy_runs(memory, stride, packer->packed, (MPI_Aint)length, length, count);
    packer->packed += length * count;
}

static inline char *place_of(uintptr_t base, const dt_entry_t *entry)
{
    return (char *)(base + (uintptr_t)entry->offset);
}

static void pack_list(dt_sink_t *sink, uintptr_t base, const dt_entry_t *entries, size_t count)
{
    packer_t *packer = (packer_t *)sink;
    for (size_t i = 0; i < count; i++) {
        const size_t length = entries[i + 1].start - entries[i].start;
        copy_run(packer->packed, place_of(base, &entries[i]), length);
        packer->packed += length;
    }
}

static void unpack_list(dt_sink_t *sink, uintptr_t base, const dt_entry_t *entries, size_t count)
{
    packer_t *packer = (packer_t *)sink;
    for (size_t i = 0; i < count; i++) {
        const size_t length = entries[i + 1].start - entries[i].start;
        copy_run(place_of(base, &entries[i]), packer->packed, length);
        packer->packed += length;
    }
}

/* All elements as one node, which lives as long as the call. */
static dt_node_t whole_of(const dt_data_t *data)
{
    dt_node_t *node = data->type->node;
    if (data->count == 1)
        return *node;
    if (dt_node_is_run(node))
        return (dt_node_t){.shape = DT_RUNS,
                           .offset = node->offset,
                           .count = data->count,
                           .length = node->length,
                           .stride = (MPI_Aint)data->type->extent};
    return (dt_node_t){.shape = DT_LOOP, .count = data->count, .stride = (MPI_Aint)data->type->extent, .child = node};
}

void dt_walk(const dt_data_t *data, size_t from, size_t length, dt_sink_t *sink)
{
    const dt_node_t whole = whole_of(data);
    dt_node_walk(&whole, (uintptr_t)data->base, from, from + length, sink);
}

void dt_pack(const dt_data_t *data, size_t from, void *packed, size_t length)
{
    packer_t packer = {.sink = {.take = pack_runs, .take_list = pack_list}, .packed = packed};
    if (length == 0)
        return;
    if (data->type == NULL)
        memcpy(packed, (const char *)data->base + from, length);
    else
        dt_walk(data, from, length, &packer.sink);
}

void dt_unpack(const dt_data_t *data, size_t from, const void *packed, size_t length)
{
    packer_t packer = {.sink = {.take = unpack_runs, .take_list = unpack_list}, .packed = (char *)(uintptr_t)packed};
    if (length == 0)
        return;
    if (data->type == NULL)
        memcpy((char *)data->base + from, packed, length);
    else
        dt_walk(data, from, length, &packer.sink);
}

/* Whether all elements are one piece of memory. */
static int is_piece(const dt_type_t *type, size_t count)
{
    return type->size == 0 || count == 0 || (dt_node_is_run(type->node) && (count == 1 || type->size == type->extent));
}

static int nowhere(const void *buffer, const char *name)
{
    return buffer == MPI_IN_PLACE
               ? err_set(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which this argument cannot be", name)
               : err_set(MPI_ERR_BUFFER, "%s is %p, where no memory is, but there are elements", name, buffer);
}

int dt_check_place(const void *buffer, MPI_Count count, MPI_Datatype handle, const char *name)
{
    const dt_type_t *type = dt_find(handle);
    return count > 0 && type->size > 0 && dt_is_nowhere(buffer, type) ? nowhere(buffer, name) : MPI_SUCCESS;
}

int dt_describe(dt_data_t *data, const void *buffer, MPI_Count count, MPI_Datatype handle)
{
    dt_type_t *type;
    const int rc = dt_usable(handle, &type);
    if (rc != MPI_SUCCESS)
        return rc;
    if (count < 0)
        return err_set(MPI_ERR_COUNT, "count %lld is negative", (long long)count);
    *data = (dt_data_t){.base = (void *)(uintptr_t)buffer, .type = type, .count = (size_t)count};
    if (__builtin_mul_overflow((size_t)count, type->size, &data->bytes) || data->bytes > PTRDIFF_MAX)
        return err_set(MPI_ERR_COUNT, "count %lld of %s is more than an address space", (long long)count,
                       dt_name(type));
    if (__builtin_expect(data->bytes > 0 && dt_is_nowhere(buffer, type), 0))
        return nowhere(buffer, "the buffer");
    if (is_piece(type, (size_t)count)) {
        data->base = data->bytes == 0 ? data->base : (void *)((uintptr_t)buffer + (uintptr_t)type->node->offset);
        data->type = NULL;
    }
    return MPI_SUCCESS;
}

typedef struct lister {
    dt_sink_t sink;
    struct iovec *list;
    size_t count;
} lister_t;

static void list_runs(dt_sink_t *sink, char *memory, size_t length, MPI_Aint stride, size_t count)
{
    lister_t *lister = (lister_t *)sink;
    for (size_t i = 0; i < count; i++, memory += stride)
        lister->list[lister->count++] = (struct iovec){.iov_base = memory, .iov_len = length};
}

static void list_list(dt_sink_t *sink, uintptr_t base, const dt_entry_t *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        list_runs(sink, place_of(base, &entries[i]), entries[i + 1].start - entries[i].start, 0, 1);
}

static void pack_part(void *arg, size_t offset, void *buffer, size_t length)
{
    dt_pack(&((const dt_io_t *)arg)->data, offset, buffer, length);
}

static void unpack_part(void *arg, size_t offset, const void *buffer, size_t length)
{
    dt_unpack(&((const dt_io_t *)arg)->data, offset, buffer, length);
}

const struct iovec *dt_io_begin(dt_io_t *io, const dt_data_t *data, size_t *count_p)
{
    size_t pieces;
    io->data = *data;
    if (!__builtin_mul_overflow(data->count, data->type->node->pieces, &pieces) && pieces <= DT_LIST_MOST) {
        lister_t lister = {.sink = {.take = list_runs, .take_list = list_list}, .list = io->list};
        dt_walk(data, 0, data->bytes, &lister.sink);
        *count_p = lister.count;
        return io->list;
    }
    io->pack = (vbn_pack_t){.pack = pack_part, .unpack = unpack_part, .arg = io, .length = data->bytes};
    *count_p = VBN_PACK;
    return vbn_packed(&io->pack);
}
