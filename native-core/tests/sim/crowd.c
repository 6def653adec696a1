/* SPDX-License-Identifier: Apache-2.0
 * crowd.c - link engines on a simulated net. */
#include "crowd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/flow/flow.h"
#include "sim.h"

#define NS_PER_MS UINT64_C(1000000)
#define FIRST_UID 1000u
#define FEW 64u

typedef struct member {
    crowd_t *crowd;
    counters_t *counters;
    link_engine_t *engine;
    list_link_t sends;
    uint64_t received, wrong, done, failed, pending, lost;
    char lost_text[256];
    bool computes;
} member_t;

struct crowd {
    sim_net_t *net;
    settings_t settings;
    log_sink_t log;
    unsigned count, nets;
    uint64_t packets;
    uint64_t deaf_to; /* uid whose next ACKs are lost, */
    unsigned deaf;    /* so many */
    unsigned loud;
    uint64_t quiet_asked;
    map_t peers; /* from << 32 | to, of link_connect */
    member_t members[];
};

/* Part of each peer: messages sent to and received from it. */
typedef struct numbers {
    uint32_t sent, received;
} numbers_t;

typedef struct send {
    list_link_t link;
    member_t *member;
    struct iovec iov;
    uint8_t bytes[];
} send_t;

static void quiet(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    (void)record;
}

static void on_rx(void *arg, vbn_peer_t *peer, const void *header, uint32_t header_bytes, const void *payload,
                  uint32_t payload_bytes)
{
    member_t *member = arg;
    numbers_t *numbers = link_peer_upper(peer);
    uint32_t number;
    memcpy(&number, header, sizeof(number));
    bool right = header_bytes == sizeof(number) && number == numbers->received++;
    const uint8_t *bytes = payload;
    for (uint32_t i = 0; right && i < payload_bytes; i++)
        right = bytes[i] == (uint8_t)(number + i);
    member->received += right;
    member->wrong += !right;
}

static bool on_quiet(void *arg, vbn_peer_t *peer)
{
    const member_t *member = arg;
    crowd_t *crowd = member->crowd;
    if (member != &crowd->members[0])
        return true;
    crowd->quiet_asked++;
    return link_peer_uid(peer) - FIRST_UID >= crowd->loud;
}

static void on_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    member_t *member = arg;
    (void)peer;
    (void)status;
    member->lost++;
    snprintf(member->lost_text, sizeof(member->lost_text), "%s", text);
}

static sim_verdict_t on_packet(void *arg, uint64_t from_uid, uint64_t to_uid, uint8_t *header, uint32_t *bytes)
{
    crowd_t *crowd = arg;
    link_header_t fields;
    (void)to_uid;
    crowd->packets++;
    if (crowd->deaf == 0 || from_uid != crowd->deaf_to || !link_header_decode(header, *bytes, &fields) ||
        fields.type != LINK_ACK)
        return SIM_PASS;
    crowd->deaf--;
    return SIM_DROP;
}

static void make_settings(crowd_t *crowd, const crowd_options_t *options)
{
    settings_defaults(&crowd->settings);
    snprintf(crowd->settings.tl_enable, sizeof(crowd->settings.tl_enable), options->two_nets ? "sim,sim2" : "sim");
    if (options->rails != 0)
        crowd->settings.link_rails = options->rails;
    if (options->promote_after != 0)
        crowd->settings.link_promote_after = options->promote_after;
    if (options->promoted_max != 0)
        crowd->settings.link_promoted_max = options->promoted_max;
    if (options->keepalive_ms != 0)
        crowd->settings.link_keepalive = options->keepalive_ms * NS_PER_MS;
    if (options->peer_timeout_ms != 0)
        crowd->settings.link_peer_timeout = options->peer_timeout_ms * NS_PER_MS;
    crowd->settings.link_resume_timeout = options->resume_ms * NS_PER_MS;
    crowd->settings.link_close_timeout = UINT64_C(60000) * NS_PER_MS;
}

static bool open_member(crowd_t *crowd, unsigned index)
{
    static const tl_ops_t *const table[] = {&tl_sim_ops, &tl_sim2_ops};
    member_t *member = &crowd->members[index];
    uint8_t key[32];
    memset(key, 7, sizeof(key));
    member->crowd = crowd;
    list_init(&member->sends);
    member->counters = calloc(1, sizeof(*member->counters));
    if (member->counters == NULL)
        return false;
    link_params_t params = {.settings = &crowd->settings,
                            .log = &crowd->log,
                            .counters = member->counters,
                            .job_key = key,
                            .clock = sim_net_clock(crowd->net),
                            .uid = FIRST_UID + index,
                            .upper_bytes = sizeof(numbers_t),
                            .upcalls = {.arg = member, .rx = on_rx, .quiet = on_quiet}};
    sim_net_enter(crowd->net);
    if (link_engine_open_with(&params, table, crowd->nets, &member->engine) < 0)
        return false;
    link_engine_set_peer_lost(member->engine, on_lost, member);
    return true;
}

