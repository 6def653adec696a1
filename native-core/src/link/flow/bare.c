/* SPDX-License-Identifier: Apache-2.0
 * bare.c - packets of the link's own that are a header and nothing else. */
#include "link/flow/flow.h"

vbn_status_t link_send_bare(const link_lane_t *lane, unsigned type, unsigned flags)
{
    const vbn_peer_t *peer = lane->peer;
    uint8_t bytes[LINK_HEADER_BYTES];
    link_header_t header = {.version = LINK_VERSION,
                            .type = (uint8_t)type,
                            .flags = (uint8_t)flags,
                            .connection = lane->remote_connection,
                            .sequence = peer->tx_next,
                            .ack = peer->rx_next};
    link_header_encode(&header, bytes);
    tl_packet_t packet = {.header = bytes, .header_bytes = sizeof(bytes)};
    return link_lane_ops(lane)->send(lane->ep, &packet);
}
