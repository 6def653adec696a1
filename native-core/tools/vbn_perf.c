/* SPDX-License-Identifier: Apache-2.0
 * vbn_perf.c - two processes measure the core and, in turn with it, the bare mechanism below it.
 *
 *   client (parent, first cpu)                     server (child, second cpu)
 *   measures, prints                               progresses, answers, or runs its half of a raw reference
 *
 * Raw references: shm latency and rate: one cache line bounced between the processes (rate: one way, batched by
 * nothing); tcp latency: a byte over a bare socket; shm bandwidth: memcpy from shared memory; tcp rate and bandwidth: a
 * bare socket stream. A row is the median over blocks; each block measures ours, then raw, so that both see the same
 * machine. */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vbn/vbn.h"

#define REGION ((size_t)64 << 20)
#define MAX_BLOCKS 101
#define WINDOW 64
#define DEADLINE_S 60.0

enum { ID_ECHO = 1, ID_COUNT = 2, ID_PULL = 3, ID_REPLY = 4 };
enum { RAW_NONE, RAW_LINE, RAW_ECHO, RAW_SINK, RAW_SOURCE, RAW_STOP };

typedef struct shared {
    _Atomic int ready[2];
    size_t address_length[2];
    uint8_t address[2][VBN_ADDRESS_MAX];
    size_t key_length;
    uint8_t key[VBN_KEY_MAX];
    _Atomic uint64_t command; /* sequence << 8 | RAW_* */
    _Atomic uint64_t done;
    uint64_t count; /* of the command: rounds or bytes */
    uint64_t size;
    _Alignas(128) _Atomic uint64_t ping;
    _Alignas(128) _Atomic uint64_t pong;
} shared_t;

typedef struct side {
    shared_t *shared;
    int rank;
    int socket; /* raw reference connection */
    vbn_context_t *context;
    vbn_worker_t *worker;
    vbn_peer_t *peer;
    vbn_key_t *key;
    vbn_mem_t *memory;
    uint8_t *buffer; /* REGION bytes */
    uint8_t *raw;    /* REGION bytes shared by both, for memcpy */
    uint64_t counted; /* messages received since the last reply */
    uint64_t expected;
    uint64_t replies;
    size_t free_count;
    vbn_op_t ops[WINDOW];
    vbn_op_t *free_ops[WINDOW];
    struct iovec iov[WINDOW];
} side_t;

typedef struct settings {
    const char *transports;
    const char *rows;
    const char *sizes;
    unsigned blocks;
    double scale;
    int cpus[2];
    bool table;
} perf_settings_t;

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what)
{
    fprintf(stderr, "vbn_perf: %s: %s\n", what, vbn_error_text());
    exit(1);
}

static void check(vbn_status_t status, const char *what)
{
    if (status < 0)
        fail(what);
}

static void fail_system(const char *what)
{
    fprintf(stderr, "vbn_perf: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    if (cpu >= 0 && sched_setaffinity(0, sizeof(set), &set) != 0)
        fprintf(stderr, "vbn_perf: cannot run on cpu %d (%s); results will be noisy\n", cpu, strerror(errno));
}

/* ---------------------------------------------------------------------------------------------- raw halves */

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

/* Server's half. Release pairs with the client's acquire in line_client and the other way round. */
static void line_server(shared_t *s, uint64_t rounds)
{
    for (uint64_t i = 1; i <= rounds; i++) {
        while (atomic_load_explicit(&s->ping, memory_order_acquire) != i)
            ;
        atomic_store_explicit(&s->pong, i, memory_order_release);
    }
}

static void run_command(side_t *side, unsigned kind)
{
    shared_t *s = side->shared;
    if (kind == RAW_LINE)
        line_server(s, s->count);
    for (uint64_t i = 0; kind == RAW_ECHO && i < s->count; i++) {
        read_all(side->socket, side->buffer, s->size);
        write_all(side->socket, side->buffer, s->size, s->size);
    }
    if (kind == RAW_SINK) {
        read_all(side->socket, side->buffer, s->count);
        write_all(side->socket, side->buffer, 1, 1);
    } else if (kind == RAW_SOURCE) {
        write_all(side->socket, side->buffer, s->count, s->size);
    }
}

static void command(side_t *side, unsigned kind, uint64_t count, uint64_t size)
{
    shared_t *s = side->shared;
    s->count = count;
    s->size = size;
    atomic_store(&s->ping, 0);
    atomic_store(&s->pong, 0);
    uint64_t sequence = (atomic_load(&s->command) >> 8) + 1;
    atomic_store(&s->command, sequence << 8 | kind);
}

static void command_wait(side_t *side)
{
    double end = now() + DEADLINE_S;
    while (atomic_load(&side->shared->done) != atomic_load(&side->shared->command))
        if (now() > end)
            fail("the server did not finish a raw reference in time");
}

/* -------------------------------------------------------------------------------------------- our halves */

static vbn_op_t *take_op(side_t *side)
{
    double end = now() + DEADLINE_S;
    while (side->free_count == 0) {
        (void)vbn_progress(side->worker);
        if (now() > end)
            fail("operations did not complete in time");
    }
    return side->free_ops[--side->free_count];
}

static void give_op(side_t *side, vbn_op_t *op)
{
    side->free_ops[side->free_count++] = op;
}

static void op_done(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)length;
    check(status, "an operation failed");
    give_op(op->user, op);
}

