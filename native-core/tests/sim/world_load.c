/* SPDX-License-Identifier: Apache-2.0
 * world_load.c - what the nodes do to each other, and the checks of what arrives and completes (W1 to W5 of world.c). */
#include "world_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum task_kind { TASK_MESSAGE, TASK_FLUSH, TASK_PUT, TASK_GET, TASK_PULL } task_kind_t;

typedef struct task {
    vbn_op_t op;
    world_t *world;
    node_t *node;
    task_kind_t kind;
    unsigned talk;
    uint32_t number; /* of the message; flush: messages before it */
    unsigned other;  /* node at the other side */
    bool done;
    vbn_key_t *key;
    struct iovec iov[2];
    uint32_t length;
    uint8_t *check; /* GET: what it must read; in the same allocation */
    uint8_t bytes[];
} task_t;

typedef struct word {
    uint32_t talk, number, length;
} word_t;

/* -------------------------------------------------------------------------------------------- utilities */

uint64_t world_draw(world_t *world, uint64_t below)
{
    uint64_t x = world->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % below;
}

void world_violated(world_t *world, const char *format, ...)
{
    va_list args;
    if (world->problem[0] != '\0')
        return; /* the first one counts */
    va_start(args, format);
    vsnprintf(world->problem, sizeof(world->problem), format, args);
    va_end(args);
}

static uint8_t world_pattern(uint32_t talk, uint32_t number, uint32_t at)
{
    return (uint8_t)(talk * 31 + number * 7 + at);
}

/* ----------------------------------------------------------------------------------------- conversations */

/* The peer's conversation; user pointers hold its index + 1. */
static unsigned world_talk_of(node_t *node, vbn_peer_t *peer, unsigned to)
{
    world_t *world = node->world;
    uintptr_t index = (uintptr_t)link_peer_user(peer);
    if (index != 0)
        return (unsigned)index - 1;
    if (world->talk_count == world->talk_capacity) {
        world->talk_capacity = world->talk_capacity * 2 + 16;
        world->talks = realloc(world->talks, world->talk_capacity * sizeof(*world->talks));
        if (world->talks == NULL)
            abort();
    }
    world->talks[world->talk_count] = (conversation_t){.from = node->index, .to = to};
    link_peer_set_user(peer, (void *)(uintptr_t)++world->talk_count);
    return (unsigned)world->talk_count - 1;
}

void world_break_talks(world_t *world, unsigned a, unsigned b)
{
    for (size_t i = 0; i < world->talk_count; i++) {
        conversation_t *talk = &world->talks[i];
        if ((talk->from == a && talk->to == b) || (talk->from == b && talk->to == a))
            talk->broken = true;
    }
}

/* NODES_MAX: of nobody. */
static unsigned node_of(const world_t *world, uint64_t uid)
{
    for (unsigned i = 0; i < world->count; i++)
        if (world->nodes[i].settings.link_window > 0 && uid == FIRST_UID + i)
            return i;
    return NODES_MAX;
}

/* ------------------------------------------------------------------------------------------------- tasks */

static void on_done(vbn_op_t *op, vbn_status_t status, size_t length);

static task_t *new_task(node_t *node, task_kind_t kind, unsigned other, uint32_t length)
{
    task_t *task = calloc(1, sizeof(*task) + 2 * (size_t)length + 1);
    if (task == NULL)
        abort();
    task->world = node->world;
    task->node = node;
    task->kind = kind;
    task->other = other;
    task->length = length;
    task->check = task->bytes + length;
    task->op.done = on_done;
    uint32_t half = length / 3;
    task->iov[0] = (struct iovec){task->bytes, half};
    task->iov[1] = (struct iovec){task->bytes + half, length - half};
    node->world->outstanding++;
    node->world->totals->operations++;
    return task;
}

static void end_task(task_t *task)
{
    if (task->key != NULL) {
        proto_key_release(task->key);
        task->node->transfer[task->other] = false;
    }
    task->world->outstanding--;
    free(task);
}

