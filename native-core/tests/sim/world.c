/* SPDX-License-Identifier: Apache-2.0
 * world.c - properties of the core over a simulated net.
 *
 * A conversation is what one side says through one peer object; its messages carry its index and a number. Properties:
 * W1 messages of a conversation arrive exactly once, in order, whole, and none after one of a later conversation of the
 * same pair. W2 every operation completes exactly once. W3 when a flush succeeds all messages before it have arrived.
 * W4 a get after a put reads what was put. W5 where the faults are only loss, delay and short partitions, and nobody
 * disconnects, no peer is lost and everything arrives. W6 everything ends within a virtual deadline, and nothing is left behind.
 * W7 what the link counts is so (link/flow/record.h A1 to A4), at any time. */
#include "world_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "pin.h"

#define DEADLINE_MS UINT64_C(600000)
#define SHORT_CUT_MS 8000u /* peers are not given up meanwhile */
#define BIG_MAX 40000u
#define CHECK_EVERY 16u /* turns */

/* --------------------------------------------------------------------------------------------- building */

static void quiet(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    (void)record;
}

static sim_fabric_t draw_fabric(world_t *world)
{
    bool heavy = world->kind->heavy;
    sim_fabric_t fabric = {.datagram = (world->kind->datagram & 1) != 0,
                           .packet_max = (uint32_t)(SIM_PACKET_MIN + world_draw(world, 7) * 1000),
                           .delay_ns = 1000 + world_draw(world, 200000)};
    fabric.jitter_ns = world_draw(world, 3) == 0 ? 0 : world_draw(world, 4 * fabric.delay_ns);
    fabric.busy_ppm = world_draw(world, 2) == 0 ? 0 : (uint32_t)world_draw(world, 200000);
    fabric.later_ppm = world_draw(world, 2) == 0 ? 0 : (uint32_t)world_draw(world, 400000);
    fabric.later_ns = world_draw(world, 3) == 0 ? world_draw(world, 60 * NS_PER_MS) : 0; /* longer than a time-out */
    fabric.loss_ppm = (uint32_t)world_draw(world, heavy ? 250000 : 20000);
    fabric.duplicate_ppm = (uint32_t)world_draw(world, heavy ? 150000 : 20000);
    fabric.late_ppm = (uint32_t)world_draw(world, heavy ? 100000 : 20000);
    fabric.inbox_max = world->kind->small ? 4 + (uint32_t)world_draw(world, 60) : 0;
    return fabric;
}

static void draw_settings(world_t *world, settings_t *settings)
{
    const world_kind_t *kind = world->kind;
    settings_defaults(settings);
    snprintf(settings->tl_enable, sizeof(settings->tl_enable), kind->nets == 2 ? "sim,sim2" : "sim");
    if (kind->resumes)
        settings->link_resume_timeout = UINT64_C(300000) * NS_PER_MS;
    if (kind->prompt) {
        settings->link_keepalive = UINT64_C(1000) * NS_PER_MS;
        settings->link_peer_timeout = UINT64_C(3000) * NS_PER_MS;
    }
    if (kind->rails > 1)
        settings->link_rails = (int64_t)(2 + world_draw(world, kind->rails - 1));
    settings->link_promoted_max = kind->promoted;
    settings->link_promote_after = (int64_t)(1 + world_draw(world, 60));
    settings->link_window = kind->small ? (int64_t)(8 + world_draw(world, 24)) : 512;
    settings->link_close_timeout = UINT64_C(120000) * NS_PER_MS;
    settings->proto_am_small_max = world_draw(world, 4) == 0 ? 0 : 64 + world_draw(world, 4000);
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
    draw_settings(world, &node->settings);
    if (mem_registry_open(&node->log, &node->counters, &node->memory) < 0 ||
        mem_alloc(node->memory, NODES_MAX * SLOT_BYTES, VBN_BACKING_MEMFD, NULL, &node->region) < 0)
        return false;
    model_host_t host = pinned_model();
    proto_params_t proto = {.settings = &node->settings,
                            .log = &node->log,
                            .counters = &node->counters,
                            .memory = node->memory,
                            .host = &host};
    link_params_t link = {.settings = &node->settings,
                          .log = &node->log,
                          .counters = &node->counters,
                          .memory = node->memory,
                          .job_key = key,
                          .clock = sim_net_clock(world->net),
                          .uid = FIRST_UID + index};
    if (proto_engine_open(&proto, &node->proto) < 0)
        return false;
    proto_link_upcalls(node->proto, &link);
    sim_net_enter(world->net);
    if (link_engine_open_with(&link, table, world->kind->nets == 2 ? 2 : 1, &node->link) < 0)
        return false;
    proto_attach(node->proto, node->link);
    link_engine_set_peer_lost(node->link, world_on_passive_lost, node);
    return proto_am_handler(node->proto, 1, world_on_message, node) >= 0;
}