static void drain(side_t *side)
{
    double end = now() + DEADLINE_S;
    while (side->free_count < WINDOW) {
        (void)vbn_progress(side->worker);
        if (now() > end)
            fail("operations did not complete in time");
    }
}

static void send_message(side_t *side, vbn_peer_t *peer, unsigned id, const void *header, size_t header_length,
                         size_t size)
{
    vbn_op_t *op = take_op(side);
    struct iovec *iov = &side->iov[op - side->ops];
    *iov = (struct iovec){side->buffer, size};
    vbn_status_t status = vbn_am_send(peer, id, header, header_length, iov, 1, id == ID_PULL ? VBN_AM_PULL : 0, op);
    check(status, "vbn_am_send");
    if (status == VBN_OK)
        give_op(side, op);
}

static void on_echo(void *arg, const vbn_am_message_t *m)
{
    send_message(arg, m->peer, ID_REPLY, NULL, 0, m->length);
}

static void on_count(void *arg, const vbn_am_message_t *m)
{
    side_t *side = arg;
    side->counted++;
    if (m->header_length == 8) {
        memcpy(&side->expected, m->header, 8);
        if (side->counted != side->expected)
            fail("messages were lost");
        side->counted = 0;
        send_message(side, m->peer, ID_REPLY, NULL, 0, 0);
    }
}

static void on_pull(void *arg, const vbn_am_message_t *m)
{
    side_t *side = arg;
    vbn_op_t *op = take_op(side);
    struct iovec *iov = &side->iov[op - side->ops];
    *iov = (struct iovec){side->buffer, m->length};
    vbn_status_t status = vbn_am_pull(m->remote, iov, 1, op);
    check(status, "vbn_am_pull");
    if (status == VBN_OK)
        give_op(side, op);
}

static void on_reply(void *arg, const vbn_am_message_t *m)
{
    (void)m;
    ((side_t *)arg)->replies++;
}

static void await_replies(side_t *side, uint64_t replies)
{
    double end = now() + DEADLINE_S;
    for (uint64_t i = 1; side->replies < replies; i++) {
        (void)vbn_progress(side->worker);
        if (i % 65536 == 0 && now() > end)
            fail("no answer in time");
    }
}

/* Opens our half; the server also exports its memory. */
static void open_side(side_t *side, const char *transport)
{
    shared_t *s = side->shared;
    vbn_config_t *config;
    uint8_t job_key[VBN_JOB_KEY_BYTES] = {7}; /* both processes are ours and end with us */
    check(vbn_config_create(&config), "vbn_config_create");
    check(vbn_config_set(config, "tl.enable", transport), "tl.enable");
    check(vbn_config_set_job_key(config, job_key), "job key");
    check(vbn_open(config, &side->context), "vbn_open");
    vbn_config_destroy(config);
    check(vbn_worker_create(side->context, &side->worker), "vbn_worker_create");
    for (size_t i = 0; i < WINDOW; i++) {
        side->ops[i] = (vbn_op_t){.done = op_done, .user = side};
        side->free_ops[side->free_count++] = &side->ops[i];
    }
    check(vbn_am_handler(side->worker, ID_ECHO, on_echo, side), "handler");
    check(vbn_am_handler(side->worker, ID_COUNT, on_count, side), "handler");
    check(vbn_am_handler(side->worker, ID_PULL, on_pull, side), "handler");
    check(vbn_am_handler(side->worker, ID_REPLY, on_reply, side), "handler");
    check(vbn_mem_alloc(side->context, REGION, VBN_BACKING_MEMFD, NULL, &side->memory), "vbn_mem_alloc");
    side->buffer = vbn_mem_address(side->memory);
    memset(side->buffer, 0x5a, REGION);
    if (side->rank == 1) {
        s->key_length = sizeof(s->key);
        check(vbn_key_export(side->memory, 0, REGION, VBN_ACCESS_READ | VBN_ACCESS_WRITE, s->key, &s->key_length),
              "vbn_key_export");
    }
    s->address_length[side->rank] = VBN_ADDRESS_MAX;
    check(vbn_worker_address(side->worker, s->address[side->rank], &s->address_length[side->rank]), "address");
    atomic_store(&s->ready[side->rank], 1);
}