crowd_t *crowd_open(const crowd_options_t *options)
{
    crowd_t *crowd = calloc(1, sizeof(*crowd) + options->engines * sizeof(member_t));
    if (crowd == NULL)
        return NULL;
    crowd->net = sim_net_open(options->seed);
    crowd->count = options->engines;
    crowd->nets = options->two_nets ? 2 : 1;
    crowd->log = (log_sink_t){.func = quiet, .level = VBN_LOG_ERROR};
    map_init(&crowd->peers);
    make_settings(crowd, options);
    sim_fabric_t fabric = {.datagram = !options->connections,
                           .delay_ns = 20000,
                           .jitter_ns = 5000,
                           .packet_max = options->packet_max != 0 ? options->packet_max : 4096,
                           .loss_ppm = options->loss_ppm,
                           .duplicate_ppm = options->duplicate_ppm,
                           .late_ppm = options->late_ppm,
                           .later_ppm = options->later_ppm,
                           .later_ns = options->later_ms * NS_PER_MS};
    sim_net_set_fabric(crowd->net, 0, &fabric);
    fabric.datagram = options->datagrams2;
    fabric.costly = options->costly;
    sim_net_set_fabric(crowd->net, 1, &fabric);
    sim_net_set_tap(crowd->net, on_packet, crowd);
    for (unsigned i = 0; i < crowd->count; i++)
        if (!open_member(crowd, i))
            abort();
    return crowd;
}

void crowd_close(crowd_t *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++) {
        link_engine_close(crowd->members[i].engine);
        if (crowd->members[i].pending != 0)
            abort(); /* an operation never completed */
        free(crowd->members[i].counters);
    }
    map_free(&crowd->peers);
    sim_net_close(crowd->net);
    free(crowd);
}

static vbn_peer_t *peer_of(crowd_t *crowd, unsigned from, unsigned to)
{
    vbn_peer_t *peer = map_get(&crowd->peers, (uint64_t)from << 32 | to);
    return peer != NULL ? peer : map_get(&crowd->members[from].engine->peers, FIRST_UID + to);
}

bool crowd_connect(crowd_t *crowd, unsigned from, unsigned to)
{
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    vbn_peer_t *peer;
    return link_engine_address(crowd->members[to].engine, blob, &length) >= 0 &&
           link_connect(crowd->members[from].engine, blob, length, on_lost, &crowd->members[from], &peer) >= 0 &&
           map_put(&crowd->peers, (uint64_t)from << 32 | to, peer) >= 0;
}

static void on_done(void *arg, vbn_status_t status)
{
    send_t *send = arg;
    send->member->pending--;
    if (status >= 0)
        send->member->done++;
    else
        send->member->failed++;
    list_remove(&send->link);
    free(send);
}

static send_t *new_send(member_t *member, uint32_t bytes)
{
    send_t *send = calloc(1, sizeof(*send) + bytes);
    if (send == NULL)
        abort();
    send->member = member;
    send->iov = (struct iovec){send->bytes, bytes};
    list_append(&member->sends, &send->link);
    member->pending++;
    return send;
}

static int settled(send_t *send, vbn_status_t status)
{
    if (status != VBN_INPROGRESS) {
        send->member->pending--;
        list_remove(&send->link);
        free(send);
    }
    return status;
}

int crowd_send(crowd_t *crowd, unsigned from, unsigned to, uint32_t bytes)
{
    vbn_peer_t *peer = peer_of(crowd, from, to);
    send_t *send = new_send(&crowd->members[from], bytes);
    uint32_t number = ((numbers_t *)link_peer_upper(peer))->sent++;
    for (uint32_t i = 0; i < bytes; i++)
        send->bytes[i] = (uint8_t)(number + i);
    uint8_t frame[LINK_HEADER_BYTES + sizeof(number)];
    memcpy(frame + LINK_HEADER_BYTES, &number, sizeof(number));
    link_packet_t packet = {.frame = frame,
                            .header_bytes = sizeof(number),
                            .payload_bytes = bytes,
                            .iov = &send->iov,
                            .iov_count = bytes > 0,
                            .done = on_done,
                            .arg = send};
    return settled(send, link_send(peer, &packet));
}

int crowd_flush(crowd_t *crowd, unsigned from, unsigned to)
{
    send_t *send = new_send(&crowd->members[from], 0);
    return settled(send, link_flush(peer_of(crowd, from, to), on_done, send));
}

void crowd_disconnect(crowd_t *crowd, unsigned from, unsigned to, bool flush)
{
    link_disconnect(map_remove(&crowd->peers, (uint64_t)from << 32 | to), flush ? VBN_CLOSE_FLUSH : VBN_CLOSE_NOW);
}

void crowd_set_loud(crowd_t *crowd, unsigned below)
{
    const link_engine_t *engine = crowd->members[0].engine;
    size_t cursor = 0;
    uint64_t uid;
    crowd->loud = below;
    for (vbn_peer_t *peer; (peer = map_next(&engine->peers, &cursor, &uid)) != NULL;)
        if (uid - FIRST_UID >= below)
            link_quiet(peer);
}

uint64_t crowd_quiet_asked(crowd_t *crowd)
{
    return crowd->quiet_asked;
}