static void close_node(node_t *node)
{
    world_t *world = node->world;
    if (node->gone)
        return;
    node->gone = true;
    for (unsigned i = 0; i < world->count; i++)
        world_break_talks(world, node->index, i);
    link_engine_close(node->link);
    proto_engine_close(node->proto);
}

static void free_node(node_t *node)
{
    if (node->memory == NULL)
        return;
    (void)mem_free(node->region);
    if (mem_registry_close(node->memory) < 0)
        world_violated(node->world, "W6: node %u leaves memory behind: %s", node->index, err_text());
}

/* SIM_TRACE=1: every packet that is launched, for finding out what a seed does. */
static sim_verdict_t trace(void *arg, uint64_t from_uid, uint64_t to_uid, uint8_t *header, uint32_t *bytes)
{
    const world_t *world = arg;
    fprintf(stderr, "%12.3f ms %llu -> %llu type %u flags %u connection %08x sequence %u ack %u (%u bytes)\n",
            (double)(sim_net_now_ns(world->net) - 1000 * NS_PER_MS) / 1e6, (unsigned long long)from_uid - FIRST_UID,
            (unsigned long long)to_uid - FIRST_UID, header[0] & 15u, header[1], le_get_u32(header + 4),
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
        if (node->gone || (!all && world_draw(world, 3) == 0))
            continue;
        events += link_engine_progress(node->link) + proto_progress(node->proto) + proto_busy(node->proto);
    }
    if (++world->turns % CHECK_EVERY == 0)
        world_check_links(world);
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
        link_connect(node->link, blob, length, world_on_error, node, &node->peers[other]) < 0)
        world_violated(world, "node %u cannot dial node %u: %s", node->index, other, err_text());
}

static void hang_up(node_t *node, unsigned other)
{
    vbn_close_mode_t mode = world_draw(node->world, 2) == 0 ? VBN_CLOSE_FLUSH : VBN_CLOSE_NOW;
    world_break_talks(node->world, node->index, other);
    link_disconnect(node->peers[other], mode);
    node->peers[other] = NULL;
}

static uint32_t draw_length(world_t *world)
{
    uint64_t dice = world_draw(world, 20);
    if (dice < 12)
        return (uint32_t)world_draw(world, 260);
    return (uint32_t)(dice < 18 ? world_draw(world, 5000) : world_draw(world, BIG_MAX));
}

static void act(world_t *world)
{
    node_t *node = &world->nodes[world_draw(world, world->count)];
    unsigned other = (node->index + 1 + (unsigned)world_draw(world, world->count - 1)) % world->count;
    if (node->gone)
        return;
    if (node->peers[other] == NULL) {
        dial(node, other);
        return;
    }
    uint64_t dice = world_draw(world, 100);
    if (dice < 70)
        world_say(node, node->peers[other], other, draw_length(world));
    else if (dice < 80)
        world_flush(node, node->peers[other], other);
    else if (dice < 92)
        world_transfer(node, node->peers[other], other, (uint32_t)(1 + world_draw(world, SLOT_BYTES - 1)));
    else if (world->disconnects && dice < 95)
        hang_up(node, other);
}

static void fault(world_t *world)
{
    unsigned a = (unsigned)world_draw(world, world->count);
    unsigned b = (a + 1) % world->count;
    unsigned net = (unsigned)world_draw(world, 2);
    if ((world->kind->cuts & 1) != 0)
        (void)sim_net_cut(world->net, 0, FIRST_UID + a, FIRST_UID + b, world_draw(world, 2) == 0);
    if ((world->kind->kills & (1u << net)) == 0)
        net = 1 - net;
    if ((world->kind->kills & (1u << net)) != 0)
        sim_net_kill_after(world->net, net, 1 + world_draw(world, 60));
    if (!world->kind->crashes || world->nodes[a].gone || world_draw(world, 4) != 0)
        return;
    for (unsigned i = 0; i < world->count; i++) /* dies without a word */
        (void)sim_net_cut(world->net, 0, FIRST_UID + a, FIRST_UID + i, true);
    close_node(&world->nodes[a]);
}

