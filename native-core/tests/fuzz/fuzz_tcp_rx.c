/* SPDX-License-Identifier: Apache-2.0
 * fuzz_tcp_rx.c - the receive state machine of the TCP transport against any stream of bytes in any portions. The input
 * is a mode (trusted or not, payloads placed by sink or not) and a script that writes the stream: valid frames, raw bytes,
 * ends of a portion. What is handed up must be exactly the frames of the stream, up to the first bad one, in order;
 * a bad one ends the connection once. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os_own.h"
#include "balance.h"
#include "tl/tcp/tcp_private.h"

#define STREAM_MAX (256u << 10)
#define PORTIONS_MAX 256u
#define SINK_MAX (96u << 10)

typedef struct arena {
    tl_iface_t *iface;
    settings_t settings;
    log_sink_t log;
    counters_t counters;
    uint8_t stream[STREAM_MAX];
    size_t length;
    size_t portions[PORTIONS_MAX]; /* ends */
    unsigned portion_count;
    size_t at; /* of the next frame in the stream */
    uint32_t limit;
    bool places, ended;
    uint8_t sink[SINK_MAX];
} arena_t;

static arena_t arena;

static void quiet_log(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    require(strlen(record->text) > 0);
}

/* ------------------------------------------------------------------------------------------------ upcalls */

static void on_ready(tl_ep_t *ep)
{
    (void)ep;
}

/* The next frame of the stream must be this one. */
static void on_rx(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes)
{
    tcp_frame_t frame;
    (void)ep;
    require(!arena.ended);
    require(tcp_frame_decode(arena.stream + arena.at, arena.length - arena.at, arena.limit, &frame) == TCP_FRAME_OK);
    require(frame.header_bytes == header_bytes && frame.payload_bytes == payload_bytes);
    require(frame.body_bytes <= arena.length - arena.at - TCP_PREFIX_BYTES);
    const uint8_t *expected = arena.stream + arena.at + TCP_PREFIX_BYTES;
    require(memcmp(header, expected, header_bytes) == 0);
    require(payload_bytes == 0 || memcmp(payload, expected + header_bytes, payload_bytes) == 0);
    arena.at += TCP_PREFIX_BYTES + (size_t)frame.body_bytes;
}

static void *on_sink(tl_ep_t *ep, const void *header, uint32_t header_bytes, uint32_t payload_bytes)
{
    (void)ep;
    (void)fuzz_touch(header, header_bytes);
    return arena.places && payload_bytes <= SINK_MAX ? arena.sink : NULL;
}

static void on_error(tl_ep_t *ep, vbn_status_t status, const char *text)
{
    require(!arena.ended && status < 0 && strlen(text) > 0);
    arena.ended = true;
    tl_tcp_ops.disconnect(ep, VBN_CLOSE_NOW, 0);
}

static void open_iface(void)
{
    settings_defaults(&arena.settings);
    memcpy(arena.settings.tl_tcp_interface, "127.0.0.1", 10);
    arena.log = (log_sink_t){.func = quiet_log, .level = VBN_LOG_ERROR};
    tl_params_t params = {
        .settings = &arena.settings,
        .log = &arena.log,
        .counters = &arena.counters,
        .worker_uid = 1,
        .upcalls = {.ready = on_ready, .rx = on_rx, .sink = on_sink, .tx_ready = on_ready, .ep_error = on_error}};
    require(tl_tcp_ops.open(&params, &arena.iface) == VBN_OK);
}

/* ------------------------------------------------------------------------------------------------- script */

static void put(script_t *script, size_t bytes)
{
    bytes = bytes < STREAM_MAX - arena.length ? bytes : STREAM_MAX - arena.length;
    script_bytes(script, arena.stream + arena.length, bytes);
    arena.length += bytes;
}

