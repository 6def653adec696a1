/* SPDX-License-Identifier: Apache-2.0
 * ours.c - our half of each process, and the measurements that go through vbn.h. */
#include <stdlib.h>
#include <string.h>

#include "perf.h"

enum { ID_ECHO = 1, ID_COUNT = 2, ID_PULL = 3, ID_REPLY = 4, ID_HEAP = 5, ID_PIECES = 6 };

vbn_op_t *take_op(side_t *side)
{
    double end = now() + DEADLINE_S;
    while (side->free_count == 0) {
        (void)vbn_progress(side->worker);
        if (now() > end)
            fail("operations did not complete in time");
    }
    return side->free_ops[--side->free_count];
}

void give_op(side_t *side, vbn_op_t *op)
{
    side->free_ops[side->free_count++] = op;
}

static void op_done(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)length;
    check(status, "an operation failed");
    give_op(op->user, op);
}

void drain(side_t *side)
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
    bool pulled = id == ID_PULL || id == ID_HEAP;
    *iov = (struct iovec){id == ID_HEAP ? side->heap : side->buffer, size};
    vbn_status_t status = vbn_am_send(peer, id, header, header_length, iov, 1, pulled ? VBN_AM_PULL | side->stages : 0,
                                      op);
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

static void pull(side_t *side, const vbn_am_message_t *m, uint8_t *to)
{
    vbn_op_t *op = take_op(side);
    struct iovec *iov = &side->iov[op - side->ops];
    *iov = (struct iovec){to, m->length};
    vbn_status_t status = vbn_am_pull(m->remote, iov, 1, op);
    check(status, "vbn_am_pull");
    if (status == VBN_OK)
        give_op(side, op);
}

static void on_pull(void *arg, const vbn_am_message_t *m)
{
    pull(arg, m, ((side_t *)arg)->buffer);
}

static void on_heap(void *arg, const vbn_am_message_t *m)
{
    pull(arg, m, ((side_t *)arg)->heap);
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

static void open_context(side_t *side, const char *transport)
{
    vbn_config_t *config;
    uint8_t job_key[VBN_JOB_KEY_BYTES] = {7}; /* both processes are ours and end with us */
    check(vbn_config_create(&config), "vbn_config_create");
    check(vbn_config_set(config, "tl.enable", transport), "tl.enable");
    if (strcmp(transport, "rc") == 0) /* else the first puts and gets wait for a second one */
        check(vbn_config_set(config, "link.resume_timeout", "10s"), "link.resume_timeout");
    check(vbn_config_set_job_key(config, job_key), "job key");
    check(vbn_open(config, &side->context), "vbn_open");
    vbn_config_destroy(config);
    check(vbn_worker_create(side->context, &side->worker), "vbn_worker_create");
}

static void add_handlers(side_t *side)
{
    check(vbn_am_handler(side->worker, ID_ECHO, on_echo, side), "handler");
    check(vbn_am_handler(side->worker, ID_COUNT, on_count, side), "handler");
    check(vbn_am_handler(side->worker, ID_PULL, on_pull, side), "handler");
    check(vbn_am_handler(side->worker, ID_HEAP, on_heap, side), "handler");
    check(vbn_am_handler(side->worker, ID_PIECES, on_pull, side), "handler");
    check(vbn_am_handler(side->worker, ID_REPLY, on_reply, side), "handler");
}

static void make_data(side_t *side)
{
    check(vbn_mem_alloc(side->context, REGION, VBN_BACKING_MEMFD, NULL, &side->memory), "vbn_mem_alloc");
    side->buffer = vbn_mem_address(side->memory);
    for (size_t i = 0; i < REGION; i += 8) { /* half of each word is noise: packed, it takes about two thirds */
        uint64_t word = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
        memcpy(side->buffer + i, &word, 8);
    }
    side->heap = malloc(REGION);
    if (side->heap == NULL)
        fail("no heap");
    memset(side->heap, 0x5a, REGION);
}

void open_side(side_t *side, const char *transport)
{
    shared_t *s = side->shared;
    open_context(side, transport);
    for (size_t i = 0; i < WINDOW; i++) {
        side->ops[i] = (vbn_op_t){.done = op_done, .user = side};
        side->free_ops[side->free_count++] = &side->ops[i];
    }
    add_handlers(side);
    make_data(side);
    if (side->rank == 1) {
        s->key_length = sizeof(s->key);
        check(vbn_key_export(side->memory, 0, REGION, VBN_ACCESS_READ | VBN_ACCESS_WRITE, s->key, &s->key_length),
              "vbn_key_export");
    }
    s->address_length[side->rank] = VBN_ADDRESS_MAX;
    check(vbn_worker_address(side->worker, s->address[side->rank], &s->address_length[side->rank]), "address");
    atomic_store(&s->ready[side->rank], 1);
}

void close_side(side_t *side)
{
    if (side->key != NULL)
        vbn_key_release(side->key);
    if (side->peer != NULL)
        vbn_disconnect(side->peer, VBN_CLOSE_FLUSH);
    vbn_worker_destroy(side->worker);
    check(vbn_mem_free(side->memory), "vbn_mem_free");
    free(side->heap);
    check(vbn_close(side->context), "vbn_close");
}

double am_latency(side_t *side, size_t size, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        send_message(side, side->peer, ID_ECHO, NULL, 0, size);
        await_replies(side, side->replies + 1);
    }
    return (now() - start) / (double)count / 2 * 1e9;
}

double am_rate(side_t *side, size_t size, uint64_t count)
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

double get_bandwidth(side_t *side, size_t size, uint64_t count)
{
    return one_sided(side, size, count, true);
}

double put_bandwidth(side_t *side, size_t size, uint64_t count)
{
    return one_sided(side, size, count, false);
}

double pull_bandwidth(side_t *side, size_t size, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++)
        send_message(side, side->peer, ID_PULL, NULL, 0, size);
    drain(side);
    return (double)(size * count) / (now() - start) * 1e-6;
}

double heap_bandwidth(side_t *side, size_t size, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++)
        send_message(side, side->peer, ID_HEAP, NULL, 0, size);
    drain(side);
    return (double)(size * count) / (now() - start) * 1e-6;
}

/* Two pieces of private memory into memory that the receiver has exported: only the sender can copy them at once. */
double pieces_bandwidth(side_t *side, size_t size, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        vbn_op_t *op = take_op(side);
        struct iovec *iov = side->pieces[op - side->ops];
        iov[0] = (struct iovec){side->heap, size / 2};
        iov[1] = (struct iovec){side->heap + size / 2, size - size / 2};
        vbn_status_t status = vbn_am_send(side->peer, ID_PIECES, NULL, 0, iov, 2, VBN_AM_PULL | side->stages, op);
        check(status, "vbn_am_send");
        if (status == VBN_OK)
            give_op(side, op);
    }
    drain(side);
    return (double)(size * count) / (now() - start) * 1e-6;
}

void connect_client(side_t *side)
{
    shared_t *s = side->shared;
    double end = now() + DEADLINE_S;
    while (atomic_load(&s->ready[1]) == 0) {
        if (other_failed(side))
            exit(TOOL_ERROR);
        if (now() > end)
            fail("the server did not start");
    }
    check(vbn_connect(side->worker, s->address[1], s->address_length[1], NULL, NULL, &side->peer), "vbn_connect");
    check(vbn_key_import(side->peer, s->key, s->key_length, &side->key), "vbn_key_import");
    send_message(side, side->peer, ID_ECHO, NULL, 0, 8);
    await_replies(side, 1);
    (void)get_bandwidth(side, 4096, 1); /* waits for the key's mapping */
}
