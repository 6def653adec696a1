/* SPDX-License-Identifier: Apache-2.0
 * amo.c - atomic updates of one word of remote memory: by the processor's own atomics where the memory is mapped, else
 * by a packet that the owner executes with the same atomics, so both ways see each other's updates. */
#include "proto/rma.h"
#include "proto/traffic.h"

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "atomics that work between processes");

/* One update of a word of TYPE; sequentially consistent, because users build locks and signals on it. */
#define DEFINE_APPLY(NAME, TYPE)                                                                                       \
    static TYPE NAME(_Atomic TYPE *word, unsigned kind, TYPE operand, TYPE compare)                                    \
    {                                                                                                                  \
        switch (kind) {                                                                                                \
        case VBN_ATOMIC_ADD: return atomic_fetch_add(word, operand);                                                   \
        case VBN_ATOMIC_AND: return atomic_fetch_and(word, operand);                                                   \
        case VBN_ATOMIC_OR: return atomic_fetch_or(word, operand);                                                     \
        case VBN_ATOMIC_XOR: return atomic_fetch_xor(word, operand);                                                   \
        case VBN_ATOMIC_SWAP: return atomic_exchange(word, operand);                                                   \
        default: /* VBN_ATOMIC_CAS: on failure compare becomes the value found */                                      \
            (void)atomic_compare_exchange_strong(word, &compare, operand);                                             \
            return compare;                                                                                            \
        }                                                                                                              \
    }
DEFINE_APPLY(apply32, uint32_t)
DEFINE_APPLY(apply64, uint64_t)

uint64_t amo_apply(void *address, unsigned code, uint64_t operand, uint64_t compare)
{
    unsigned kind = code & PROTO_ATOMIC_KIND;
    if ((code & PROTO_ATOMIC_WIDE) != 0)
        return apply64(address, kind, operand, compare);
    return apply32(address, kind, (uint32_t)operand, (uint32_t)compare);
}

static unsigned width_of(unsigned code)
{
    return (code & PROTO_ATOMIC_WIDE) != 0 ? 8 : 4;
}

static unsigned access_of(unsigned code)
{
    bool tells = (code & PROTO_ATOMIC_FETCH) != 0 || (code & PROTO_ATOMIC_KIND) == VBN_ATOMIC_CAS;
    return tells ? VBN_ACCESS_READ | VBN_ACCESS_WRITE : VBN_ACCESS_WRITE;
}

vbn_status_t amo_check(const vbn_key_t *key, uint64_t offset, unsigned width, unsigned access)
{
    vbn_status_t status = rma_check(key, offset, width, access);
    /* The core's memory starts at a page; for the user's own only the owner knows, and answers. */
    if (status == VBN_OK && !key->info.by_packets && (key->info.offset + offset) % width != 0)
        status = err_set(VBN_ERR_INVALID,
                         "offset %llu of the key is byte %llu of its memory, which is not a multiple "
                         "of %u: an atomic must be aligned",
                         (unsigned long long)offset, (unsigned long long)(key->info.offset + offset), width);
    return status;
}

/* ------------------------------------------------------------------------------------- issuing side */

void amo_copy(vbn_key_t *key, proto_op_t *op)
{
    const proto_amo_t *amo = &op->stream.amo;
    uint64_t before = amo_apply(key->address + op->stream.key_offset, op->code, amo->operand, amo->compare);
    if (amo->before != NULL)
        *amo->before = before;
}

vbn_status_t amo_start(proto_op_t *op)
{
    const proto_stream_t *s = &op->stream;
    op->state = OP_RUNNING;
    proto_header_t header = {.type = PROTO_ATOMIC,
                             .code = op->code,
                             .op = op->handle,
                             .key = s->key,
                             .offset = s->key_offset,
                             .operand = s->amo.operand,
                             .compare = s->amo.compare};
    vbn_status_t status = proto_send_header(s->peer, &header);
    fence_leave(op);
    return status;
}

