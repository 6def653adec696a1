/* SPDX-License-Identifier: Apache-2.0
 * tag_credit.c - how much each peer may send in whole tagged messages before receives take them: parts of one budget of the
 * worker, proto.tag_unexpected, because all of it may wait here.
 *
 * A message costs its length and PROTO_TAG_COST. Each peer starts with a credit of PROTO_TAG_FIRST bytes that both sides know
 * of. What receives take goes back with TAG_CREDIT_BACK, a quarter of the peer's credit at a time, and more than that while
 * the peer has less than its share, or less while it has more. A peer without enough credit announces the message and says
 * that this was the reason (PROTO_TAG_STARVED): then its credit grows to the whole share at once.
 *
 * The share is an eighth of what is free when the peer has it, at most PROTO_TAG_MOST, so n busy peers get 1 / (8 + n) of the
 * budget each and those that come later always find some. Half of the budget is kept for the first credits.
 *
 * T1 first credits + tag_extra + orphan_bytes <= proto.tag_unexpected, while the first credits take at most half of it. T2 a
 * peer sends no more than tag_open: both sides count the same bytes. T3 no credit is ever taken back that the peer has, so
 * nothing on the wire can break T2. */
#include "proto/tag.h"

#define SHARE 8u /* of what is left free */

static uint64_t first_credits(const proto_engine_t *engine)
{
    return (uint64_t)engine->peer_count * PROTO_TAG_FIRST;
}

static uint64_t free_bytes(const proto_engine_t *engine)
{
    uint64_t reserved = first_credits(engine) + engine->orphan_bytes;
    if (reserved < engine->tag_budget / 2)
        reserved = engine->tag_budget / 2;
    uint64_t used = reserved + engine->tag_extra;
    return used < engine->tag_budget ? engine->tag_budget - used : 0;
}

/* What the peer should have beyond its first credit. */
static uint32_t share_of(const proto_engine_t *engine, const proto_peer_t *p)
{
    uint64_t share = (free_bytes(engine) + p->tag_extra) / (SHARE + 1);
    return (uint32_t)(share < PROTO_TAG_MOST - PROTO_TAG_FIRST ? share : PROTO_TAG_MOST - PROTO_TAG_FIRST);
}

static uint32_t less_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void tag_credit_give_back(vbn_peer_t *peer, bool starved)
{
    proto_engine_t *engine = proto_engine_of(peer);
    proto_peer_t *p = proto_peer_of(peer);
    uint32_t share = share_of(engine, p), all = PROTO_TAG_FIRST + p->tag_extra, bytes = p->tag_taken;
    if (share < p->tag_extra) {
        uint32_t less = less_of(p->tag_extra - share, bytes);
        p->tag_extra -= less;
        engine->tag_extra -= less;
        bytes -= less;
    } else if (share - p->tag_extra >= all / 8) { /* else it is not worth a packet */
        uint32_t more = starved ? share - p->tag_extra : less_of(share - p->tag_extra, all);
        p->tag_extra += more;
        engine->tag_extra += more;
        bytes += more;
    }
    p->tag_taken = 0;
    p->tag_open += bytes;
    if (bytes == 0)
        return;
    proto_header_t header = {.type = PROTO_TAG_CREDIT_BACK, .length = bytes};
    (void)proto_send_header(peer, &header); /* a failure means that the peer is lost */
}

void tag_credit_end(proto_engine_t *engine, proto_peer_t *p)
{
    engine->peer_count--;
    engine->tag_extra -= p->tag_extra;
    p->tag_extra = 0;
}

bool tag_may_stay(const proto_engine_t *engine, uint64_t bytes)
{
    return first_credits(engine) + engine->tag_extra + engine->orphan_bytes + bytes <= engine->tag_budget;
}

bool tag_credit_use(proto_engine_t *engine, vbn_peer_t *peer, uint32_t bytes)
{
    proto_peer_t *p = proto_peer_of(peer);
    if (!tag_credit_covers(p, bytes)) {
        proto_blame(engine, peer, "the peer sent more tagged messages than it had credit for");
        return false;
    }
    p->tag_open -= bytes + PROTO_TAG_COST;
    return true;
}

void tag_rx_credit(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_peer_t *p = proto_peer_of(peer);
    if (header->length == 0 || header->length > PROTO_TAG_MOST - p->tag_credit) {
        proto_blame(engine, peer, "the peer granted more credit for tagged messages than one peer may have, or none");
        return;
    }
    p->tag_credit += (uint32_t)header->length;
}