static void close_side(side_t *side)
{
    if (side->key != NULL)
        vbn_key_release(side->key);
    if (side->peer != NULL)
        vbn_disconnect(side->peer, VBN_CLOSE_FLUSH);
    vbn_worker_destroy(side->worker);
    check(vbn_mem_free(side->memory), "vbn_mem_free");
    check(vbn_close(side->context), "vbn_close");
}

static void serve(side_t *side, const char *transport)
{
    uint64_t seen = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_side(side, transport);
    for (;;) {
        (void)vbn_progress(side->worker);
        uint64_t wanted = atomic_load(&side->shared->command);
        if (wanted == seen)
            continue;
        seen = wanted;
        if ((wanted & 0xff) == RAW_STOP)
            break;
        run_command(side, (unsigned)(wanted & 0xff));
        atomic_store(&side->shared->done, wanted);
    }
    close_side(side);
    _exit(0);
}

/* -------------------------------------------------------------------------------------------- measurements */

typedef double (*measure_t)(side_t *side, size_t size, uint64_t count); /* value in the row's unit */

static double line_latency(side_t *side, size_t size, uint64_t count)
{
    (void)size;
    shared_t *s = side->shared;
    command(side, RAW_LINE, count, 0);
    double start = now();
    for (uint64_t i = 1; i <= count; i++) {
        atomic_store_explicit(&s->ping, i, memory_order_release);
        while (atomic_load_explicit(&s->pong, memory_order_acquire) != i)
            ;
    }
    double seconds = now() - start;
    command_wait(side);
    return seconds / (double)count / 2 * 1e9;
}

static double line_rate(side_t *side, size_t size, uint64_t count)
{
    return 1e3 / line_latency(side, size, count / 4 + 1);
}

static double socket_latency(side_t *side, size_t size, uint64_t count)
{
    uint64_t bytes = size > 0 ? size : 1;
    command(side, RAW_ECHO, count, bytes);
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        write_all(side->socket, side->buffer, bytes, bytes);
        read_all(side->socket, side->buffer, bytes);
    }
    double seconds = now() - start;
    command_wait(side);
    return seconds / (double)count / 2 * 1e9;
}

static double socket_sink(side_t *side, uint64_t bytes, uint64_t chunk)
{
    command(side, RAW_SINK, bytes, chunk);
    double start = now();
    write_all(side->socket, side->buffer, bytes, chunk);
    read_all(side->socket, side->buffer, 1);
    double seconds = now() - start;
    command_wait(side);
    return seconds;
}

static double socket_rate(side_t *side, size_t size, uint64_t count)
{
    uint64_t bytes = size > 0 ? size : 1;
    return (double)count / socket_sink(side, bytes * count, bytes) * 1e-6;
}

static double socket_out(side_t *side, size_t size, uint64_t count)
{
    return (double)(size * count) / socket_sink(side, size * count, size) * 1e-6;
}

static double socket_in(side_t *side, size_t size, uint64_t count)
{
    command(side, RAW_SOURCE, size * count, size);
    double start = now();
    for (uint64_t i = 0; i < count; i++)
        read_all(side->socket, side->buffer, size);
    double seconds = now() - start;
    command_wait(side);
    return (double)(size * count) / seconds * 1e-6;
}

static double memcpy_bandwidth(side_t *side, size_t size, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        memcpy(side->buffer, side->raw, size);
        __asm__ __volatile__("" : : "r"(side->buffer) : "memory"); /* keeps every copy */
    }
    return (double)(size * count) / (now() - start) * 1e-6;
}

static double am_latency(side_t *side, size_t size, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        send_message(side, side->peer, ID_ECHO, NULL, 0, size);
        await_replies(side, side->replies + 1);
    }
    return (now() - start) / (double)count / 2 * 1e9;
}

static double am_rate(side_t *side, size_t size, uint64_t count)
{
    double start = now();
    uint64_t replies = side->replies + 1;
    for (uint64_t i = 1; i < count; i++) {
        send_message(side, side->peer, ID_COUNT, NULL, 0, size);
        if (i % 64 == 0)
            (void)vbn_progress(side->worker);
    }
    send_message(side, side->peer, ID_COUNT, &count, 8, size);
    await_replies(side, replies);
    return (double)count / (now() - start) * 1e-6;
}

