/* SPDX-License-Identifier: Apache-2.0
 * held.c - packets that arrived early and wait for those before them (A4). */
#include "link/flow/flow.h"

#include <stdlib.h>

#include "base/endian.h"

void link_kept_drop_held(link_arq_t *arq)
{
    for (uint32_t i = 0; arq->held != NULL && i < LINK_HELD_MAX; i++)
        free(arq->held[i]);
    free(arq->held);
    arq->held = NULL;
    arq->held_count = 0;
}

uint32_t link_kept_sack(const vbn_peer_t *peer, uint8_t *bytes)
{
    const link_arq_t *arq = peer->arq;
    uint32_t words = 0, found = 0;
    for (uint32_t at = 0; found < arq->held_count && at < LINK_HELD_MAX - 1; at++) {
        if (arq->held[(peer->rx_next + 1 + at) % LINK_HELD_MAX] == NULL)
            continue;
        for (; words <= at / 64; words++)
            le_put_u64(bytes + 8 * words, 0);
        bytes[at / 8] |= (uint8_t)(1u << (at % 8));
        found++;
    }
    return 8 * words;
}