static void check_bytes(task_t *task, unsigned talk, uint32_t number)
{
    for (uint32_t i = 0; i < task->length; i++)
        if (task->bytes[i] != world_pattern(talk, number, i)) {
            world_violated(task->world, "byte %u of pulled message %u of conversation %u is wrong", i, number, talk);
            return;
        }
}

/* W4: the put has succeeded, now the get. */
static void read_back(task_t *put)
{
    task_t *get = new_task(put->node, TASK_GET, put->other, put->length);
    get->key = put->key;
    put->key = NULL;
    memcpy(get->check, put->bytes, put->length);
    vbn_status_t status = proto_get(get->key, 0, get->iov, 2, &get->op);
    if (status == VBN_INPROGRESS)
        return;
    if (status >= 0)
        world_violated(put->world, "a get over packets completed at once");
    end_task(get);
}

static void succeeded(task_t *task, size_t length)
{
    world_t *world = task->world;
    if (task->kind == TASK_FLUSH && world->talks[task->talk].heard < task->number)
        world_violated(world, "W3: a flush of conversation %u succeeded after %u of %u messages", task->talk,
                       world->talks[task->talk].heard, task->number);
    else if (task->kind == TASK_GET && memcmp(task->bytes, task->check, task->length) != 0)
        world_violated(world, "W4: a get of %u bytes did not read what was put", task->length);
    else if (task->kind == TASK_PULL)
        check_bytes(task, task->talk, task->number);
    else if (task->kind == TASK_PUT && length == task->length)
        read_back(task);
    if (task->kind == TASK_GET)
        world->totals->transfers++;
    if (task->kind == TASK_FLUSH)
        world->totals->flushes++;
}

static void on_done(vbn_op_t *op, vbn_status_t status, size_t length)
{
    task_t *task = container_of(op, task_t, op);
    world_t *world = task->world;
    if (task->done)
        world_violated(world, "W2: an operation completed twice");
    task->done = true;
    if (status >= 0) {
        succeeded(task, length);
    } else {
        world->totals->failed++;
        world_break_talks(world, task->node->index, task->other);
    }
    end_task(task);
}

/* After a call that may complete at once. */
static void issued(task_t *task, vbn_status_t status)
{
    if (status == VBN_INPROGRESS)
        return;
    if (status < 0)
        world_break_talks(task->world, task->node->index, task->other);
    else
        succeeded(task, task->length);
    end_task(task);
}

void world_say(node_t *node, vbn_peer_t *peer, unsigned other, uint32_t length)
{
    task_t *task = new_task(node, TASK_MESSAGE, other, length);
    task->talk = world_talk_of(node, peer, other);
    conversation_t *talk = &node->world->talks[task->talk];
    word_t word = {task->talk, talk->said, length};
    for (uint32_t i = 0; i < length; i++)
        task->bytes[i] = world_pattern(task->talk, talk->said, i);
    static const unsigned FLAGS[] = {
        0, 0, 0, VBN_AM_PULL, VBN_SEND_CHECKSUM, VBN_SEND_LZ4, VBN_SEND_ZSTD, VBN_SEND_CHECKSUM | VBN_SEND_LZ4};
    unsigned flags = FLAGS[world_draw(node->world, sizeof(FLAGS) / sizeof(FLAGS[0]))];
    vbn_status_t status = proto_am_send(peer, 1, &word, sizeof(word), task->iov, length > 0 ? 2 : 0, flags, &task->op);
    if (status >= 0)
        node->world->talks[task->talk].said++;
    node->world->totals->messages += status >= 0;
    issued(task, status);
}

void world_flush(node_t *node, vbn_peer_t *peer, unsigned other)
{
    task_t *task = new_task(node, TASK_FLUSH, other, 0);
    task->talk = world_talk_of(node, peer, other);
    task->number = node->world->talks[task->talk].said;
    issued(task, proto_flush(peer, &task->op));
}