bool amo_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header)
{
    if (op->state != OP_RUNNING || header->last != 1)
        return false;
    if (status == VBN_OK && op->stream.amo.before != NULL)
        *op->stream.amo.before = header->length;
    op_complete(op, status, status == VBN_OK ? op->stream.length : 0);
    return true;
}

void amo_on_end(proto_op_t *op)
{
    vbn_peer_t *peer = op->stream.peer;
    fence_leave(op);
    if (peer != NULL)
        flush_advance(peer);
}

static vbn_status_t check_arguments(vbn_atomic_kind_t kind, unsigned width, uint64_t operand, uint64_t compare)
{
    if ((unsigned)kind > VBN_ATOMIC_CAS || (width != 4 && width != 8))
        return err_set(VBN_ERR_INVALID, "atomic %d of %u bytes: kinds are VBN_ATOMIC_*, widths 4 and 8", (int)kind,
                       width);
    if (width == 4 && (operand > UINT32_MAX || compare > UINT32_MAX))
        return err_set(VBN_ERR_INVALID, "operand of a 32-bit atomic has more than 32 bits; cast it to uint32_t");
    return VBN_OK;
}

vbn_status_t proto_atomic(vbn_key_t *key, size_t offset, vbn_atomic_kind_t kind, unsigned width, uint64_t operand,
                          uint64_t compare, uint64_t *before, vbn_op_t *user_op)
{
    unsigned code = (unsigned)kind | (width == 8 ? PROTO_ATOMIC_WIDE : 0u) | (before != NULL ? PROTO_ATOMIC_FETCH : 0u);
    uint64_t none;
    vbn_status_t status = op_check(user_op, NULL, 0, &none);
    if (status == VBN_OK)
        status = check_arguments(kind, width, operand, compare);
    if (status == VBN_OK)
        status = amo_check(key, offset, width, access_of(code));
    if (status != VBN_OK)
        return status;
    counter_add(key->engine->counters, COUNTER_ATOMICS, 1);
    traffic_begin(key->engine);
    if (rma_mapped(key)) {
        uint64_t old = amo_apply(key->address + offset, code, operand, compare);
        if (before != NULL)
            *before = old;
        return traffic_end(key->engine, key->peer, TRAFFIC_ATOMIC, width, user_op, op_set_done(user_op, VBN_OK, width));
    }
    proto_op_t *op = op_of(user_op);
    status = op_begin(user_op, key->peer, OP_ATOMIC, NULL, 0, width, false);
    if (status == VBN_OK) {
        op->code = (uint8_t)code;
        op->stream.key = key->info.key_handle;
        op->stream.key_offset = offset;
        op->stream.amo = (proto_amo_t){operand, compare, before};
        status = rma_submit(key, op);
    }
    return traffic_end(key->engine, key->peer, TRAFFIC_ATOMIC, width, user_op, status);
}

/* ------------------------------------------------------------------------------------- owner's side */

vbn_status_t amo_execute(proto_engine_t *engine, const proto_header_t *header, uint64_t *before_p)
{
    void *address;
    vbn_mem_t *mem;
    unsigned width = width_of(header->code);
    vbn_status_t status = mem_reach(&engine->reach, header->key, header->offset, width, access_of(header->code),
                                    &address, &mem);
    if (status != VBN_OK)
        return status;
    if ((uintptr_t)address % width != 0)
        status = err_set(VBN_ERR_INVALID, "a peer's atomic is not aligned to its %u bytes", width);
    else
        *before_p = amo_apply(address, header->code, header->operand, header->compare);
    mem_leave(mem);
    return status;
}

void amo_rx(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    uint64_t before = 0;
    vbn_status_t status = amo_execute(engine, header, &before);
    bool wanted = status == VBN_OK && (header->code & PROTO_ATOMIC_FETCH) != 0;
    proto_send_status(peer, header->op, status, true, wanted ? before : 0);
}
