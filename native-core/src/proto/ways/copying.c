/* SPDX-License-Identifier: Apache-2.0
 * copying.c - what ways need that copy chunk by chunk within one host: their turns, and the claims (tl/claim.h) of a
 * connection. */
#include "proto/ways/way.h"
#include "tl/claim.h"

#define TURN 64u /* chunks of a transfer before others go first */

bool copying_reach(const proto_op_t *op, tl_direct_t *direct_p)
{
    return op->stream.peer != NULL && link_direct(op->stream.peer, direct_p);
}

bool copying_claim(proto_op_t *op, const tl_direct_t *direct, uint64_t *claim_p)
{
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    unsigned slot = 0;
    while (slot < TL_CLAIMS && (*direct->used & 1u << slot) != 0)
        slot++;
    if (slot == TL_CLAIMS)
        return false;
    *direct->used |= 1u << slot;
    p->claim_tag = (p->claim_tag + 1) & CLAIM_TAG_MASK;
    op->direct.slot = (uint8_t)(slot + 1);
    op->direct.tag = p->claim_tag;
    claim_open(&direct->ours[slot], p->claim_tag);
    *claim_p = slot | (uint64_t)p->claim_tag << PROTO_CLAIM_TAG;
    return true;
}

void copying_unclaim(proto_op_t *op)
{
    tl_direct_t direct;
    if (op->direct.slot != 0 && copying_reach(op, &direct))
        *direct.used &= ~(1u << (op->direct.slot - 1u));
    op->direct.slot = 0;
}

void copying_again(proto_op_t *op)
{
    list_link_t *copying = &op->stream.engine->copying;
    if (++op->direct.turn % TURN == 0)
        list_append(copying, &op->stream.active);
    else
        list_prepend(copying, &op->stream.active);
}
