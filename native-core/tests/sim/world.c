/* SPDX-License-Identifier: Apache-2.0
 * world.c - properties of the core over a simulated net.
 *
 * A conversation is what one side says through one peer object; its messages carry its index and a number. Properties:
 * W1 messages of a conversation arrive exactly once, in order, whole, and none after one of a later conversation of the
 * same pair. W2 every operation completes exactly once. W3 when a flush succeeds all messages before it have arrived.
 * W4 a get after a put reads what was put. W5 where the faults are only loss, delay and short partitions, and nobody
 * disconnects, no peer is lost and everything arrives. W6 everything ends within a virtual deadline, and nothing is left behind. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "link/link_private.h"
#include "proto/proto_private.h"
#include "tl/sim/sim.h"

#define NODES_MAX 4u
#define SLOT_BYTES 16384u
#define NS_PER_MS UINT64_C(1000000)
#define DEADLINE_MS UINT64_C(600000)
#define FIRST_RESUMED 8u /* kinds from here on lose nothing when connections break */
#define BIG_MAX 40000u

typedef struct world world_t;

typedef struct conversation {
    unsigned from, to;
    uint32_t said;  /* messages the link or protocol took */
    uint32_t heard; /* messages that have arrived */
    bool broken;    /* an operation failed, a peer was lost or closed: not all arrives */
} conversation_t;

typedef struct node {
    world_t *world;
    unsigned index;
    settings_t settings;
    log_sink_t log;
    counters_t counters;
    mem_registry_t *memory;
    vbn_mem_t *region; /* one slot for each node that may put there */
    proto_engine_t *proto;
    link_engine_t *link;
    vbn_peer_t *peers[NODES_MAX]; /* what link_connect gave; NULL: not connected */
    unsigned newest[NODES_MAX];   /* highest conversation heard from each node, + 1 */
    bool transfer[NODES_MAX];     /* a put and get is running */
    bool gone;
} node_t;

struct world {
    sim_net_t *net;
    uint64_t random;
    unsigned kind, count;
    bool clean; /* W5 applies */
    bool disconnects;
    node_t nodes[NODES_MAX];
    conversation_t *talks;
    size_t talk_count, talk_capacity;
    uint64_t outstanding;
    world_totals_t *totals;
    char problem[400];
};

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

static uint64_t draw(world_t *world, uint64_t below)
{
    uint64_t x = world->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % below;
}

__attribute__((format(printf, 2, 3))) static void violated(world_t *world, const char *format, ...)
{
    va_list args;
    if (world->problem[0] != '\0')
        return; /* the first one counts */
    va_start(args, format);
    vsnprintf(world->problem, sizeof(world->problem), format, args);
    va_end(args);
}

static uint8_t pattern(uint32_t talk, uint32_t number, uint32_t at)
{
    return (uint8_t)(talk * 31 + number * 7 + at);
}

