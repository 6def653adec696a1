/* SPDX-License-Identifier: Apache-2.0
 * hosts_traffic.c - traffic between two hosts: messages of many sizes that come back, put, get and fetch-add, all checked.
 *
 *   driver                                   server
 *   REQUEST n (data of n)  ------------->    must be the next n, data unchanged
 *                          <-------------    REPLY n with the same data
 *   put, get back, fetch-add per round ->    memory: word 0 counts rounds, the rest holds what was put
 *   END                    ------------->    answers BYE and ends
 *
 * SILENT is the address of a host that does not answer: it is connected to on the way, and must hold nothing up.
 *
 * Single-threaded. Status: 0 all was right, 1 something was wrong (told on standard error), 3 the peer was lost. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vbn/vbn.h"

enum { REQUEST = 1, REPLY, END, BYE };
#define WINDOW 8
#define PUT_BYTES ((size_t)20000)
#define MEMORY ((size_t)1 << 20)
#define WAIT_S 120
#define MAX_ROUNDS 100000

typedef struct item {
    vbn_op_t op; /* first: op and item have one address */
    struct iovec iov;
    vbn_peer_t *peer;
    uint64_t number;
    uint8_t data[];
} item_t;

static vbn_context_t *context;
static vbn_worker_t *worker;
static uint64_t received; /* requests at the server, replies at the driver */
static uint8_t answered[MAX_ROUNDS];
static int ended, pending; /* pending: items whose op is not complete */

static _Noreturn void fail(const char *what, uint64_t number)
{
    fprintf(stderr, "hosts_traffic: %s at %llu; last error: %s\n", what, (unsigned long long)number, vbn_error_text());
    exit(1);
}

static void on_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    (void)arg, (void)peer;
    if (ended)
        return;
    printf("lost: %s: %s\n", vbn_status_name(status), text);
    exit(3);
}

static uint8_t byte_of(uint64_t number, size_t i)
{
    return (uint8_t)(number * 31 + i * 7 + (i >> 8));
}

static item_t *new_item(vbn_peer_t *peer, uint64_t number, size_t size)
{
    item_t *item = calloc(1, sizeof(*item) + size);
    if (item == NULL)
        fail("no memory", number);
    item->peer = peer;
    item->number = number;
    item->iov = (struct iovec){item->data, size};
    pending++;
    return item;
}

static void check(const uint8_t *data, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++)
        if (data[i] != byte_of(number, i))
            fail("data is damaged", number);
}

static void sent(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)length;
    if (status != VBN_OK && status != VBN_ERR_PEER_LOST && !ended) /* on_lost tells of a loss */
        fail("a message was not delivered", ((item_t *)op)->number);
    pending--;
    free(op);
}

static void send_item(item_t *item, unsigned id)
{
    item->op = (vbn_op_t){.done = sent};
    vbn_status_t status = vbn_am_send(item->peer, id, &item->number, sizeof(item->number), &item->iov, 1, 0, &item->op);
    if (status < 0 && status != VBN_ERR_PEER_LOST)
        fail("vbn_am_send", item->number);
    if (status == VBN_OK)
        sent(&item->op, VBN_OK, 0);
}

/* All data of a request or reply is here. */
static void whole(item_t *item, unsigned id)
{
    check(item->data, item->iov.iov_len, item->number);
    if (id == REQUEST) {
        send_item(item, REPLY);
        return;
    }
    if (item->number >= MAX_ROUNDS || answered[item->number]++)
        fail("a reply came twice", item->number);
    received++;
    pending--;
    free(item);
}

static void pulled(vbn_op_t *op, vbn_status_t status, size_t length)
{
    item_t *item = (item_t *)op;
    if (status == VBN_ERR_PEER_LOST)
        return;
    if (status != VBN_OK || length != item->iov.iov_len)
        fail("data could not be pulled", item->number);
    whole(item, (unsigned)(uintptr_t)op->user);
}

