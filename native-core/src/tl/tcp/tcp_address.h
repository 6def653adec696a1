/* SPDX-License-Identifier: Apache-2.0
 * tcp_address.h - TCP's part of a worker address: where a worker listens. Pure functions; decode reads untrusted
 * bytes.
 *
 *   version 8 | count 7, TLS 1 | port 16 | host id 64 | netns id 64 | count x { family 8 (4 or 6), 4 or 16 bytes }
 *   little endian, addresses in network order, at most 8 of them, best first. The index of the interface that a link-local
 *   address belongs to is not part of it: it means nothing elsewhere. */
#ifndef VBN_TL_TCP_ADDRESS_H
#define VBN_TL_TCP_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/status.h"

#define TCP_ADDRESS_VERSION 1u
#define TCP_ADDRESS_IPS 8u
#define TCP_ADDRESS_BYTES_MAX (20u + TCP_ADDRESS_IPS * 17u)
#define TCP_ENDPOINT_TEXT 64 /* bytes of "[address]:port" with its end */

typedef struct tcp_ip {
    uint8_t family;    /* 4 or 6 */
    uint8_t bytes[16]; /* network order, the first 4 for family 4 */
    uint32_t scope;    /* of a link-local address: the interface of this host, 0 = not known */
} tcp_ip_t;

typedef struct tcp_address {
    uint64_t host_id; /* of the listener, with netns_id: its loopback addresses mean something there only */
    uint64_t netns_id;
    uint16_t port; /* host order, never 0 */
    uint8_t count; /* 1 .. TCP_ADDRESS_IPS */
    bool tls;      /* connections are encrypted */
    tcp_ip_t ips[TCP_ADDRESS_IPS];
} tcp_address_t;

/* Returns the bytes written, at most TCP_ADDRESS_BYTES_MAX. */
size_t tcp_address_encode(const tcp_address_t *address, uint8_t *bytes);
/* VBN_ERR_VERSION or VBN_ERR_PROTOCOL with a text; *address_p is set only with VBN_OK. */
vbn_status_t tcp_address_decode(const void *bytes, size_t length, tcp_address_t *address_p);

bool tcp_ip_is_loopback(const tcp_ip_t *ip);
bool tcp_ip_is_link_local(const tcp_ip_t *ip); /* IPv6: means something on one network only */
/* Without the scope. */
bool tcp_ip_equal(const tcp_ip_t *a, const tcp_ip_t *b);
/* Fills a socket address; returns its length. */
socklen_t tcp_ip_to_sockaddr(const tcp_ip_t *ip, uint16_t port, struct sockaddr_storage *out);
/* false when the family is neither IPv4 nor IPv6. port_p may be NULL. */
bool tcp_ip_from_sockaddr(const struct sockaddr *in, tcp_ip_t *ip_p, uint16_t *port_p);
/* Writes "10.0.0.1:80" or "[fd00::1]:80"; without the port when it is 0. */
void tcp_ip_text(const tcp_ip_t *ip, uint16_t port, char text[TCP_ENDPOINT_TEXT]);

#endif