static void put_frame(script_t *script, uint32_t payload_bytes)
{
    uint32_t header_bytes = 1 + script_u16(script) % TCP_HEADER_MAX;
    size_t all = TCP_PREFIX_BYTES + header_bytes + (size_t)payload_bytes;
    if (all > STREAM_MAX - arena.length)
        return;
    uint8_t *to = arena.stream + arena.length;
    tcp_frame_encode(to, header_bytes, payload_bytes);
    for (size_t i = TCP_PREFIX_BYTES; i < all; i++)
        to[i] = (uint8_t)(i * 7 + arena.length);
    arena.length += all;
}

static void write_script(script_t *script)
{
    arena.length = 0;
    arena.portion_count = 0;
    while (script->left > 0 && arena.portion_count < PORTIONS_MAX) {
        uint8_t what = script_u8(script);
        switch (what % 6) {
        case 0: put(script, script_u8(script)); break;
        case 1: put_frame(script, 0); break;
        case 2: put_frame(script, script_u8(script)); break;
        case 3: put_frame(script, script_u16(script)); break;
        case 4: put_frame(script, TCP_DIRECT_MIN - 2 + script_u8(script) % 4); break;
        default: arena.portions[arena.portion_count++] = arena.length - arena.length * (what / 6u) / 64u; break;
        }
    }
}

/* ---------------------------------------------------------------------------------------------------- run */

static tcp_ep_t *adopt(int fd, bool trusted)
{
    tcp_ep_t *ep = tcp_ep_new(tcp_iface_of(arena.iface), TCP_OPENING);
    require(ep != NULL);
    require(os_own_keep(fd)); /* as those that the transport opens: it closes no others */
    ep->fd = fd;
    ep->peer_ip.family = 4;
    require(tcp_ep_watch(ep) == VBN_OK);
    if (trusted)
        require(tl_tcp_ops.trust(&ep->base) == VBN_OK);
    return ep;
}

static void progress(void)
{
    for (int quiet = 0; quiet < 2;) {
        tcp_iface_of(arena.iface)->idle = false; /* no pause between two looks */
        quiet = tl_tcp_ops.progress(arena.iface) > 0 ? 0 : quiet + 1;
    }
}

/* Writes up to the offset, as the socket takes it. */
static void feed(int fd, size_t *sent_p, size_t end)
{
    while (*sent_p < end && !arena.ended) {
        ssize_t n = send(fd, arena.stream + *sent_p, end - *sent_p, MSG_NOSIGNAL | MSG_DONTWAIT);
        require(n > 0 || errno == EAGAIN || errno == EPIPE || errno == ECONNRESET);
        if (n > 0)
            *sent_p += (size_t)n;
        progress();
    }
}

/* All complete frames before the first bad one were handed up. */
static void check_end(void)
{
    tcp_frame_t frame;
    tcp_frame_result_t result = tcp_frame_decode(arena.stream + arena.at, arena.length - arena.at, arena.limit, &frame);
    if (result == TCP_FRAME_OK)
        require(frame.body_bytes > arena.length - arena.at - TCP_PREFIX_BYTES);
    else
        require(result == TCP_FRAME_MORE || arena.ended);
}

static void run(const uint8_t *data, size_t size)
{
    script_t script = {data, size};
    int pair[2];
    size_t sent = 0;
    if (arena.iface == NULL)
        open_iface();
    uint8_t mode = script_u8(&script);
    bool trusted = (mode & 1) != 0;
    arena.places = (mode & 2) != 0;
    arena.limit = trusted ? TCP_BODY_MAX : TL_SIGNAL_MAX;
    arena.at = 0;
    arena.ended = false;
    write_script(&script);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    tcp_ep_t *ep = adopt(pair[0], trusted);
    progress();
    for (unsigned i = 0; i < arena.portion_count; i++)
        feed(pair[1], &sent, arena.portions[i]);
    feed(pair[1], &sent, arena.length);
    check_end();
    if (!arena.ended && (mode & 4) != 0)
        tl_tcp_ops.disconnect(&ep->base, VBN_CLOSE_NOW, 0);
    close(pair[1]);
    progress();
    require(arena.ended || (mode & 4) != 0); /* the end of the connection is told, once */
    require(list_empty(&tcp_iface_of(arena.iface)->eps));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, true);
}