static void heal(world_t *world)
{
    sim_net_kill_after(world->net, 0, 0);
    sim_net_kill_after(world->net, 1, 0);
    for (unsigned a = 0; a < world->count; a++)
        for (unsigned b = a + 1; b < world->count; b++)
            if (!world->nodes[a].gone && !world->nodes[b].gone)
                (void)sim_net_cut(world->net, 0, FIRST_UID + a, FIRST_UID + b, false);
}

/* A cut heals before peers are given up, unless the kind is about that. */
static void wait_out(world_t *world)
{
    unsigned most_ms = world->kind->cut_ms != 0 ? world->kind->cut_ms : SHORT_CUT_MS;
    uint64_t until = sim_net_now_ns(world->net) + world_draw(world, most_ms) * NS_PER_MS;
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
            world_violated(world, "W6: %llu operations are still pending after %llu virtual seconds",
                           (unsigned long long)world->outstanding, (unsigned long long)(DEADLINE_MS / 1000));
    }
    /* Copied messages complete before they arrive. */
    for (unsigned a = 0; a < world->count; a++)
        for (unsigned b = 0; b < world->count && !world->nodes[a].gone; b++)
            if (world->nodes[a].peers[b] != NULL)
                world_flush(&world->nodes[a], world->nodes[a].peers[b], b);
}

static void check_all_heard(world_t *world)
{
    for (size_t i = 0; world->clean && !world->disconnects && i < world->talk_count; i++) {
        const conversation_t *talk = &world->talks[i];
        if (!talk->broken && talk->heard != talk->said)
            world_violated(world, "W5: %u of %u messages of conversation %zu arrived", talk->heard, talk->said, i);
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
    uint64_t steps = 60 + world_draw(world, 120);
    if (world->kind->resumes || world->kind->promoted > 0)
        connect_all(world);
    for (uint64_t i = 0; i < steps && world->problem[0] == '\0'; i++) {
        for (uint64_t burst = world_draw(world, 6); burst > 0; burst--)
            act(world);
        for (uint64_t turns = world_draw(world, 8); turns > 0; turns--)
            turn(world, false);
        if (world_draw(world, 30) == 0) {
            fault(world);
            if (world_draw(world, 2) == 0)
                wait_out(world);
        }
    }
    heal(world);
    for (int rounds = 0; rounds < 2; rounds++)
        quiesce(world);
    while (world->outstanding > 0 && world->problem[0] == '\0')
        turn(world, true);
    world_check_links(world);
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
        world->totals->lanes_added += atomic_get_relaxed(&c->values[COUNTER_LANES_ADDED]);
        world->totals->lanes_lost += atomic_get_relaxed(&c->values[COUNTER_LANES_LOST]);
        world->totals->lanes_dropped += atomic_get_relaxed(&c->values[COUNTER_LANES_DROPPED]);
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
    world->kind = &world_kinds[seed % WORLD_KINDS];
    world->clean = !world->kind->loses_peers;
    world->disconnects = world_draw(world, 2) == 0 && world->kind->disconnects;
    world->count = 2 + (unsigned)world_draw(world, NODES_MAX - 1);
    world->net = sim_net_open(seed);
    sim_fabric_t fabric = draw_fabric(world);
    sim_net_set_fabric(world->net, 0, &fabric);
    fabric.datagram = (world->kind->datagram & 2) != 0; /* of the same packet_max, or what waits would not fit */
    fabric.costly = world->kind->promoted > 0;
    sim_net_set_fabric(world->net, 1, &fabric);
    bool opened = true;
    for (unsigned i = 0; i < world->count && opened; i++)
        opened = open_node(world, i);
    if (getenv("SIM_TRACE") != NULL)
        sim_net_set_tap(world->net, trace, world);
    if (opened)
        script(world);
    else
        world_violated(world, "cannot open a worker: %s", err_text());
    add_totals(world);
    for (unsigned i = 0; i < world->count && opened; i++)
        close_node(&world->nodes[i]);
    if (world->outstanding > 0)
        world_violated(world, "W2: %llu operations never completed", (unsigned long long)world->outstanding);
    for (unsigned i = 0; i < world->count; i++)
        free_node(&world->nodes[i]);
    sim_net_close(world->net);
    snprintf(problem, capacity, "%s", world->problem);
    free(world->talks);
    bool held = world->problem[0] == '\0';
    free(world);
    return held;
}
