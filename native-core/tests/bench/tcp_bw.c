/* SPDX-License-Identifier: Apache-2.0
 * tcp_bw.c - what our TCP transport costs over plain sockets: bandwidth of 256 KiB packets and round trip of 64 B
 * packets over loopback, raw and ours in turn, each the median of several rounds. Prints one JSON line per value.
 *
 *   tcp_bw [rounds] [MiB per round] */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "base/os.h"
#include "tl/tl.h"

#define CHUNK (256u << 10)
#define PING_BYTES 64u
#define PINGS 5000u
#define ROUNDS_MAX 64
#define WAIT_MS 20000

typedef struct result {
    double mbytes_per_s;
    double round_trip_us;
} result_t;

static char buffer[CHUNK];
static settings_t settings;

static void fail(const char *what)
{
    fprintf(stderr, "tcp_bw: %s: %s\n", what, errno ? strerror(errno) : err_text());
    exit(1);
}

static void pin(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set); /* fewer CPUs: measured unpinned */
}

static result_t result_of(uint64_t bulk_ns, size_t bytes, uint64_t ping_ns)
{
    result_t result;
    result.mbytes_per_s = (double)bytes / 1e6 / ((double)bulk_ns / 1e9);
    result.round_trip_us = (double)ping_ns / 1e3 / PINGS;
    return result;
}

/* ---------------------------------------------------------------------------------------------- plain sockets */

static void raw_write(int fd, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t n = send(fd, buffer + at, bytes - at, MSG_NOSIGNAL);
        if (n <= 0)
            fail("send");
        at += (size_t)n;
    }
}

static void raw_read(int fd, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t n = recv(fd, buffer, bytes - at < CHUNK ? bytes - at : CHUNK, 0);
        if (n <= 0)
            fail("recv");
        at += (size_t)n;
    }
}

static void raw_peer(int fd, size_t chunks)
{
    raw_read(fd, chunks * CHUNK);
    raw_write(fd, 1);
    for (unsigned i = 0; i < PINGS; i++) {
        raw_read(fd, PING_BYTES);
        raw_write(fd, PING_BYTES);
    }
}

static result_t raw_run(int fd, size_t chunks)
{
    uint64_t start = os_now_ns();
    for (size_t i = 0; i < chunks; i++)
        raw_write(fd, CHUNK);
    raw_read(fd, 1);
    uint64_t middle = os_now_ns();
    for (unsigned i = 0; i < PINGS; i++) {
        raw_write(fd, PING_BYTES);
        raw_read(fd, PING_BYTES);
    }
    return result_of(middle - start, chunks * CHUNK, os_now_ns() - middle);
}

static void raw_options(int fd)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    struct timeval limit = {WAIT_MS / 1000, 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static int raw_listen(struct sockaddr_in *at)
{
    socklen_t length = sizeof(*at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memset(at, 0, sizeof(*at));
    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)at, length) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, (struct sockaddr *)at, &length) != 0)
        fail("listen");
    return fd;
}

/* ----------------------------------------------------------------------------------------------- our transport */

typedef struct side {
    tl_iface_t *iface;
    tl_ep_t *ep;
    counters_t counters;
    log_sink_t log;
    size_t received; /* packets */
    unsigned pending;
    bool ready;
    bool failed;
} side_t;

static side_t side;

static void on_accepted(void *arg, tl_ep_t *ep)
{
    (void)arg;
    side.ep = ep;
}

static void on_ready(tl_ep_t *ep)
{
    (void)ep;
    side.ready = true;
}

static void side_send(const char *header, uint32_t payload_bytes);

static void on_rx(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes)
{
    (void)payload;
    if (header_bytes == 5 && memcmp(header, "hello", 5) == 0) { /* accepted side; the other one hears "howdy" */
        if (side.iface->ops->trust(ep) != VBN_OK)
            fail("trust");
        side_send("howdy", 0);
    } else if (header_bytes == 5 && memcmp(header, "howdy", 5) == 0) {
        if (side.iface->ops->trust(ep) != VBN_OK)
            fail("trust");
    } else {
        side.received++;
        if (payload_bytes == PING_BYTES && memcmp(header, "ping", 4) == 0)
            side_send("pong", PING_BYTES);
    }
}