static void quiet(void *arg, vbn_log_level_t level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

/* ----------------------------------------------------------------------------------------- conversations */

/* The peer's conversation; user pointers hold its index + 1. */
static unsigned talk_of(node_t *node, vbn_peer_t *peer, unsigned to)
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

static void break_talks(world_t *world, unsigned a, unsigned b)
{
    for (size_t i = 0; i < world->talk_count; i++) {
        conversation_t *talk = &world->talks[i];
        if ((talk->from == a && talk->to == b) || (talk->from == b && talk->to == a))
            talk->broken = true;
    }
}

static unsigned node_of(const world_t *world, uint64_t uid)
{
    for (unsigned i = 0; i < world->count; i++)
        if (world->nodes[i].settings.link_window > 0 && uid == 1000 + i)
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
        if (task->bytes[i] != pattern(talk, number, i)) {
            violated(task->world, "byte %u of pulled message %u of conversation %u is wrong", i, number, talk);
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
        violated(put->world, "a get over packets completed at once");
    end_task(get);
}

static void succeeded(task_t *task, size_t length)
{
    world_t *world = task->world;
    if (task->kind == TASK_FLUSH && world->talks[task->talk].heard < task->number)
        violated(world, "W3: a flush of conversation %u succeeded after %u of %u messages", task->talk,
                 world->talks[task->talk].heard, task->number);
    else if (task->kind == TASK_GET && memcmp(task->bytes, task->check, task->length) != 0)
        violated(world, "W4: a get of %u bytes did not read what was put", task->length);
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
        violated(world, "W2: an operation completed twice");
    task->done = true;
    if (status >= 0) {
        succeeded(task, length);
    } else {
        world->totals->failed++;
        break_talks(world, task->node->index, task->other);
    }
    end_task(task);
}

/* After a call that may complete at once. */
static void issued(task_t *task, vbn_status_t status)
{
    if (status == VBN_INPROGRESS)
        return;
    if (status < 0)
        break_talks(task->world, task->node->index, task->other);
    else
        succeeded(task, task->length);
    end_task(task);
}

static void say(node_t *node, vbn_peer_t *peer, unsigned other, uint32_t length)
{
    task_t *task = new_task(node, TASK_MESSAGE, other, length);
    task->talk = talk_of(node, peer, other);
    conversation_t *talk = &node->world->talks[task->talk];
    word_t word = {task->talk, talk->said, length};
    for (uint32_t i = 0; i < length; i++)
        task->bytes[i] = pattern(task->talk, talk->said, i);
    vbn_status_t status = proto_am_send(peer, 1, &word, sizeof(word), task->iov, length > 0 ? 2 : 0, 0, &task->op);
    if (status >= 0)
        node->world->talks[task->talk].said++;
    node->world->totals->messages += status >= 0;
    issued(task, status);
}

static void flush(node_t *node, vbn_peer_t *peer, unsigned other)
{
    task_t *task = new_task(node, TASK_FLUSH, other, 0);
    task->talk = talk_of(node, peer, other);
    task->number = node->world->talks[task->talk].said;
    issued(task, proto_flush(peer, &task->op));
}

static void transfer(node_t *node, vbn_peer_t *peer, unsigned other, uint32_t length)
{
    node_t *owner = &node->world->nodes[other];
    uint8_t blob[VBN_KEY_MAX];
    size_t bytes = sizeof(blob);
    if (node->transfer[other] || owner->gone)
        return;
    task_t *task = new_task(node, TASK_PUT, other, length);
    for (uint32_t i = 0; i < length; i++)
        task->bytes[i] = (uint8_t)draw(node->world, 256);
    if (mem_key_export(owner->region, (size_t)node->index * SLOT_BYTES, SLOT_BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE,
                       blob, &bytes) < 0)
        violated(node->world, "no key: %s", err_text());
    if (proto_key_import(peer, blob, bytes, &task->key) < 0) {
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
        violated(world, "W1: a message of an unknown conversation %u arrived", word->talk);
        return;
    }
    conversation_t *talk = &world->talks[word->talk];
    if (word->number != talk->heard)
        violated(world, "W1: message %u of conversation %u arrived, %u was expected", word->number, word->talk,
                 talk->heard);
    if (word->talk + 1 < node->newest[from])
        violated(world, "W1: conversation %u speaks after a later one", word->talk);
    node->newest[from] = word->talk + 1;
    talk->heard++;
}

static void on_message(void *arg, const vbn_am_message_t *message)
{
    node_t *node = arg;
    world_t *world = node->world;
    word_t word;
    unsigned from = node_of(world, link_peer_uid(message->peer));
    memcpy(&word, message->header, sizeof(word));
    check_order(node, &word, from);
    if (message->length != word.length)
        violated(world, "W1: message %u has %zu bytes, not %u", word.number, message->length, word.length);
    const uint8_t *data = message->data;
    for (uint32_t i = 0; data != NULL && i < word.length; i++)
        if (data[i] != pattern(word.talk, word.number, i))
            violated(world, "W1: byte %u of message %u of conversation %u is wrong", i, word.number, word.talk);
    if (message->remote != NULL && draw(world, 8) == 0) {
        proto_am_drop(message->remote);
    } else if (message->remote != NULL) {
        task_t *task = new_task(node, TASK_PULL, from, word.length);
        task->talk = word.talk;
        task->number = word.number;
        issued(task, proto_am_pull(message->remote, task->iov, 2, &task->op));
    }
    if (draw(world, 16) == 0) /* answers, also through peers known from their messages only */
        say(node, message->peer, from, (uint32_t)draw(world, 300));
}

static void lost(node_t *node, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    world_t *world = node->world;
    unsigned other = node_of(world, link_peer_uid(peer));
    world->totals->peers_lost++;
    break_talks(world, node->index, other);
    if (world->clean && !world->disconnects)
        violated(world, "W5: node %u lost node %u (%s): %s", node->index, other, vbn_status_name(status), text);
}

static void on_error(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    node_t *node = arg;
    lost(node, peer, status, text);
    for (unsigned i = 0; i < NODES_MAX; i++)
        if (node->peers[i] == peer) {
            node->peers[i] = NULL;
            link_disconnect(peer, VBN_CLOSE_NOW);
        }
}

static void on_passive_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    lost(arg, peer, status, text);
}

/* --------------------------------------------------------------------------------------------- building */

static sim_fabric_t draw_fabric(world_t *world)
{
    unsigned kind = world->kind;
    sim_fabric_t fabric = {.datagram = kind != 4 && kind != 5 && kind != 8 && kind != 10,
                           .packet_max = (uint32_t)(SIM_PACKET_MIN + draw(world, 7) * 1000),
                           .delay_ns = 1000 + draw(world, 200000)};
    fabric.jitter_ns = draw(world, 3) == 0 ? 0 : draw(world, 4 * fabric.delay_ns);
    fabric.busy_ppm = draw(world, 2) == 0 ? 0 : (uint32_t)draw(world, 200000);
    fabric.later_ppm = draw(world, 2) == 0 ? 0 : (uint32_t)draw(world, 400000);
    fabric.loss_ppm = (uint32_t)draw(world, kind == 1 ? 250000 : 20000);
    fabric.duplicate_ppm = (uint32_t)draw(world, kind == 1 ? 150000 : 20000);
    fabric.late_ppm = (uint32_t)draw(world, kind == 1 ? 100000 : 20000);
    fabric.inbox_max = kind == 7 ? 4 + (uint32_t)draw(world, 60) : 0;
    return fabric;
}

const char *world_kind(uint64_t seed)
{
    static const char *const names[WORLD_KINDS] = {
        "datagrams, some loss", "datagrams, heavy loss, doubles and lateness", "datagrams, short partitions",
        "datagrams, long partitions and crashes", "connections, busy", "connections that break",
        "datagrams, endpoints that break", "datagrams, few buffers and small windows",
        "connections that break and are resumed", "datagram endpoints that break and are resumed",
        "connections and datagrams, resumed over the other", "datagrams, resumed after long partitions"};
    return names[seed % WORLD_KINDS];
}

static bool open_node(world_t *world, unsigned index)
{
    static const tl_ops_t *const table[] = {&tl_sim_ops, &tl_sim2_ops};
    node_t *node = &world->nodes[index];
    uint8_t key[32];
    memset(key, 7, sizeof(key));
    node->world = world;
    node->index = index;
    node->log = (log_sink_t){.func = quiet, .level = VBN_LOG_ERROR};
    settings_defaults(&node->settings);
    snprintf(node->settings.tl_enable, sizeof(node->settings.tl_enable), world->kind == 10 ? "sim,sim2" : "sim");
    if (world->kind >= FIRST_RESUMED)
        node->settings.link_resume_timeout = UINT64_C(300000) * NS_PER_MS;
    if (world->kind >= 10) { /* silence is noticed soon */
        node->settings.link_keepalive = UINT64_C(1000) * NS_PER_MS;
        node->settings.link_peer_timeout = UINT64_C(3000) * NS_PER_MS;
    }
    node->settings.link_window = world->kind == 7 ? (int64_t)(8 + draw(world, 24)) : 512;
    node->settings.link_close_timeout = UINT64_C(120000) * NS_PER_MS;
    node->settings.proto_am_small_max = 64 + draw(world, 4000);
    if (mem_registry_open(&node->log, &node->counters, &node->memory) < 0 ||
        mem_alloc(node->memory, NODES_MAX * SLOT_BYTES, VBN_BACKING_MEMFD, NULL, &node->region) < 0)
        return false;
    proto_params_t proto = {&node->settings, &node->log, &node->counters, node->memory};
    link_params_t link = {.settings = &node->settings, .log = &node->log, .counters = &node->counters,
                          .memory = node->memory, .job_key = key, .clock = sim_net_clock(world->net),
                          .network = world->net, .uid = 1000 + index};
    if (proto_engine_open(&proto, &node->proto) < 0)
        return false;
    proto_link_upcalls(node->proto, &link);
    if (link_engine_open_with(&link, table, world->kind == 10 ? 2 : 1, &node->link) < 0)
        return false;
    proto_attach(node->proto, node->link);
    link_engine_set_peer_lost(node->link, on_passive_lost, node);
    return proto_am_handler(node->proto, 1, on_message, node) >= 0;
}

static void close_node(node_t *node)
{
    world_t *world = node->world;
    if (node->gone)
        return;
    node->gone = true;
    for (unsigned i = 0; i < world->count; i++)
        break_talks(world, node->index, i);
    link_engine_close(node->link);
    proto_engine_close(node->proto);
}

static void free_node(node_t *node)
{
    if (node->memory == NULL)
        return;
    (void)mem_free(node->region);
    if (mem_registry_close(node->memory) < 0)
        violated(node->world, "W6: node %u leaves memory behind: %s", node->index, err_text());
}

/* SIM_TRACE=1: every packet that is launched, for finding out what a seed does. */
static sim_verdict_t trace(void *arg, uint64_t from_uid, uint64_t to_uid, uint8_t *header, uint32_t *bytes)
{
    const world_t *world = arg;
    fprintf(stderr, "%12.3f ms %llu -> %llu type %u flags %u connection %08x sequence %u ack %u (%u bytes)\n",
            (double)(sim_net_now_ns(world->net) - 1000 * NS_PER_MS) / 1e6, (unsigned long long)from_uid - 1000,
            (unsigned long long)to_uid - 1000, header[0] & 15u, header[1], le_get_u32(header + 4),
            le_get_u32(header + 8), le_get_u32(header + 12), *bytes);
    return SIM_PASS;
}

/* ---------------------------------------------------------------------------------------------- running */

/* Lets everything happen that happens now; moves the clock when nothing does. */
static void turn(world_t *world, bool all)
{
    unsigned events = 0;
    for (unsigned i = 0; i < world->count; i++) {
        node_t *node = &world->nodes[i];
        if (node->gone || (!all && draw(world, 3) == 0))
            continue;
        events += link_engine_progress(node->link) + proto_progress(node->proto) + proto_busy(node->proto);
    }
    if (events > 0)
        return;
    uint64_t now = sim_net_now_ns(world->net);
    uint64_t limit = now + (all ? DEADLINE_MS * NS_PER_MS : NS_PER_MS); /* who was left out may have work to do now */
    for (unsigned i = 0; i < world->count; i++) {
        const node_t *node = &world->nodes[i];
        int next_ms = node->gone ? -1 : wheel_next_ms(&node->link->wheel);
        uint64_t due = (node->gone ? 0 : node->link->wheel.now_ms + (uint64_t)(next_ms + 1)) * NS_PER_MS;
        if (next_ms >= 0 && due < limit)
            limit = due;
    }
    sim_net_step(world->net, limit > now ? limit : now + 1);
}

static void dial(node_t *node, unsigned other)
{
    world_t *world = node->world;
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    if (world->nodes[other].gone)
        return;
    if (link_engine_address(world->nodes[other].link, blob, &length) < 0 ||
        link_connect(node->link, blob, length, on_error, node, &node->peers[other]) < 0)
        violated(world, "node %u cannot dial node %u: %s", node->index, other, err_text());
}

static void hang_up(node_t *node, unsigned other)
{
    vbn_close_mode_t mode = draw(node->world, 2) == 0 ? VBN_CLOSE_FLUSH : VBN_CLOSE_NOW;
    break_talks(node->world, node->index, other);
    link_disconnect(node->peers[other], mode);
    node->peers[other] = NULL;
}

static uint32_t draw_length(world_t *world)
{
    uint64_t dice = draw(world, 20);
    if (dice < 12)
        return (uint32_t)draw(world, 260);
    return (uint32_t)(dice < 18 ? draw(world, 5000) : draw(world, BIG_MAX));
}

static void act(world_t *world)
{
    node_t *node = &world->nodes[draw(world, world->count)];
    unsigned other = (node->index + 1 + (unsigned)draw(world, world->count - 1)) % world->count;
    if (node->gone)
        return;
    if (node->peers[other] == NULL) {
        dial(node, other);
        return;
    }
    uint64_t dice = draw(world, 100);
    if (dice < 70)
        say(node, node->peers[other], other, draw_length(world));
    else if (dice < 80)
        flush(node, node->peers[other], other);
    else if (dice < 92)
        transfer(node, node->peers[other], other, (uint32_t)(1 + draw(world, SLOT_BYTES - 1)));
    else if (world->disconnects && dice < 95)
        hang_up(node, other);
}

static void fault(world_t *world)
{
    unsigned a = (unsigned)draw(world, world->count);
    unsigned b = (a + 1) % world->count;
    if (world->kind == 2 || world->kind == 3 || world->kind >= 10)
        (void)sim_net_cut(world->net, 0, 1000 + a, 1000 + b, draw(world, 2) == 0);
    if (world->kind == 5 || world->kind == 6 || world->kind >= FIRST_RESUMED)
        sim_net_kill_after(world->net, world->kind == 10 ? (unsigned)draw(world, 2) : 0, 1 + draw(world, 60));
    if (world->kind != 3 || world->nodes[a].gone || draw(world, 4) != 0)
        return;
    for (unsigned i = 0; i < world->count; i++) /* dies without a word */
        (void)sim_net_cut(world->net, 0, 1000 + a, 1000 + i, true);
    close_node(&world->nodes[a]);
}

static void heal(world_t *world)
{
    sim_net_kill_after(world->net, 0, 0);
    sim_net_kill_after(world->net, 1, 0);
    for (unsigned a = 0; a < world->count; a++)
        for (unsigned b = a + 1; b < world->count; b++)
            if (!world->nodes[a].gone && !world->nodes[b].gone)
                (void)sim_net_cut(world->net, 0, 1000 + a, 1000 + b, false);
}

/* A cut heals before peers are given up, unless the kind is about that. */
static void wait_out(world_t *world)
{
    uint64_t until = sim_net_now_ns(world->net) + draw(world, world->kind == 3 ? 90000 : world->kind >= 10 ? 40000 : 8000) * NS_PER_MS;
    while (sim_net_now_ns(world->net) < until && world->problem[0] == '\0')
        turn(world, true);
    heal(world);
}

static void quiesce(world_t *world)
{
    uint64_t deadline = sim_net_now_ns(world->net) + DEADLINE_MS * NS_PER_MS;
    while (world->outstanding > 0 && world->problem[0] == '\0') {
        turn(world, true);
        if (sim_net_now_ns(world->net) > deadline)
            violated(world, "W6: %llu operations are still pending after %llu virtual seconds",
                     (unsigned long long)world->outstanding, (unsigned long long)(DEADLINE_MS / 1000));
    }
    /* Copied messages complete before they arrive. */
    for (unsigned a = 0; a < world->count; a++)
        for (unsigned b = 0; b < world->count && !world->nodes[a].gone; b++)
            if (world->nodes[a].peers[b] != NULL)
                flush(&world->nodes[a], world->nodes[a].peers[b], b);
}

static void check_all_heard(world_t *world)
{
    for (size_t i = 0; world->clean && !world->disconnects && i < world->talk_count; i++) {
        const conversation_t *talk = &world->talks[i];
        if (!talk->broken && talk->heard != talk->said)
            violated(world, "W5: %u of %u messages of conversation %zu arrived", talk->heard, talk->said, i);
    }
}

static bool all_ready(const world_t *world)
{
    for (unsigned a = 0; a < world->count; a++)
        for (unsigned b = 0; b < world->count; b++)
            if (a != b && (world->nodes[a].peers[b] == NULL || !link_ready(world->nodes[a].peers[b])))
                return false;
    return true;
}

/* A connection that breaks before it was ever ready cannot go on, so all are made before the faults. */
static void connect_all(world_t *world)
{
    for (unsigned i = 0; i < world->count * world->count; i++)
        if (i / world->count != i % world->count)
            dial(&world->nodes[i / world->count], i % world->count);
    while (!all_ready(world) && world->problem[0] == '\0')
        turn(world, true);
}

static void script(world_t *world)
{
    uint64_t steps = 60 + draw(world, 120);
    if (world->kind >= FIRST_RESUMED)
        connect_all(world);
    for (uint64_t i = 0; i < steps && world->problem[0] == '\0'; i++) {
        for (uint64_t burst = draw(world, 6); burst > 0; burst--)
            act(world);
        for (uint64_t turns = draw(world, 8); turns > 0; turns--)
            turn(world, false);
        if (draw(world, 30) == 0) {
            fault(world);
            if (draw(world, 2) == 0)
                wait_out(world);
        }
    }
    heal(world);
    for (int rounds = 0; rounds < 2; rounds++)
        quiesce(world);
    while (world->outstanding > 0 && world->problem[0] == '\0')
        turn(world, true);
    check_all_heard(world);
}

static void add_totals(world_t *world)
{
    for (unsigned i = 0; i < world->count; i++) {
        const counters_t *c = &world->nodes[i].counters;
        world->totals->retransmits += atomic_get_relaxed(&c->values[COUNTER_RETRANSMITS]);
        world->totals->duplicates += atomic_get_relaxed(&c->values[COUNTER_DUPLICATES]);
        world->totals->reordered += atomic_get_relaxed(&c->values[COUNTER_REORDERED]);
        world->totals->resumes += atomic_get_relaxed(&c->values[COUNTER_RESUMES]);
        world->totals->connected += atomic_get_relaxed(&c->values[COUNTER_PEERS_CONNECTED]);
    }
    world->totals->virtual_ms += sim_net_now_ns(world->net) / NS_PER_MS - 1000;
}

bool world_run(uint64_t seed, world_totals_t *totals, char *problem, size_t capacity)
{
    world_t *world = calloc(1, sizeof(*world));
    if (world == NULL)
        return false;
    world->random = seed;
    world->totals = totals;
    world->kind = (unsigned)(seed % WORLD_KINDS);
    world->clean = world->kind != 3 && world->kind != 5 && world->kind != 6;
    world->disconnects = draw(world, 2) == 0 && world->kind < FIRST_RESUMED;
    world->count = 2 + (unsigned)draw(world, NODES_MAX - 1);
    world->net = sim_net_open(seed);
    sim_fabric_t fabric = draw_fabric(world);
    sim_net_set_fabric(world->net, 0, &fabric);
    fabric.datagram = true; /* of the same packet_max, or what waits would not fit */
    sim_net_set_fabric(world->net, 1, &fabric);
    bool opened = true;
    for (unsigned i = 0; i < world->count && opened; i++)
        opened = open_node(world, i);
    if (getenv("SIM_TRACE") != NULL)
        sim_net_set_tap(world->net, trace, world);
    if (opened)
        script(world);
    else
        violated(world, "cannot open a worker: %s", err_text());
    add_totals(world);
    for (unsigned i = 0; i < world->count && opened; i++)
        close_node(&world->nodes[i]);
    if (world->outstanding > 0)
        violated(world, "W2: %llu operations never completed", (unsigned long long)world->outstanding);
    for (unsigned i = 0; i < world->count; i++)
        free_node(&world->nodes[i]);
    sim_net_close(world->net);
    snprintf(problem, capacity, "%s", world->problem);
    free(world->talks);
    bool held = world->problem[0] == '\0';
    free(world);
    return held;
}
