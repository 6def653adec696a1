/* SPDX-License-Identifier: Apache-2.0
 * tcp_frame.c - encoder and checking decoder of the packet prefix. */
#include "tl/tcp/tcp_frame.h"

#include "base/endian.h"

#define TLS_HANDSHAKE 0x16u /* first bytes of a TLS connection */
#define TLS_MAJOR 0x03u

tcp_frame_result_t tcp_frame_decode(const void *bytes, size_t available, uint32_t limit, tcp_frame_t *frame_p)
{
    if (available < TCP_PREFIX_BYTES)
        return TCP_FRAME_MORE;
    const uint8_t *prefix = bytes;
    uint32_t body = le_get_u32(prefix);
    uint32_t header = le_get_u16(prefix + 4);
    uint32_t magic = le_get_u16(prefix + 6);
    if ((magic & 0xFF00u) != (TCP_FRAME_MAGIC & 0xFF00u))
        return prefix[0] == TLS_HANDSHAKE && prefix[1] == TLS_MAJOR ? TCP_FRAME_IS_TLS : TCP_FRAME_BAD_MAGIC;
    if (magic != TCP_FRAME_MAGIC)
        return TCP_FRAME_BAD_VERSION;
    if (header == 0 || header > TCP_HEADER_MAX)
        return TCP_FRAME_BAD_HEADER;
    if (body < header || body > limit)
        return TCP_FRAME_BAD_LENGTH;
    frame_p->body_bytes = body;
    frame_p->payload_bytes = body - header;
    frame_p->header_bytes = (uint16_t)header;
    return TCP_FRAME_OK;
}

const char *tcp_frame_reason(tcp_frame_result_t result)
{
    switch (result) {
    case TCP_FRAME_OK: return "frame is valid";
    case TCP_FRAME_MORE: return "frame prefix is incomplete";
    case TCP_FRAME_BAD_MAGIC: return "bytes are not a frame, is the other side another program?";
    case TCP_FRAME_IS_TLS: return "the other side speaks TLS, set tl.tcp.tls alike in the whole job";
    case TCP_FRAME_BAD_VERSION: return "frame version differs, run the same release on both sides";
    case TCP_FRAME_BAD_HEADER: return "frame header length is out of bounds";
    case TCP_FRAME_BAD_LENGTH: return "frame is longer than allowed in this state of the connection";
    }
    return "unknown";
}

void tcp_frame_encode(uint8_t prefix[TCP_PREFIX_BYTES], uint32_t header_bytes, uint32_t payload_bytes)
{
    le_put_u32(prefix, header_bytes + payload_bytes);
    le_put_u16(prefix + 4, (uint16_t)header_bytes);
    le_put_u16(prefix + 6, TCP_FRAME_MAGIC);
}