static void *on_sink(tl_ep_t *ep, const void *header, uint32_t header_bytes, uint32_t payload_bytes)
{
    (void)ep;
    (void)header;
    (void)header_bytes;
    return payload_bytes <= sizeof(buffer) ? buffer : NULL;
}

static void on_tx_done(tl_ep_t *ep, void *cookie, vbn_status_t status)
{
    (void)ep;
    (void)cookie;
    (void)status;
    side.pending--;
}

static void on_tx_ready(tl_ep_t *ep)
{
    (void)ep;
}

static void on_error(tl_ep_t *ep, vbn_status_t status, const char *text)
{
    (void)ep;
    (void)status;
    (void)text; /* the peer ends first on purpose; who still waits for something says so */
    side.failed = true;
}

static void side_open(void)
{
    tl_params_t params = {.settings = &settings, .log = &side.log, .counters = &side.counters, .worker_uid = 1};
    params.upcalls = (tl_upcalls_t){.accepted = on_accepted,
                                    .ready = on_ready,
                                    .rx = on_rx,
                                    .sink = on_sink,
                                    .tx_done = on_tx_done,
                                    .tx_ready = on_tx_ready,
                                    .ep_error = on_error};
    side.log.level = VBN_LOG_WARN;
    errno = 0;
    if (tl_tcp_ops.open(&params, &side.iface) != VBN_OK)
        fail("open");
}

/* One turn of a worker's loop: poll for a while, then sleep. */
static void turn(unsigned *idle)
{
    if (tl_tcp_ops.progress(side.iface) > 0) {
        *idle = 0;
    } else if (++*idle > 200 && tl_tcp_ops.arm(side.iface) == VBN_OK) {
        struct pollfd waiting = {tl_tcp_ops.event_fd(side.iface), POLLIN, 0};
        if (poll(&waiting, 1, WAIT_MS) <= 0)
            fail("no answer");
    }
    if (side.failed)
        fail("the peer ended");
}

static void side_send(const char *header, uint32_t payload_bytes)
{
    struct iovec iov = {buffer, payload_bytes};
    tl_packet_t packet = {.header = header,
                          .header_bytes = (uint32_t)strlen(header),
                          .payload_bytes = payload_bytes,
                          .iov = &iov,
                          .iov_count = 1};
    errno = 0;
    if (tl_tcp_ops.send(side.ep, &packet) != VBN_OK)
        fail("send");
}

static void wait_received(size_t packets)
{
    unsigned idle = 0;
    while (side.received < packets)
        turn(&idle);
    side.received -= packets;
}

static void send_chunks(size_t chunks)
{
    struct iovec iov = {buffer, CHUNK};
    tl_packet_t packet = {.header = "chunk-header-16b",
                          .header_bytes = 16,
                          .payload_bytes = CHUNK,
                          .iov = &iov,
                          .iov_count = 1,
                          .cookie = &iov};
    unsigned idle = 0;
    while (chunks > 0 || side.pending > 0) {
        vbn_status_t status = chunks > 0 ? tl_tcp_ops.send(side.ep, &packet) : VBN_BUSY;
        errno = 0;
        if (status < 0)
            fail("send");
        if (status == VBN_INPROGRESS)
            side.pending++;
        if (status == VBN_BUSY)
            turn(&idle);
        else
            chunks--;
    }
}

static result_t our_run(size_t chunks)
{
    uint64_t start = os_now_ns();
    send_chunks(chunks);
    wait_received(1);
    uint64_t middle = os_now_ns();
    for (unsigned i = 0; i < PINGS; i++) {
        side_send("ping", PING_BYTES);
        wait_received(1);
    }
    return result_of(middle - start, chunks * CHUNK, os_now_ns() - middle);
}

static void our_peer(size_t chunks)
{
    wait_received(chunks);
    side_send("done", 0);
    wait_received(PINGS);
}