void world_transfer(node_t *node, vbn_peer_t *peer, unsigned other, uint32_t length)
{
    node_t *owner = &node->world->nodes[other];
    uint8_t blob[VBN_KEY_MAX];
    size_t bytes = sizeof(blob);
    if (node->transfer[other] || owner->gone)
        return;
    task_t *task = new_task(node, TASK_PUT, other, length);
    for (uint32_t i = 0; i < length; i++)
        task->bytes[i] = (uint8_t)world_draw(node->world, 256);
    if (mem_key_export(owner->region, (size_t)node->index * SLOT_BYTES, SLOT_BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE,
                       blob, &bytes) < 0)
        world_violated(node->world, "no key: %s", err_text());
    if (proto_key_import(peer, blob, bytes, &task->key, NULL) < 0) {
        task->key = NULL;
        end_task(task);
        return;
    }
    node->transfer[other] = true;
    issued(task, proto_put(task->key, 0, task->iov, 2, &task->op));
}

/* ---------------------------------------------------------------------------------------------- upcalls */

static void check_order(node_t *node, const word_t *word, unsigned from)
{
    world_t *world = node->world;
    if (word->talk >= world->talk_count || world->talks[word->talk].from != from ||
        world->talks[word->talk].to != node->index) {
        world_violated(world, "W1: a message of an unknown conversation %u arrived", word->talk);
        return;
    }
    conversation_t *talk = &world->talks[word->talk];
    if (word->number != talk->heard)
        world_violated(world, "W1: message %u of conversation %u arrived, %u was expected", word->number, word->talk,
                       talk->heard);
    if (word->talk + 1 < node->newest[from])
        world_violated(world, "W1: conversation %u speaks after a later one", word->talk);
    node->newest[from] = word->talk + 1;
    talk->heard++;
}

void world_on_message(void *arg, const vbn_am_message_t *message)
{
    node_t *node = arg;
    world_t *world = node->world;
    word_t word;
    unsigned from = node_of(world, link_peer_uid(message->peer));
    memcpy(&word, message->header, sizeof(word));
    check_order(node, &word, from);
    if (message->length != word.length)
        world_violated(world, "W1: message %u has %zu bytes, not %u", word.number, message->length, word.length);
    const uint8_t *data = message->data;
    for (uint32_t i = 0; data != NULL && i < word.length; i++)
        if (data[i] != world_pattern(word.talk, word.number, i))
            world_violated(world, "W1: byte %u of message %u of conversation %u is wrong", i, word.number, word.talk);
    if (message->remote != NULL && world_draw(world, 8) == 0) {
        proto_am_drop(message->remote);
    } else if (message->remote != NULL) {
        task_t *task = new_task(node, TASK_PULL, from, word.length);
        task->talk = word.talk;
        task->number = word.number;
        issued(task, proto_am_pull(message->remote, task->iov, 2, &task->op));
    }
    if (world_draw(world, 16) == 0) /* answers, also through peers known from their messages only */
        world_say(node, message->peer, from, (uint32_t)world_draw(world, 300));
}

static void lost(node_t *node, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    world_t *world = node->world;
    unsigned other = node_of(world, link_peer_uid(peer));
    world->totals->peers_lost++;
    world_break_talks(world, node->index, other);
    if (world->clean && !world->disconnects)
        world_violated(world, "W5: node %u lost node %u (%s): %s", node->index, other, vbn_status_name(status), text);
}

void world_on_error(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    node_t *node = arg;
    lost(node, peer, status, text);
    for (unsigned i = 0; i < NODES_MAX; i++)
        if (node->peers[i] == peer) {
            node->peers[i] = NULL;
            link_disconnect(peer, VBN_CLOSE_NOW);
        }
}

void world_on_passive_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    lost(arg, peer, status, text);
}
