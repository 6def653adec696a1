/* SPDX-License-Identifier: Apache-2.0
 * raw.c - the bare mechanisms: one cache line bounced between the processes, memcpy from shared memory, and a bare
 * socket. Latency over the socket polls without blocking on both ends, as our progress does; streams block. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf.h"

void raw_pair(int pair[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int one = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || pair[0] < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        connect(pair[0], (struct sockaddr *)&address, sizeof(address)) != 0)
        fail_system("raw socket pair");
    pair[1] = accept(listener, NULL, NULL);
    close(listener);
    for (int i = 0; i < 2; i++)
        if (setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0)
            fail_system("TCP_NODELAY");
}

/* ---------------------------------------------------------------------------------------------- transfers */

static void read_all(int fd, uint8_t *data, uint64_t length)
{
    while (length > 0) {
        ssize_t n = read(fd, data, length < REGION ? length : REGION);
        if (n <= 0)
            fail_system("raw socket read");
        length -= (uint64_t)n;
    }
}

static void write_all(int fd, const uint8_t *data, uint64_t length, uint64_t chunk)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length < chunk ? length : chunk);
        if (n <= 0)
            fail_system("raw socket write");
        length -= (uint64_t)n;
    }
}

/* Whole messages of `length` bytes, polled for. */
static void spin_in(int fd, uint8_t *data, uint64_t length)
{
    double end = 0;
    for (uint64_t turns = 1; length > 0; turns++) {
        ssize_t n = recv(fd, data, length, MSG_DONTWAIT);
        if (n > 0) {
            length -= (uint64_t)n;
            continue;
        }
        if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            fail_system("raw socket receive");
        if (turns % 65536 != 0)
            continue;
        if (end == 0)
            end = now() + DEADLINE_S;
        else if (now() > end)
            fail("the raw socket stayed silent");
    }
}

static void spin_out(int fd, const uint8_t *data, uint64_t length)
{
    while (length > 0) {
        ssize_t n = send(fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            length -= (uint64_t)n;
        else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            fail_system("raw socket send");
    }
}

/* ---------------------------------------------------------------------------------------------- server */

/* Server's half. Release pairs with the client's acquire in line_client and the other way round. */
static void line_server(shared_t *s, uint64_t rounds)
{
    for (uint64_t i = 1; i <= rounds; i++) {
        while (atomic_load_explicit(&s->ping, memory_order_acquire) != i)
            ;
        atomic_store_explicit(&s->pong, i, memory_order_release);
    }
}

void raw_serve(side_t *side, raw_kind_t kind)
{
    shared_t *s = side->shared;
    if (kind == RAW_LINE)
        line_server(s, s->count);
    for (uint64_t i = 0; kind == RAW_ECHO && i < s->count; i++) {
        spin_in(side->socket, side->buffer, s->size);
        spin_out(side->socket, side->buffer, s->size);
    }
    while (kind == RAW_REST && atomic_load(&s->ping) == 0)
        usleep(500);
    if (kind == RAW_SINK) {
        read_all(side->socket, side->buffer, s->count);
        write_all(side->socket, side->buffer, 1, 1);
    } else if (kind == RAW_SOURCE) {
        write_all(side->socket, side->buffer, s->count, s->size);
    }
}

/* ---------------------------------------------------------------------------------------------- client */

void raw_command(side_t *side, raw_kind_t kind, uint64_t count, uint64_t size)
{
    shared_t *s = side->shared;
    s->count = count;
    s->size = size;
    atomic_store(&s->ping, 0);
    atomic_store(&s->pong, 0);
    uint64_t sequence = (atomic_load(&s->command) >> 8) + 1;
    atomic_store(&s->command, sequence << 8 | kind);
}

void raw_wait(side_t *side)
{
    double end = now() + DEADLINE_S;
    while (atomic_load(&side->shared->done) != atomic_load(&side->shared->command))
        if (now() > end)
            fail("the server did not finish a raw reference in time");
}

double line_latency(side_t *side, size_t size, uint64_t count)
{
    (void)size;
    shared_t *s = side->shared;
    raw_command(side, RAW_LINE, count, 0);
    double start = now();
    for (uint64_t i = 1; i <= count; i++) {
        atomic_store_explicit(&s->ping, i, memory_order_release);
        while (atomic_load_explicit(&s->pong, memory_order_acquire) != i)
            ;
    }
    double seconds = now() - start;
    raw_wait(side);
    return seconds / (double)count / 2 * 1e9;
}

double line_rate(side_t *side, size_t size, uint64_t count)
{
    return 1e3 / line_latency(side, size, count / 4 + 1);
}

double socket_latency(side_t *side, size_t size, uint64_t count)
{
    uint64_t bytes = size > 0 ? size : 1;
    raw_command(side, RAW_ECHO, count, bytes);
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        spin_out(side->socket, side->buffer, bytes);
        spin_in(side->socket, side->buffer, bytes);
    }
    double seconds = now() - start;
    raw_wait(side);
    return seconds / (double)count / 2 * 1e9;
}

static double socket_sink(side_t *side, uint64_t bytes, uint64_t chunk)
{
    raw_command(side, RAW_SINK, bytes, chunk);
    double start = now();
    write_all(side->socket, side->buffer, bytes, chunk);
    read_all(side->socket, side->buffer, 1);
    double seconds = now() - start;
    raw_wait(side);
    return seconds;
}

double socket_rate(side_t *side, size_t size, uint64_t count)
{
    uint64_t bytes = size > 0 ? size : 1;
    return (double)count / socket_sink(side, bytes * count, bytes) * 1e-6;
}

double socket_round_trip(side_t *side, size_t size, uint64_t count)
{
    return 2 * socket_latency(side, size, count);
}

double socket_out(side_t *side, size_t size, uint64_t count)
{
    return (double)(size * count) / socket_sink(side, size * count, size) * 1e-6;
}

double socket_in(side_t *side, size_t size, uint64_t count)
{
    raw_command(side, RAW_SOURCE, size * count, size);
    double start = now();
    for (uint64_t i = 0; i < count; i++)
        read_all(side->socket, side->buffer, size);
    double seconds = now() - start;
    raw_wait(side);
    return (double)(size * count) / seconds * 1e-6;
}

double memcpy_bandwidth(side_t *side, size_t size, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        memcpy(side->buffer, side->raw, size);
        __asm__ __volatile__("" : : "r"(side->buffer) : "memory"); /* keeps every copy */
    }
    return (double)(size * count) / (now() - start) * 1e-6;
}
