/* SPDX-License-Identifier: Apache-2.0
 * sim_net.c - the net itself: clock, seeded luck, packets on their way, partitions, deaths. */
#include <stdlib.h>
#include <string.h>

#include "sim_private.h"

#define PPM 1000000u
#define LATE_FACTOR 50u

/* -------------------------------------------------------------------------------------- luck and clock */

uint64_t sim_net_random(sim_net_t *net) /* splitmix64 */
{
    uint64_t x = net->random_state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

bool sim_net_lucky(sim_net_t *net, uint32_t ppm)
{
    return ppm > 0 && sim_net_random(net) % PPM < ppm;
}

static uint64_t net_clock(void *arg)
{
    return ((const sim_net_t *)arg)->now_ns;
}

const os_clock_t *sim_net_clock(const sim_net_t *net)
{
    return &net->clock;
}

uint64_t sim_net_now_ns(const sim_net_t *net)
{
    return net->now_ns;
}

/* ----------------------------------------------------------------------------------------------- heap */

static bool earlier(const sim_packet_t *a, const sim_packet_t *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->serial < b->serial;
}

static bool heap_push(sim_net_t *net, sim_packet_t *packet)
{
    if (net->heap_count == net->heap_capacity) {
        size_t capacity = net->heap_capacity == 0 ? 256 : 2 * net->heap_capacity;
        sim_packet_t **heap = realloc(net->heap, capacity * sizeof(*heap)); /* NOLINT: array of pointers */
        if (heap == NULL)
            return false;
        net->heap = heap;
        net->heap_capacity = capacity;
    }
    size_t at = net->heap_count++;
    for (size_t up; at > 0 && earlier(packet, net->heap[up = (at - 1) / 2]); at = up)
        net->heap[at] = net->heap[up];
    net->heap[at] = packet;
    return true;
}

static sim_packet_t *heap_pop(sim_net_t *net)
{
    sim_packet_t *top = net->heap[0];
    sim_packet_t *last = net->heap[--net->heap_count];
    size_t at = 0;
    for (size_t down; (down = 2 * at + 1) < net->heap_count; at = down) {
        if (down + 1 < net->heap_count && earlier(net->heap[down + 1], net->heap[down]))
            down++;
        if (!earlier(net->heap[down], last))
            break;
        net->heap[at] = net->heap[down];
    }
    net->heap[at] = last;
    return top;
}

/* ----------------------------------------------------------------------------------------------- pairs */

static sim_pair_t *find_pair(const sim_net_t *net, unsigned fabric, uint64_t from_uid, uint64_t to_uid)
{
    list_for_each(link, &net->pairs) {
        sim_pair_t *pair = container_of(link, sim_pair_t, link);
        if (pair->fabric == fabric && pair->from_uid == from_uid && pair->to_uid == to_uid)
            return pair;
    }
    return NULL;
}

static sim_pair_t *make_pair(sim_net_t *net, unsigned fabric, uint64_t from_uid, uint64_t to_uid)
{
    sim_pair_t *pair = find_pair(net, fabric, from_uid, to_uid);
    if (pair != NULL)
        return pair;
    pair = calloc(1, sizeof(*pair));
    if (pair == NULL)
        return NULL;
    pair->fabric = fabric;
    pair->from_uid = from_uid;
    pair->to_uid = to_uid;
    list_append(&net->pairs, &pair->link);
    return pair;
}

static bool is_cut(const sim_net_t *net, const sim_packet_t *packet)
{
    const sim_pair_t *pair = find_pair(net, packet->fabric, packet->from_uid, packet->to_uid);
    return pair != NULL && pair->cut;
}

/* ---------------------------------------------------------------------------------------------- packets */

sim_packet_t *sim_packet_new(const sim_ep_t *ep, uint32_t header_bytes, uint32_t payload_bytes)
{
    size_t bytes = sizeof(sim_packet_t) + sim_payload_at(header_bytes) + payload_bytes;
    sim_packet_t *packet = calloc(1, (bytes + 15) & ~(size_t)15);
    if (packet == NULL)
        return NULL;
    const sim_iface_t *iface = (const sim_iface_t *)ep->base.iface;
    packet->from_uid = iface->params.worker_uid;
    packet->to_uid = ep->remote_uid;
    packet->from_ep = ep->id;
    packet->to_ep = ep->remote_ep;
    packet->fabric = (uint8_t)iface->fabric;
    packet->header_bytes = header_bytes;
    packet->payload_bytes = payload_bytes;
    list_init(&packet->link);
    return packet;
}

void sim_packet_free(sim_packet_t *packet)
{
    list_remove(&packet->link);
    free(packet);
}

static void push_or_lose(sim_net_t *net, sim_packet_t *packet)
{
    packet->serial = net->next_serial++;
    if (!heap_push(net, packet))
        sim_packet_free(packet);
}

void sim_net_wake(sim_net_t *net, sim_ep_t *ep, uint64_t due_ns)
{
    sim_packet_t *packet = sim_packet_new(ep, 0, 0);
    if (packet == NULL)
        return;
    packet->kind = SIM_WAKE;
    packet->to_uid = packet->from_uid;
    packet->to_ep = ep->id;
    packet->due_ns = due_ns;
    push_or_lose(net, packet);
}

static uint64_t due(sim_net_t *net, const sim_fabric_t *config, bool datagram)
{
    uint64_t delay = config->delay_ns + (config->jitter_ns > 0 ? sim_net_random(net) % config->jitter_ns : 0);
    if (datagram && sim_net_lucky(net, config->late_ppm))
        delay += sim_net_random(net) % (LATE_FACTOR * (config->delay_ns + 1));
    return net->now_ns + delay;
}

static void duplicate(sim_net_t *net, const sim_fabric_t *config, const sim_packet_t *packet)
{
    size_t bytes = sizeof(*packet) + sim_payload_at(packet->header_bytes) + packet->payload_bytes;
    sim_packet_t *copy = malloc((bytes + 15) & ~(size_t)15);
    if (copy == NULL)
        return;
    memcpy(copy, packet, bytes);
    list_init(&copy->link);
    copy->due_ns = due(net, config, true);
    push_or_lose(net, copy);
}

static sim_verdict_t judge(sim_net_t *net, sim_packet_t *packet)
{
    unsigned fabric = packet->fabric;
    if (net->kill_after[fabric] > 0 && --net->kill_after[fabric] == 0)
        return SIM_KILL;
    if (net->tap == NULL || packet->kind != SIM_DATA)
        return SIM_PASS;
    uint32_t before = packet->header_bytes;
    sim_verdict_t verdict = net->tap(net->tap_arg, packet->from_uid, packet->to_uid, packet->bytes,
                                     &packet->header_bytes);
    if (sim_payload_at(packet->header_bytes) != sim_payload_at(before))
        memmove(packet->bytes + sim_payload_at(packet->header_bytes), packet->bytes + sim_payload_at(before),
                packet->payload_bytes);
    return verdict;
}

static void break_connection(sim_net_t *net, sim_ep_t *ep)
{
    if (!net->fabrics[((sim_iface_t *)ep->base.iface)->fabric].datagram)
        sim_net_notify(net, ep, SIM_BROKEN, false);
    sim_ep_fail(ep, FAILED_BROKEN);
}

void sim_net_launch(sim_net_t *net, sim_ep_t *ep, sim_packet_t *packet)
{
    const sim_fabric_t *config = &net->fabrics[packet->fabric];
    bool datagram = config->datagram;
    packet->first = !ep->launched;
    packet->to_ep = ep->remote_ep;
    ep->launched = true;
    sim_verdict_t verdict = judge(net, packet);
    if (verdict == SIM_KILL)
        break_connection(net, ep);
    bool lost = datagram && sim_net_lucky(net, config->loss_ppm);
    if (verdict == SIM_DROP || lost || (verdict == SIM_KILL && sim_net_random(net) % 2 == 0)) {
        sim_packet_free(packet);
        return;
    }
    packet->due_ns = due(net, config, datagram);
    if (datagram && sim_net_lucky(net, config->duplicate_ppm))
        duplicate(net, config, packet);
    if (!datagram) {
        if (packet->due_ns < ep->last_due_ns)
            packet->due_ns = ep->last_due_ns;
        ep->last_due_ns = packet->due_ns;
    }
    push_or_lose(net, packet);
}

void sim_net_notify(sim_net_t *net, sim_ep_t *ep, sim_kind_t kind, bool ordered)
{
    sim_packet_t *packet = sim_packet_new(ep, 0, 0);
    if (packet == NULL)
        return;
    packet->kind = (uint8_t)kind;
    packet->due_ns = due(net, &net->fabrics[packet->fabric], false);
    if (ordered && packet->due_ns < ep->last_due_ns)
        packet->due_ns = ep->last_due_ns;
    push_or_lose(net, packet);
}

/* Nobody is there: a reliable fabric says so to the sender. */
static void bounce(sim_net_t *net, const sim_packet_t *packet)
{
    sim_iface_t *iface = map_get(&net->ifaces[packet->fabric], packet->from_uid);
    sim_ep_t *ep = iface != NULL ? map_get(&iface->by_id, packet->from_ep) : NULL;
    if (ep != NULL && packet->kind == SIM_DATA && !net->fabrics[packet->fabric].datagram)
        sim_ep_fail(ep, FAILED_GONE);
}

/* The process answers by itself, if it has that endpoint. */
static void answer(sim_net_t *net, sim_iface_t *iface, sim_packet_t *packet)
{
    sim_ep_t *ep = map_get(&iface->by_id, packet->to_ep);
    sim_packet_t *word = ep != NULL && ep->remote_ep == packet->from_ep ? sim_packet_new(ep, 0, 0) : NULL;
    sim_packet_free(packet);
    if (word == NULL)
        return;
    word->kind = SIM_ALIVE;
    sim_net_launch(net, ep, word);
}

/* Into the receiver's inbox. */
static void arrive(sim_net_t *net, sim_packet_t *packet)
{
    sim_iface_t *iface = map_get(&net->ifaces[packet->fabric], packet->to_uid);
    bool datagram = net->fabrics[packet->fabric].datagram;
    uint32_t most = net->fabrics[packet->fabric].inbox_max;
    if (is_cut(net, packet) && !datagram) {
        list_append(&net->held, &packet->link);
        return;
    }
    if (iface == NULL)
        bounce(net, packet);
    bool wake = packet->kind == SIM_WAKE;
    bool asks = packet->kind == SIM_ASK; /* there is room for it, as there is for those who listen for nothing else */
    bool no_room = !asks && most > 0 && iface != NULL && iface->inbox_count >= most;
    if (iface == NULL || (datagram && !wake && (is_cut(net, packet) || no_room))) {
        sim_packet_free(packet);
        return;
    }
    if (asks) {
        answer(net, iface, packet);
        return;
    }
    list_append(&iface->inbox, &packet->link);
    iface->inbox_count++;
}

bool sim_net_step(sim_net_t *net, uint64_t limit_ns)
{
    if (net->heap_count == 0 || net->heap[0]->due_ns > limit_ns) {
        if (limit_ns > net->now_ns)
            net->now_ns = limit_ns;
        return false;
    }
    if (net->heap[0]->due_ns > net->now_ns)
        net->now_ns = net->heap[0]->due_ns;
    while (net->heap_count > 0 && net->heap[0]->due_ns <= net->now_ns)
        arrive(net, heap_pop(net));
    return true;
}

/* ----------------------------------------------------------------------------------------------- faults */

static void let_go(sim_net_t *net)
{
    list_link_t waiting;
    list_init(&waiting);
    for (list_link_t *link; (link = list_pop(&net->held)) != NULL;)
        list_append(&waiting, link);
    for (list_link_t *link; (link = list_pop(&waiting)) != NULL;)
        arrive(net, container_of(link, sim_packet_t, link));
}

bool sim_net_cut(sim_net_t *net, unsigned fabric, uint64_t a_uid, uint64_t b_uid, bool cut)
{
    sim_pair_t *there = make_pair(net, fabric, a_uid, b_uid);
    sim_pair_t *back = make_pair(net, fabric, b_uid, a_uid);
    if (there == NULL || back == NULL)
        return false;
    there->cut = back->cut = cut;
    if (!cut)
        let_go(net);
    return true;
}

void sim_net_kill_after(sim_net_t *net, unsigned fabric, uint64_t count)
{
    net->kill_after[fabric] = count;
}

void sim_net_kill_worker(sim_net_t *net, unsigned fabric, uint64_t uid)
{
    sim_iface_t *iface = map_get(&net->ifaces[fabric], uid);
    if (iface == NULL)
        return;
    size_t cursor = 0;
    for (sim_ep_t *ep; (ep = map_next(&iface->by_id, &cursor, NULL)) != NULL;)
        if (ep->failed == FAILED_NOT)
            break_connection(net, ep);
}

void sim_net_set_tap(sim_net_t *net, sim_tap_func_t func, void *arg)
{
    net->tap = func;
    net->tap_arg = arg;
}

/* -------------------------------------------------------------------------------------- open and close */

static sim_net_t *entered;

void sim_net_enter(sim_net_t *net)
{
    entered = net;
}

sim_net_t *sim_net_entered(void)
{
    return entered;
}

sim_net_t *sim_net_open(uint64_t seed)
{
    sim_net_t *net = calloc(1, sizeof(*net));
    if (net == NULL)
        return NULL;
    net->clock = (os_clock_t){.now_ns = net_clock, .arg = net};
    net->now_ns = UINT64_C(1000000000);
    net->random_state = seed;
    net->next_ep = 1;
    list_init(&net->pairs);
    list_init(&net->held);
    for (unsigned i = 0; i < SIM_FABRICS; i++) {
        map_init(&net->ifaces[i]);
        net->fabrics[i] = (sim_fabric_t){.packet_max = 65536, .delay_ns = 10000};
    }
    return net;
}

void sim_net_set_fabric(sim_net_t *net, unsigned fabric, const sim_fabric_t *config)
{
    net->fabrics[fabric] = *config;
    if (config->packet_max < SIM_PACKET_MIN)
        net->fabrics[fabric].packet_max = SIM_PACKET_MIN;
}

void sim_net_close(sim_net_t *net)
{
    if (net == NULL)
        return;
    for (size_t i = 0; i < net->heap_count; i++)
        free(net->heap[i]);
    for (list_link_t *link; (link = list_pop(&net->held)) != NULL;)
        free(container_of(link, sim_packet_t, link));
    for (list_link_t *link; (link = list_pop(&net->pairs)) != NULL;)
        free(container_of(link, sim_pair_t, link));
    for (unsigned i = 0; i < SIM_FABRICS; i++)
        map_free(&net->ifaces[i]);
    if (entered == net)
        entered = NULL;
    free(net->heap);
    free(net);
}