static double one_sided(side_t *side, size_t size, uint64_t count, bool get)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        vbn_op_t *op = take_op(side);
        struct iovec *iov = &side->iov[op - side->ops];
        *iov = (struct iovec){side->buffer, size};
        vbn_status_t status = get ? vbn_get(side->key, 0, iov, 1, op) : vbn_put(side->key, 0, iov, 1, op);
        check(status, get ? "vbn_get" : "vbn_put");
        if (status == VBN_OK)
            give_op(side, op);
    }
    drain(side);
    return (double)(size * count) / (now() - start) * 1e-6;
}

static double get_bandwidth(side_t *side, size_t size, uint64_t count)
{
    return one_sided(side, size, count, true);
}

static double put_bandwidth(side_t *side, size_t size, uint64_t count)
{
    return one_sided(side, size, count, false);
}

static double pull_bandwidth(side_t *side, size_t size, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++)
        send_message(side, side->peer, ID_PULL, NULL, 0, size);
    drain(side);
    return (double)(size * count) / (now() - start) * 1e-6;
}

/* -------------------------------------------------------------------------------------------- rows */

typedef struct row {
    const char *name;
    const char *metric;
    const char *unit;
    measure_t ours;
    measure_t raw_shm;
    measure_t raw_tcp;
    const char *sizes;
    double count;  /* repetitions per block over shm, */
    double bytes;  /* or, for bandwidth, bytes per block */
} row_t;

static const row_t ROWS[] = {
    {"core.am.latency", "one-way latency", "ns", am_latency, line_latency, socket_latency, "0,8,64,1024,4096", 20000, 0},
    {"core.am.rate", "message rate", "M/s", am_rate, line_rate, socket_rate, "8,64,1024", 200000, 0},
    {"core.get.bandwidth", "bandwidth", "MB/s", get_bandwidth, memcpy_bandwidth, socket_in, "4096,65536,1048576,16777216",
     0, 256e6},
    {"core.put.bandwidth", "bandwidth", "MB/s", put_bandwidth, memcpy_bandwidth, socket_out,
     "4096,65536,1048576,16777216", 0, 256e6},
    {"core.pull.bandwidth", "bandwidth", "MB/s", pull_bandwidth, memcpy_bandwidth, socket_out,
     "65536,1048576,16777216", 0, 256e6},
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

static uint64_t repetitions(const row_t *row, const perf_settings_t *settings, bool tcp, size_t size)
{
    double count = row->bytes > 0 ? row->bytes / (double)size : row->count;
    count = count * settings->scale / (tcp ? 5 : 1);
    if (row->bytes > 0 && count > 20000)
        count = 20000;
    return count < 4 ? 4 : (uint64_t)count;
}

static void run_row(side_t *side, const row_t *row, const char *transport, size_t size, const perf_settings_t *settings)
{
    bool tcp = strcmp(transport, "tcp") == 0;
    measure_t raw = tcp ? row->raw_tcp : row->raw_shm;
    double ours[MAX_BLOCKS];
    double bare[MAX_BLOCKS];
    uint64_t count = repetitions(row, settings, tcp, size);
    (void)row->ours(side, size, count / 10 + 1); /* warm-up */
    for (unsigned i = 0; i < settings->blocks; i++) {
        ours[i] = row->ours(side, size, count);
        bare[i] = raw(side, size, count);
    }
    double a = median(ours, settings->blocks);
    double b = median(bare, settings->blocks);
    if (settings->table)
        printf("%-20s %-4s %9zu  %12.1f %12.1f  %-5s %6.2f\n", row->name, transport, size, a, b, row->unit, a / b);
    else
        printf("{\"row\": \"%s\", \"transport\": \"%s\", \"size\": %zu, \"metric\": \"%s\", \"unit\": \"%s\", "
               "\"ours\": %.3f, \"raw\": %.3f, \"ratio\": %.4f}\n",
               row->name, transport, size, row->metric, row->unit, a, b, a / b);
    (void)fflush(stdout);
}

/* True when the comma-separated list holds word, or the list is NULL. */
static bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *p = list; p != NULL; p = strchr(p, ',') != NULL ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, length) == 0 && (p[length] == ',' || p[length] == '\0'))
            return true;
    return list == NULL;
}