static void on_data(void *arg, const vbn_am_message_t *message)
{
    unsigned id = (unsigned)(uintptr_t)arg;
    uint64_t number;
    if (message->header_length != sizeof(number))
        fail("a header is damaged", received);
    memcpy(&number, message->header, sizeof(number));
    if (id == REQUEST && number != received++)
        fail("a request came out of order or twice", number);
    item_t *item = new_item(message->peer, number, message->length);
    if (message->remote == NULL) {
        if (message->length > 0)
            memcpy(item->data, message->data, message->length);
        whole(item, id);
        return;
    }
    item->op = (vbn_op_t){.done = pulled, .user = arg};
    vbn_status_t status = vbn_am_pull(message->remote, &item->iov, 1, &item->op);
    if (status < 0)
        fail("vbn_am_pull", number);
    if (status == VBN_OK)
        pulled(&item->op, VBN_OK, item->iov.iov_len);
}

static void on_end(void *arg, const vbn_am_message_t *message)
{
    ended = 1;
    if (arg == NULL)
        send_item(new_item(message->peer, 0, 0), BYE);
}

static void step(void)
{
    if (vbn_progress(worker) > 0 || vbn_arm(worker) != VBN_OK)
        return;
    struct pollfd fd = {vbn_event_fd(worker), POLLIN, 0};
    (void)poll(&fd, 1, 50);
}

static void wait_op(vbn_status_t status, vbn_op_t *op, const char *what, uint64_t number)
{
    time_t end = time(NULL) + WAIT_S;
    bool lost = status == VBN_ERR_PEER_LOST;
    if (status < 0 && !lost)
        fail(what, number);
    while (lost || (status == VBN_INPROGRESS && !op->complete)) {
        step();
        lost = lost || (op->complete && op->status == VBN_ERR_PEER_LOST); /* on_lost ends the program */
        if (time(NULL) > end)
            fail(what, number);
    }
    if (status == VBN_INPROGRESS && op->status != VBN_OK)
        fail(what, number);
    memset(op, 0, sizeof(*op));
}

static void open_worker(void)
{
    static const uint8_t job_key[VBN_JOB_KEY_BYTES] = {1, 2, 3};
    vbn_config_t *config;
    if (vbn_config_create(&config) < 0 || vbn_config_set_job_key(config, job_key) < 0 ||
        vbn_open(config, &context) < 0 || vbn_worker_create(context, &worker) < 0)
        fail("start", 0);
    vbn_config_destroy(config);
    vbn_worker_set_peer_lost(worker, on_lost, NULL);
    (void)vbn_am_handler(worker, REQUEST, on_data, (void *)(uintptr_t)REQUEST);
    (void)vbn_am_handler(worker, REPLY, on_data, (void *)(uintptr_t)REPLY);
    (void)vbn_am_handler(worker, END, on_end, NULL);
    (void)vbn_am_handler(worker, BYE, on_end, &ended);
}

static void print_hex(const uint8_t *data, size_t length, char after)
{
    for (size_t i = 0; i < length; i++)
        printf("%02x", data[i]);
    putchar(after);
}

static void say(const char *word)
{
    printf("%s\n", word);
    (void)fflush(stdout);
}

