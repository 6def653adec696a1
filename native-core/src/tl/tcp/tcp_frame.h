/* SPDX-License-Identifier: Apache-2.0
 * tcp_frame.h - the prefix in front of each packet on a TCP stream. Pure functions, no state; everything here reads
 * bytes of an untrusted peer.
 *
 *   0        4        6        8                8+header              8+body
 *   | body   | header | magic  | header bytes   | payload bytes       |      all little endian
 *
 * F1 1 <= header <= TCP_HEADER_MAX. F2 header <= body <= limit, where limit depends on whether the peer is trusted. */
#ifndef VBN_TL_TCP_FRAME_H
#define VBN_TL_TCP_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define TCP_PREFIX_BYTES 8u
#define TCP_HEADER_MAX 320u /* = TL_HEADER_MAX, asserted in tcp_private.h */
#define TCP_FRAME_VERSION 1u
#define TCP_FRAME_MAGIC (0xB500u | TCP_FRAME_VERSION)
#define TCP_CHUNK_MAX (4u << 20) /* upper bound of the setting tl.tcp.chunk_bytes */
#define TCP_BODY_MAX (TCP_CHUNK_MAX + TCP_HEADER_MAX)

typedef struct tcp_frame {
    uint32_t body_bytes; /* header + payload */
    uint32_t payload_bytes;
    uint16_t header_bytes;
} tcp_frame_t;

typedef enum tcp_frame_result {
    TCP_FRAME_OK,
    TCP_FRAME_MORE, /* fewer than TCP_PREFIX_BYTES there */
    TCP_FRAME_BAD_MAGIC,
    TCP_FRAME_IS_TLS, /* the start of a TLS connection */
    TCP_FRAME_BAD_VERSION,
    TCP_FRAME_BAD_HEADER, /* violates F1 */
    TCP_FRAME_BAD_LENGTH, /* violates F2 */
} tcp_frame_result_t;

/* Decodes a prefix from `available` bytes; *frame_p is set only with TCP_FRAME_OK. limit: most body bytes. */
tcp_frame_result_t tcp_frame_decode(const void *bytes, size_t available, uint32_t limit, tcp_frame_t *frame_p);
/* One clause for an error text; static. */
const char *tcp_frame_reason(tcp_frame_result_t result);
/* Lengths must keep F1 and F2. */
void tcp_frame_encode(uint8_t prefix[TCP_PREFIX_BYTES], uint32_t header_bytes, uint32_t payload_bytes);

#endif