/* ------------------------------------------------------------------------------------------------- both in turn */

static void child(int listener, const struct sockaddr_in *raw_at, const void *address, size_t length, int rounds,
                  size_t chunks)
{
    close(listener);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    raw_options(fd);
    if (fd < 0 || connect(fd, (const struct sockaddr *)raw_at, sizeof(*raw_at)) != 0)
        fail("connect");
    side_open();
    errno = 0;
    if (tl_tcp_ops.connect(side.iface, address, length, &side, &side.ep) != VBN_OK)
        fail("connect");
    side_send("hello", 0);
    for (unsigned idle = 0; !side.ready;)
        turn(&idle);
    for (int i = 0; i < rounds; i++) {
        raw_peer(fd, chunks);
        our_peer(chunks);
    }
    raw_read(fd, 1); /* the parent has everything: our last pong was not cut off */
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const result_t *results, int rounds, size_t offset)
{
    double values[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++)
        memcpy(&values[i], (const char *)&results[i] + offset, sizeof(double));
    qsort(values, (size_t)rounds, sizeof(double), by_value);
    return values[rounds / 2];
}

static void print(const char *name, double value, const char *unit)
{
    printf("{\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\"}\n", name, value, unit);
}

static void report(const result_t *raw, const result_t *our, int rounds)
{
    double raw_bw = median(raw, rounds, offsetof(result_t, mbytes_per_s));
    double our_bw = median(our, rounds, offsetof(result_t, mbytes_per_s));
    double raw_us = median(raw, rounds, offsetof(result_t, round_trip_us));
    double our_us = median(our, rounds, offsetof(result_t, round_trip_us));
    print("tcp.raw.bandwidth", raw_bw, "MB/s");
    print("tcp.verbena.bandwidth", our_bw, "MB/s");
    print("tcp.bandwidth.ratio", our_bw / raw_bw, "1");
    print("tcp.raw.round_trip", raw_us, "us");
    print("tcp.verbena.round_trip", our_us, "us");
    print("tcp.round_trip.ratio", our_us / raw_us, "1");
}

static void parent(int listener, int rounds, size_t chunks)
{
    result_t raw[ROUNDS_MAX];
    result_t our[ROUNDS_MAX];
    pin(0);
    struct pollfd waiting = {listener, POLLIN, 0};
    if (poll(&waiting, 1, WAIT_MS) != 1)
        fail("accept");
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    raw_options(fd);
    for (unsigned idle = 0; !side.ready;)
        turn(&idle);
    for (int i = 0; i < rounds; i++) {
        raw[i] = raw_run(fd, chunks);
        our[i] = our_run(chunks);
    }
    raw_write(fd, 1);
    report(raw, our, rounds);
    close(fd);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    long mebibytes = argc > 2 ? atol(argv[2]) : 256;
    if (rounds < 1 || rounds > ROUNDS_MAX || mebibytes < 1 || mebibytes > 65536) {
        fprintf(stderr, "usage: tcp_bw [rounds 1..%d] [MiB per round 1..65536]\n", ROUNDS_MAX);
        return 2;
    }
    size_t chunks = (size_t)mebibytes << 20 >> 18;
    struct sockaddr_in raw_at;
    char address[TL_ADDRESS_MAX];
    size_t length = sizeof(address);
    settings_defaults(&settings);
    if (settings_set(&settings, "tl.tcp.interface", "127.0.0.1") != VBN_OK)
        fail("settings");
    int listener = raw_listen(&raw_at);
    side_open();
    if (tl_tcp_ops.address(side.iface, address, &length) != VBN_OK)
        fail("address");
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        memset(&side, 0, sizeof(side)); /* the parent's interface stays the parent's */
        child(listener, &raw_at, address, length, rounds, chunks);
        _exit(0);
    }
    parent(listener, rounds, chunks);
    int code = 0;
    waitpid(pid, &code, 0);
    return WIFEXITED(code) ? WEXITSTATUS(code) : 1;
}
