/* SPDX-License-Identifier: Apache-2.0
 * tcp_address.c - encoder, checking decoder and texts of TCP addresses. */
#include "tl/tcp/tcp_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/endian.h"

#define FIXED_BYTES 20u
#define TLS_FLAG 0x80u

static size_t ip_bytes(uint8_t family)
{
    return family == 4 ? 4 : 16;
}

size_t tcp_address_encode(const tcp_address_t *address, uint8_t *bytes)
{
    bytes[0] = TCP_ADDRESS_VERSION;
    bytes[1] = (uint8_t)(address->count | (address->tls ? TLS_FLAG : 0));
    le_put_u16(bytes + 2, address->port);
    le_put_u64(bytes + 4, address->host_id);
    le_put_u64(bytes + 12, address->netns_id);
    size_t at = FIXED_BYTES;
    for (unsigned i = 0; i < address->count; i++) {
        const tcp_ip_t *ip = &address->ips[i];
        bytes[at++] = ip->family;
        memcpy(bytes + at, ip->bytes, ip_bytes(ip->family));
        at += ip_bytes(ip->family);
    }
    return at;
}

/* Addresses that no worker listens on: connecting to them would reach nobody, or somebody else. */
static bool ip_is_usable(const tcp_ip_t *ip)
{
    static const uint8_t zero[16];
    if (memcmp(ip->bytes, zero, ip_bytes(ip->family)) == 0)
        return false;
    return ip->family == 4 ? ip->bytes[0] < 224 : ip->bytes[0] != 0xFF;
}

vbn_status_t tcp_address_decode(const void *bytes, size_t length, tcp_address_t *address_p)
{
    const uint8_t *in = bytes;
    tcp_address_t address = {0};
    if (length < FIXED_BYTES || length > TCP_ADDRESS_BYTES_MAX)
        return err_set(VBN_ERR_PROTOCOL, "tcp address has %zu bytes, expected %u to %u", length, FIXED_BYTES,
                       TCP_ADDRESS_BYTES_MAX);
    if (in[0] != TCP_ADDRESS_VERSION)
        return err_set(VBN_ERR_VERSION, "tcp address has version %u, this release reads %u", in[0],
                       TCP_ADDRESS_VERSION);
    address.count = in[1] & (TLS_FLAG - 1);
    address.tls = (in[1] & TLS_FLAG) != 0;
    address.port = le_get_u16(in + 2);
    address.host_id = le_get_u64(in + 4);
    address.netns_id = le_get_u64(in + 12);
    if (address.count == 0 || address.count > TCP_ADDRESS_IPS || address.port == 0)
        return err_set(VBN_ERR_PROTOCOL, "tcp address names %u addresses and port %u", address.count, address.port);
    size_t at = FIXED_BYTES;
    for (unsigned i = 0; i < address.count; i++) {
        tcp_ip_t *ip = &address.ips[i];
        if (at >= length || (in[at] != 4 && in[at] != 6) || length - at - 1 < ip_bytes(in[at]))
            return err_set(VBN_ERR_PROTOCOL, "tcp address is damaged at byte %zu of %zu", at, length);
        ip->family = in[at++];
        memcpy(ip->bytes, in + at, ip_bytes(ip->family));
        at += ip_bytes(ip->family);
        if (!ip_is_usable(ip))
            return err_set(VBN_ERR_PROTOCOL, "tcp address %u is unspecified or multicast", i);
    }
    if (at != length)
        return err_set(VBN_ERR_PROTOCOL, "tcp address has %zu bytes too many", length - at);
    *address_p = address;
    return VBN_OK;
}

bool tcp_ip_is_loopback(const tcp_ip_t *ip)
{
    static const uint8_t one[16] = {[15] = 1};
    return ip->family == 4 ? ip->bytes[0] == 127 : memcmp(ip->bytes, one, sizeof(one)) == 0;
}

bool tcp_ip_is_link_local(const tcp_ip_t *ip)
{
    return ip->family == 6 && ip->bytes[0] == 0xFE && (ip->bytes[1] & 0xC0) == 0x80;
}

bool tcp_ip_equal(const tcp_ip_t *a, const tcp_ip_t *b)
{
    return a->family == b->family && memcmp(a->bytes, b->bytes, ip_bytes(a->family)) == 0;
}

socklen_t tcp_ip_to_sockaddr(const tcp_ip_t *ip, uint16_t port, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    if (ip->family == 4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)out;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, ip->bytes, 4);
        return sizeof(*v4);
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    v6->sin6_scope_id = ip->scope;
    memcpy(&v6->sin6_addr, ip->bytes, 16);
    return sizeof(*v6);
}

bool tcp_ip_from_sockaddr(const struct sockaddr *in, tcp_ip_t *ip_p, uint16_t *port_p)
{
    uint16_t port;
    memset(ip_p, 0, sizeof(*ip_p));
    if (in->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)in;
        ip_p->family = 4;
        memcpy(ip_p->bytes, &v4->sin_addr, 4);
        port = v4->sin_port;
    } else if (in->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)in;
        ip_p->family = 6;
        memcpy(ip_p->bytes, &v6->sin6_addr, 16);
        ip_p->scope = v6->sin6_scope_id;
        port = v6->sin6_port;
    } else {
        return false;
    }
    if (port_p)
        *port_p = ntohs(port);
    return true;
}

void tcp_ip_text(const tcp_ip_t *ip, uint16_t port, char text[TCP_ENDPOINT_TEXT])
{
    char name[INET6_ADDRSTRLEN];
    if (!inet_ntop(ip->family == 4 ? AF_INET : AF_INET6, ip->bytes, name, sizeof(name)))
        snprintf(name, sizeof(name), "?");
    if (port == 0)
        snprintf(text, TCP_ENDPOINT_TEXT, "%s", name);
    else if (ip->family == 4)
        snprintf(text, TCP_ENDPOINT_TEXT, "%s:%u", name, port);
    else
        snprintf(text, TCP_ENDPOINT_TEXT, "[%s]:%u", name, port);
}