static void run_rows(side_t *side, const char *transport, const perf_settings_t *settings)
{
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        if (!listed(settings->rows, ROWS[i].name))
            continue;
        const char *p = settings->sizes != NULL ? settings->sizes : ROWS[i].sizes;
        while (*p != '\0') {
            char *end;
            size_t size = strtoull(p, &end, 10);
            if (end == p || size > REGION || (ROWS[i].bytes > 0 && size == 0)) {
                fprintf(stderr, "vbn_perf: bad size in \"%s\"; sizes are bytes, up to %zu, separated by commas\n", p,
                        REGION);
                exit(2);
            }
            run_row(side, &ROWS[i], transport, size, settings);
            p = *end == ',' ? end + 1 : end;
        }
    }
}

/* ---------------------------------------------------------------------------------------------- set-up */

/* A connected pair of TCP sockets over loopback, for the raw references. */
static void raw_pair(int pair[2])
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

static void *share(size_t bytes)
{
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED)
        fail_system("shared pages");
    memset(address, 0, bytes);
    return address;
}

static void connect_client(side_t *side)
{
    shared_t *s = side->shared;
    double end = now() + DEADLINE_S;
    while (atomic_load(&s->ready[1]) == 0)
        if (now() > end)
            fail("the server did not start");
    check(vbn_connect(side->worker, s->address[1], s->address_length[1], NULL, NULL, &side->peer), "vbn_connect");
    check(vbn_key_import(side->peer, s->key, s->key_length, &side->key), "vbn_key_import");
    send_message(side, side->peer, ID_ECHO, NULL, 0, 8);
    await_replies(side, 1);
    (void)get_bandwidth(side, 4096, 1); /* waits for the key's mapping */
}

static void run_transport(const char *transport, const perf_settings_t *settings)
{
    static side_t side;
    int pair[2];
    side = (side_t){.shared = share(sizeof(shared_t)), .raw = share(REGION)};
    raw_pair(pair);
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        fail_system("fork");
    side.rank = pid == 0;
    side.socket = pair[side.rank];
    close(pair[1 - side.rank]);
    pin(settings->cpus[side.rank]);
    if (pid == 0)
        serve(&side, transport);
    open_side(&side, transport);
    connect_client(&side);
    run_rows(&side, transport, settings);
    command(&side, RAW_STOP, 0, 0);
    close_side(&side);
    (void)waitpid(pid, NULL, 0);
    close(side.socket);
    (void)munmap(side.raw, REGION);
    (void)munmap(side.shared, sizeof(shared_t));
}

static void usage(FILE *out)
{
    fprintf(out, "usage: vbn_perf [--transport shm,tcp] [--row core.am.latency,...] [--size 8,64,...] [--blocks 5]\n"
                 "                [--scale 1.0] [--cpus 0,1] [--table]\n"
                 "Prints one JSON line per row, or a table. ratio = ours / raw. --scale: repetitions, relative.\nRows:");
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++)
        fprintf(out, " %s", ROWS[i].name);
    fprintf(out, "\n");
}

static void parse(int argc, char **argv, perf_settings_t *settings)
{
    static const struct option OPTIONS[] = {
        {"transport", required_argument, NULL, 't'}, {"row", required_argument, NULL, 'r'},
        {"size", required_argument, NULL, 's'},      {"blocks", required_argument, NULL, 'b'},
        {"scale", required_argument, NULL, 'x'},     {"cpus", required_argument, NULL, 'c'},
        {"table", no_argument, NULL, 'T'},           {"help", no_argument, NULL, 'h'},
        {0}};
    int option;
    bool good = true;
    while ((option = getopt_long(argc, argv, "t:r:s:b:x:c:Th", OPTIONS, NULL)) != -1) {
        switch (option) {
        case 't': settings->transports = optarg; break;
        case 'r': settings->rows = optarg; break;
        case 's': settings->sizes = optarg; break;
        case 'b': settings->blocks = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'x': settings->scale = strtod(optarg, NULL); break;
        case 'c': good = sscanf(optarg, "%d,%d", &settings->cpus[0], &settings->cpus[1]) == 2; break;
        case 'T': settings->table = true; break;
        case 'h': usage(stdout); exit(0);
        default: good = false;
        }
    }
    if (!good || optind != argc || settings->blocks < 1 || settings->blocks > MAX_BLOCKS || settings->scale <= 0) {
        usage(stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    perf_settings_t settings = {.transports = "shm,tcp", .blocks = 5, .scale = 1.0, .cpus = {0, 1}};
    parse(argc, argv, &settings);
    if (settings.table)
        printf("%-20s %-4s %9s  %12s %12s  %-5s %6s\n", "row", "over", "bytes", "ours", "raw", "unit", "ratio");
    if (listed(settings.transports, "shm"))
        run_transport("shm", &settings);
    if (listed(settings.transports, "tcp"))
        run_transport("tcp", &settings);
    return 0;
}