void crowd_cut(crowd_t *crowd, unsigned a, unsigned b, bool cut)
{
    if (!sim_net_cut(crowd->net, 0, FIRST_UID + a, FIRST_UID + b, cut))
        abort();
}

void crowd_lose_acks(crowd_t *crowd, unsigned engine, unsigned count)
{
    crowd->deaf_to = FIRST_UID + engine;
    crowd->deaf = count;
}

void crowd_mistake_session(crowd_t *crowd, unsigned from, unsigned to)
{
    peer_of(crowd, from, to)->arq->session++;
}

void crowd_break(crowd_t *crowd, unsigned engine, unsigned net)
{
    sim_net_kill_worker(crowd->net, net, FIRST_UID + engine);
}

void crowd_break_after(crowd_t *crowd, unsigned net, uint64_t count)
{
    sim_net_kill_after(crowd->net, net, count);
}

unsigned crowd_lanes(crowd_t *crowd, unsigned from, unsigned to, int net)
{
    unsigned count = 0;
    for (const link_lane_t *lane = peer_of(crowd, from, to)->lane; lane != NULL; lane = lane->next)
        count += lane->hs == NULL && (net < 0 || lane->transport == net);
    return count;
}

uint64_t crowd_carried(crowd_t *crowd, unsigned from, unsigned to, unsigned net)
{
    uint64_t count = 0;
    for (const link_lane_t *lane = peer_of(crowd, from, to)->lane; lane != NULL; lane = lane->next)
        count += lane->transport == net ? lane->order : 0;
    return count;
}

void crowd_promote(crowd_t *crowd, unsigned from, unsigned to)
{
    link_promote(peer_of(crowd, from, to));
}

void crowd_drop_lane(crowd_t *crowd, unsigned from, unsigned to, unsigned net)
{
    for (link_lane_t *lane = peer_of(crowd, from, to)->lane; lane != NULL; lane = lane->next)
        if (lane->transport == net && lane->hs == NULL) {
            link_rails_drop(lane);
            return;
        }
}

void crowd_scribble(crowd_t *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++)
        list_for_each(link, &crowd->members[i].sends) {
            send_t *send = container_of(link, send_t, link);
            memset(send->bytes, 0xee, send->iov.iov_len);
        }
}

void crowd_compute(crowd_t *crowd, unsigned engine, bool computes)
{
    crowd->members[engine].computes = computes;
}

void crowd_turn(crowd_t *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++)
        if (!crowd->members[i].computes)
            link_engine_progress(crowd->members[i].engine);
}

void crowd_run(crowd_t *crowd, uint64_t milliseconds)
{
    uint64_t end = sim_net_now_ns(crowd->net) + milliseconds * NS_PER_MS;
    while (crowd->count > FEW && sim_net_now_ns(crowd->net) < end) { /* coarse: all arrivals of a millisecond at once */
        uint64_t limit = sim_net_now_ns(crowd->net) + NS_PER_MS;
        while (sim_net_step(crowd->net, limit)) {
        }
        crowd_turn(crowd);
    }
    while (sim_net_now_ns(crowd->net) < end) {
        unsigned events = 0;
        uint64_t limit = end;
        for (unsigned i = 0; i < crowd->count; i++) {
            link_engine_t *engine = crowd->members[i].engine;
            if (crowd->members[i].computes)
                continue;
            events += link_engine_progress(engine);
            int next_ms = wheel_next_ms(&engine->wheel);
            uint64_t due = (engine->wheel.now_ms + (uint64_t)(next_ms + 1)) * NS_PER_MS;
            if (next_ms >= 0 && due < limit)
                limit = due;
        }
        if (events == 0)
            sim_net_step(crowd->net, limit);
    }
}

size_t crowd_peers(crowd_t *crowd, unsigned engine)
{
    return crowd->members[engine].engine->peers.count;
}

size_t crowd_timers(crowd_t *crowd, unsigned engine)
{
    return crowd->members[engine].engine->wheel.count;
}

uint64_t crowd_received(crowd_t *crowd, unsigned engine)
{
    return crowd->members[engine].received;
}

uint64_t crowd_wrong(crowd_t *crowd, unsigned engine)
{
    return crowd->members[engine].wrong;
}

uint64_t crowd_done(crowd_t *crowd, unsigned engine)
{
    return crowd->members[engine].done;
}

uint64_t crowd_failed(crowd_t *crowd, unsigned engine)
{
    return crowd->members[engine].failed;
}

uint64_t crowd_pending(crowd_t *crowd, unsigned engine)
{
    return crowd->members[engine].pending;
}

uint64_t crowd_lost(crowd_t *crowd, unsigned engine)
{
    return crowd->members[engine].lost;
}

const char *crowd_lost_text(crowd_t *crowd, unsigned engine)
{
    return crowd->members[engine].lost_text;
}

uint64_t crowd_counter(crowd_t *crowd, unsigned engine, const char *name)
{
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        if (strcmp(counter_name((counter_id_t)i), name) == 0)
            return atomic_get_relaxed(&crowd->members[engine].counters->values[i]);
    abort();
}

uint64_t crowd_packets(crowd_t *crowd)
{
    return crowd->packets;
}