static size_t read_hex(const char *text, uint8_t *data, size_t most)
{
    size_t length = strlen(text) / 2;
    if (length > most)
        fail("hexadecimal text is too long", length);
    for (size_t i = 0; i < length; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        data[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return length;
}

static int serve(void)
{
    uint8_t address[VBN_ADDRESS_MAX], key[VBN_KEY_MAX];
    size_t address_length = sizeof(address), key_length = sizeof(key);
    vbn_mem_t *memory;
    vbn_op_t flush = {0};
    open_worker();
    if (vbn_worker_address(worker, address, &address_length) < 0 ||
        vbn_mem_alloc(context, MEMORY, VBN_BACKING_MEMFD, NULL, &memory) < 0 ||
        vbn_key_export(memory, 0, MEMORY, VBN_ACCESS_READ | VBN_ACCESS_WRITE, key, &key_length) < 0)
        fail("address and memory", 0);
    print_hex(address, address_length, ' ');
    print_hex(key, key_length, '\n');
    say("serving");
    while (!ended || pending > 0)
        step();
    if (vbn_flush_all(worker, &flush) == VBN_INPROGRESS)
        while (!flush.complete) /* however that ends: the driver may be gone as soon as it has the BYE */
            step();
    printf("served %llu requests in order\n", (unsigned long long)received);
    vbn_worker_destroy(worker);
    return 0;
}

static void one_sided(vbn_key_t *key, uint64_t round)
{
    static uint8_t out[PUT_BYTES], in[PUT_BYTES];
    static vbn_op_t op;
    uint64_t before = 0;
    size_t size = (size_t)(round * 997 % PUT_BYTES) + 1, offset = 64 + (size_t)(round % 40) * PUT_BYTES;
    struct iovec from = {out, size}, to = {in, size};
    for (size_t i = 0; i < size; i++)
        out[i] = byte_of(round, i);
    memset(in, 0, size);
    wait_op(vbn_put(key, offset, &from, 1, &op), &op, "vbn_put", round);
    wait_op(vbn_get(key, offset, &to, 1, &op), &op, "vbn_get", round);
    check(in, size, round);
    wait_op(vbn_atomic(key, 0, VBN_ATOMIC_ADD, 8, 1, 0, &before, &op), &op, "vbn_atomic", round);
    if (before != round)
        fail("fetch-add was executed twice or not at all", before);
}

static void request(vbn_peer_t *peer, uint64_t round)
{
    size_t size = round % 16 == 15 ? 300000 : (size_t)(round * 7919 % 20000);
    item_t *item = new_item(peer, round, size);
    for (size_t i = 0; i < size; i++)
        item->data[i] = byte_of(round, i);
    send_item(item, REQUEST);
}

static void wait_replies(uint64_t count)
{
    time_t end = time(NULL) + WAIT_S;
    while (received < count) {
        step();
        if (time(NULL) > end)
            fail("replies do not come", received);
    }
}

static uint64_t silent_since; /* replies before it was connected to */
static int silent_lost;

static void on_silent(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    (void)arg, (void)peer;
    printf("silent: %s after %llu replies: %s\n", vbn_status_name(status),
           (unsigned long long)(received - silent_since), text);
    silent_lost = 1;
}

static void connect_silent(const char *address_text)
{
    uint8_t address[VBN_ADDRESS_MAX];
    vbn_peer_t *peer;
    silent_since = received;
    if (vbn_connect(worker, address, read_hex(address_text, address, sizeof(address)), on_silent, NULL, &peer) < 0)
        fail("connect to the silent host", 0);
}

static int drive(uint64_t rounds, const char *address_text, const char *key_text, const char *silent)
{
    uint8_t address[VBN_ADDRESS_MAX], blob[VBN_KEY_MAX];
    char text[512];
    vbn_peer_t *peer;
    vbn_key_t *key;
    open_worker();
    size_t length = read_hex(address_text, address, sizeof(address));
    if (vbn_connect(worker, address, length, on_lost, NULL, &peer) < 0 ||
        vbn_key_import(peer, blob, read_hex(key_text, blob, sizeof(blob)), &key) < 0)
        fail("connect", 0);
    for (uint64_t round = 0; round < rounds; round++) {
        request(peer, round);
        one_sided(key, round);
        if (round == 0)
            say("driving"); /* connected */
        if (round >= WINDOW)
            wait_replies(round - WINDOW);
        if (round == WINDOW && silent != NULL)
            connect_silent(silent);
    }
    wait_replies(rounds);
    for (time_t end = time(NULL) + WAIT_S; silent != NULL && !silent_lost && time(NULL) < end;)
        step();
    (void)vbn_explain(peer, text, sizeof(text));
    send_item(new_item(peer, 0, 0), END);
    for (time_t end = time(NULL) + WAIT_S; !ended && time(NULL) < end;)
        step();
    printf("%llu rounds: all answered once, unchanged, in order; %s\n", (unsigned long long)rounds, text);
    vbn_key_release(key);
    vbn_worker_destroy(worker);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        return serve();
    bool drives = (argc == 5 || argc == 6) && strcmp(argv[1], "drive") == 0;
    uint64_t rounds = drives ? strtoull(argv[2], NULL, 10) : 0;
    if (rounds > 0 && rounds < MAX_ROUNDS)
        return drive(rounds, argv[3], argv[4], argc == 6 ? argv[5] : NULL);
    fprintf(stderr, "usage: hosts_traffic serve | hosts_traffic drive ROUNDS ADDRESS KEY [SILENT]\n");
    return 2;
}
