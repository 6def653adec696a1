/* SPDX-License-Identifier: Apache-2.0
 * tcp_options.c - what the kernel is told of each socket. */
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "tl/tcp/tcp_private.h"

#define CHUNKS_UNSENT 2u /* that a socket takes beyond what it can send; with fewer it would run dry */
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define KEEPALIVE_MAX_S 32767
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* Linux 6.15 */
#endif
#define RTO_MAX_MIN_MS 1000u
#define RTO_MAX_MAX_MS 120000u /* the kernel's own */

void tcp_option(int fd, int level, int option, uint64_t value)
{
    int number = (int)value;
    /* Tuning only: a kernel that refuses one of these still carries the connection. */
    (void)setsockopt(fd, level, option, &number, sizeof(number));
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Idle for half of the time, then so many questions in the other half. */
static void keep_alive(int fd, uint64_t limit)
{
    tcp_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    tcp_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, within(limit / 2 / NS_PER_S, 1, KEEPALIVE_MAX_S));
    tcp_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, within(limit / (2 * TCP_ALIVE_TRIES) / NS_PER_S, 1, KEEPALIVE_MAX_S));
    tcp_option(fd, IPPROTO_TCP, TCP_KEEPCNT, TCP_ALIVE_TRIES);
    /* So that a window that is full for long is still probed often enough. Older kernels probe every two minutes then. */
    tcp_option(fd, IPPROTO_TCP, TCP_RTO_MAX_MS,
               within(limit / TCP_ALIVE_TRIES / NS_PER_MS, RTO_MAX_MIN_MS, RTO_MAX_MAX_MS));
}

void tcp_socket_options(const tcp_iface_t *iface, int fd)
{
    const settings_t *settings = iface->params.settings;
    if (settings->tl_tcp_nodelay)
        tcp_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (settings->tl_tcp_socket_buffer) {
        tcp_option(fd, SOL_SOCKET, SO_SNDBUF, (uint64_t)settings->tl_tcp_socket_buffer);
        tcp_option(fd, SOL_SOCKET, SO_RCVBUF, (uint64_t)settings->tl_tcp_socket_buffer);
    }
    /* Bulk data waits in the core's queue, not in the kernel's, where a request or an answer would wait behind it. */
    tcp_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, CHUNKS_UNSENT * (uint64_t)settings->tl_tcp_chunk_bytes);
    keep_alive(fd, settings->link_peer_timeout);
}
