/* SPDX-License-Identifier: Apache-2.0
 * self.c - what a get and a message of 8 bytes cost a worker that talks to itself, 16 at a time: the same operations as
 * those of org.verbena.core.bench.JniBench, without Java. Processor time, so that other load shows little. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "perf.h"

#define BATCH 16u
#define BATCHES 4096.0

typedef struct self {
    vbn_context_t *context;
    vbn_worker_t *worker;
    vbn_peer_t *peer;
    vbn_mem_t *memory;
    vbn_key_t *key;
    uint64_t target;
    uint64_t received;
    vbn_op_t ops[BATCH];
} self_t;

static void on_message(void *arg, const vbn_am_message_t *message)
{
    (void)message;
    ((self_t *)arg)->received++;
}

static void open_self(self_t *self)
{
    vbn_config_t *config;
    uint8_t blob[VBN_ADDRESS_MAX];
    uint8_t key[VBN_KEY_MAX];
    size_t length = sizeof(blob);
    size_t key_length = sizeof(key);
    check(vbn_config_create(&config), "vbn_config_create");
    check(vbn_config_set(config, "tl.enable", "self"), "tl.enable");
    check(vbn_config_set(config, "security.auth", "none"), "security.auth");
    check(vbn_open(config, &self->context), "vbn_open");
    vbn_config_destroy(config);
    check(vbn_worker_create(self->context, &self->worker), "vbn_worker_create");
    check(vbn_am_handler(self->worker, 1, on_message, self), "vbn_am_handler");
    check(vbn_mem_alloc(self->context, 4096, VBN_BACKING_MEMFD, NULL, &self->memory), "vbn_mem_alloc");
    check(vbn_key_export(self->memory, 0, 4096, VBN_ACCESS_READ, key, &key_length), "vbn_key_export");
    check(vbn_worker_address(self->worker, blob, &length), "vbn_worker_address");
    check(vbn_connect(self->worker, blob, length, NULL, NULL, &self->peer), "vbn_connect");
    check(vbn_key_import(self->peer, key, key_length, &self->key), "vbn_key_import");
}

static void close_self(self_t *self)
{
    vbn_key_release(self->key);
    vbn_disconnect(self->peer, VBN_CLOSE_NOW);
    vbn_worker_destroy(self->worker);
    check(vbn_mem_free(self->memory), "vbn_mem_free");
    check(vbn_close(self->context), "vbn_close");
}

static void finish(self_t *self, vbn_op_t *op, vbn_status_t status)
{
    check(status, "an operation failed");
    if (status == VBN_OK)
        return;
    double end = now() + DEADLINE_S;
    while (op->complete == 0) {
        (void)vbn_progress(self->worker);
        if (now() > end)
            fail("an operation did not complete in time");
    }
}

static void get_batch(self_t *self)
{
    const struct iovec iov = {&self->target, sizeof(self->target)};
    for (unsigned i = 0; i < BATCH; i++)
        finish(self, &self->ops[i], vbn_get(self->key, 0, &iov, 1, &self->ops[i]));
    (void)vbn_progress(self->worker);
}

static void message_batch(self_t *self)
{
    const struct iovec iov = {&self->target, sizeof(self->target)};
    uint64_t expected = self->received + BATCH;
    for (unsigned i = 0; i < BATCH; i++)
        finish(self, &self->ops[i], vbn_am_send(self->peer, 1, NULL, 0, &iov, 1, 0, &self->ops[i]));
    while (self->received < expected)
        (void)vbn_progress(self->worker);
}

static double cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double block(self_t *self, void (*batch)(self_t *self), uint64_t batches)
{
    double start = cpu_ns();
    for (uint64_t i = 0; i < batches; i++)
        batch(self);
    return (cpu_ns() - start) / (double)batches / BATCH;
}

void run_self(const perf_settings_t *settings)
{
    static const struct {
        const char *name;
        void (*batch)(self_t *self);
    } OPERATIONS[] = {{"get", get_batch}, {"message", message_batch}};
    static self_t self;
    double values[MAX_BLOCKS];
    uint64_t batches = (uint64_t)(BATCHES * settings->scale) + 1;
    open_self(&self);
    for (size_t i = 0; i < sizeof(OPERATIONS) / sizeof(OPERATIONS[0]); i++) {
        (void)block(&self, OPERATIONS[i].batch, batches / 10 + 1);
        for (unsigned j = 0; j < settings->blocks; j++)
            values[j] = block(&self, OPERATIONS[i].batch, batches);
        printf("{\"name\": \"%s\", \"batch\": %u, \"unit\": \"ns\", \"value\": %.2f}\n", OPERATIONS[i].name, BATCH,
               median(values, settings->blocks));
    }
    close_self(&self);
}
