/* SPDX-License-Identifier: Apache-2.0
 * example.h - what the examples share: errors, a worker, waiting, addresses as text. */
#pragma once

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vbn/vbn.h>

/* Every failure has a text that names cause and cure. */
static inline void check(vbn_status_t status, const char *what)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, vbn_status_name(status), vbn_error_text());
    exit(1);
}

/* A worker with the settings of the environment (VBN_*) and the job key that vbn-info --new-key has put into a file. */
static inline vbn_worker_t *open_worker(const char *key_file, vbn_context_t **context)
{
    vbn_config_t *config;
    vbn_worker_t *worker;
    check(vbn_config_create(&config), "settings");
    check(vbn_config_read_job_key(config, key_file), "job key");
    check(vbn_open(config, context), "context");
    vbn_config_destroy(config);
    check(vbn_worker_create(*context, &worker), "worker");
    return worker;
}

/* Moves whatever can move until *flag is set; sleeps while there is nothing. */
static inline void run_until(vbn_worker_t *worker, const volatile uint32_t *flag)
{
    while (*flag == 0) {
        struct pollfd fd = {vbn_event_fd(worker), POLLIN, 0};
        if (vbn_progress(worker) == 0 && vbn_arm(worker) == VBN_OK)
            (void)poll(&fd, 1, 1000);
    }
}

/* Waits for the end of an operation; status: what the call that started it has returned. */
static inline void finish(vbn_worker_t *worker, vbn_status_t status, const vbn_op_t *op, const char *what)
{
    check(status, what);
    if (status == VBN_INPROGRESS) {
        run_until(worker, &op->complete);
        check((vbn_status_t)op->status, what);
    }
}

/* How programs learn of each other is their own business: here one prints, the other gets arguments. */
static inline void print_hex(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printf("%02x", ((const uint8_t *)bytes)[i]);
    printf("\n");
    (void)fflush(stdout);
}

static inline size_t parse_hex(const char *text, uint8_t *bytes, size_t capacity)
{
    size_t length = 0;
    for (unsigned byte; length < capacity && sscanf(text + 2 * length, "%2x", &byte) == 1; length++)
        bytes[length] = (uint8_t)byte;
    return length;
}

static inline void print_address(vbn_worker_t *worker)
{
    uint8_t address[VBN_ADDRESS_MAX];
    size_t length = sizeof(address);
    check(vbn_worker_address(worker, address, &length), "address");
    print_hex(address, length);
}

static inline void on_peer_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    (void)arg, (void)peer;
    fprintf(stderr, "peer lost: %s: %s\n", vbn_status_name(status), text);
    exit(1);
}

static inline vbn_peer_t *connect_to(vbn_worker_t *worker, const char *text)
{
    uint8_t bytes[VBN_ADDRESS_MAX];
    vbn_peer_t *peer;
    check(vbn_connect(worker, bytes, parse_hex(text, bytes, sizeof(bytes)), on_peer_lost, NULL, &peer), "connect");
    return peer;
}

/* Ends a connection so that the other side sees an end and no loss: when all has arrived, a CLOSE leaves with progress. */
static inline void leave(vbn_worker_t *worker, vbn_peer_t *peer)
{
    vbn_op_t op = {0};
    finish(worker, vbn_flush(peer, &op), &op, "flush");
    vbn_disconnect(peer, VBN_CLOSE_FLUSH);
    vbn_progress(worker);
}
