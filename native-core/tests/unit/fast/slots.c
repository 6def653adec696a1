/* SPDX-License-Identifier: Apache-2.0
 * slots.c - see slots.h. */
#include "slots.h"

#include <stdlib.h>
#include <string.h>

#include "link/link.h"
#include "tl/shm/shm_private.h"

_Static_assert(SLOTS_DATA == SHM_SLOT_DATA && SLOTS_LINK_BYTES == LINK_HEADER_BYTES, "as the sources say");

bool slots_open(const vbn_peer_t *peer)
{
    return ((const link_peer_head_t *)peer)->clear != NULL;
}

void slots_link_header(const vbn_peer_t *peer, uint8_t bytes[SLOTS_LINK_BYTES])
{
    const link_peer_head_t *p = (const link_peer_head_t *)peer;
    le_put_u64(bytes, p->data_word);
    le_put_u64(bytes + 8, (uint64_t)p->tx_next | (uint64_t)p->rx_next << 32);
}

void slots_write(vbn_peer_t *peer, uint32_t header_bytes, uint32_t payload_bytes, unsigned kind,
                 const uint8_t bytes[SLOTS_DATA])
{
    if (!slots_open(peer))
        abort();
    shm_tx_t *tx = &((shm_ep_t *)((link_peer_head_t *)peer)->clear)->tx;
    memcpy(tx->slots[tx->position & tx->mask].data, bytes, SLOTS_DATA);
    shm_tx_publish(tx, header_bytes, payload_bytes, kind);
}
