/* SPDX-License-Identifier: Apache-2.0
 * rig.c - the C side of the link tests. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/link_address.h"
#include "link/link_private.h"
#include "loop_tl.h"

struct rig {
    settings_t settings;
    log_sink_t log;
    counters_t counters;
    link_engine_t *engine;
    uint32_t next_number;
    rig_totals_t result;
    vbn_peer_t *last_sender;
    bool send_from_errors;
};

typedef struct rig_op {
    rig_t *rig;
    bool flush;
    bool done;
    struct iovec iov;
    uint8_t bytes[];
} rig_op_t;

static void quiet_log(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    (void)record;
}

static void on_rx(void *arg, vbn_peer_t *peer, const void *header, uint32_t header_bytes, const void *payload,
                  uint32_t payload_bytes)
{
    rig_t *rig = arg;
    uint32_t *expected = link_peer_upper(peer);
    uint32_t number;
    const uint8_t *bytes = payload;
    bool fine = header_bytes == sizeof(number);
    if (fine)
        memcpy(&number, header, sizeof(number));
    fine = fine && number == *expected;
    for (uint32_t i = 0; fine && i < payload_bytes; i++)
        fine = bytes[i] == (uint8_t)(number + i);
    ++*expected;
    rig->last_sender = peer;
    if (fine)
        rig->result.received++;
    else
        rig->result.misordered++;
}

static void on_down(void *arg, vbn_peer_t *peer, vbn_status_t status)
{
    rig_t *rig = arg;
    (void)peer;
    (void)status;
    rig->result.downs++;
}

static void on_error(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    rig_t *rig = arg;
    rig->result.errors++;
    rig->result.error_status = status;
    snprintf(rig->result.error_text, sizeof(rig->result.error_text), "%s", text);
    if (rig->send_from_errors && rig_send(rig, peer, 0) >= 0)
        rig->result.misordered++;
}

static void on_passive_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    rig_t *rig = arg;
    (void)peer;
    (void)status;
    (void)text;
    rig->result.passive_lost++;
}

rig_t *rig_open(const rig_options_t *options)
{
    static const char *const none[] = {NULL};
    return rig_open_with(options, none);
}

rig_t *rig_open_with(const rig_options_t *options, const char *const *pairs)
{
    static const tl_ops_t *const table[] = {&loop_ops, &loop2_ops};
    uint8_t key[32];
    rig_t *rig = calloc(1, sizeof(*rig));
    if (rig == NULL)
        return NULL;
    settings_defaults(&rig->settings);
    rig->log.func = quiet_log;
    rig->log.level = VBN_LOG_INFO;
    snprintf(rig->settings.tl_enable, sizeof(rig->settings.tl_enable), "loop");
    for (; pairs[0] != NULL; pairs += 2)
        if (settings_set(&rig->settings, pairs[0], pairs[1]) < 0)
            abort();
    if (options->key == 0)
        rig->settings.security_auth = SETTING_SECURITY_AUTH_NONE;
    if (options->window != 0)
        rig->settings.link_window = options->window;
    if (options->wireup_ns != 0)
        rig->settings.link_wireup_timeout = options->wireup_ns;
    memset(key, options->key, sizeof(key));
    link_params_t params = {.settings = &rig->settings,
                            .log = &rig->log,
                            .counters = &rig->counters,
                            .job_key = key,
                            .upper_bytes = sizeof(uint32_t),
                            .upcalls = {.arg = rig, .rx = on_rx, .peer_down = on_down}};
    if (link_engine_open_with(&params, table, 2, &rig->engine) < 0) {
        free(rig);
        return NULL;
    }
    link_engine_set_peer_lost(rig->engine, on_passive_lost, rig);
    return rig;
}

void rig_close(rig_t *rig)
{
    link_engine_close(rig->engine);
    free(rig);
}

unsigned rig_progress(rig_t *rig)
{
    return link_engine_progress(rig->engine);
}

vbn_status_t rig_arm(rig_t *rig)
{
    return link_engine_arm(rig->engine);
}

int rig_fd(rig_t *rig)
{
    return link_engine_fd(rig->engine);
}

void rig_wake(rig_t *rig)
{
    link_engine_wake(rig->engine);
}

uint64_t rig_uid(rig_t *rig)
{
    return link_engine_uid(rig->engine);
}

size_t rig_peers(rig_t *rig)
{
    return rig->engine->peers.count;
}

size_t rig_address(rig_t *rig, uint8_t blob[VBN_ADDRESS_MAX])
{
    size_t length = VBN_ADDRESS_MAX;
    return link_engine_address(rig->engine, blob, &length) < 0 ? 0 : length;
}

vbn_status_t rig_connect(rig_t *from, rig_t *to, vbn_peer_t **peer_p)
{
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = rig_address(to, blob);
    return link_connect(from->engine, blob, length, on_error, from, peer_p);
}

vbn_status_t rig_connect_blob(rig_t *from, const void *blob, size_t length)
{
    vbn_peer_t *peer;
    return link_connect(from->engine, blob, length, on_error, from, &peer);
}

static void on_done(void *arg, vbn_status_t status)
{
    rig_op_t *send = arg;
    rig_totals_t *result = &send->rig->result;
    if (send->done) { /* not freed below the first time would hide a second call: ASan sees it, this counts it */
        result->twice++;
        return;
    }
    send->done = true;
    result->pending--;
    result->last_done = status;
    if (status >= 0 && send->flush)
        result->flushed++;
    else if (status >= 0)
        result->done_ok++;
    else
        result->done_failed++;
    free(send);
}

vbn_status_t rig_send(rig_t *rig, vbn_peer_t *peer, uint32_t bytes)
{
    uint32_t number = rig->next_number;
    rig_op_t *send = calloc(1, sizeof(*send) + bytes);
    if (send == NULL)
        return VBN_ERR_NO_MEMORY;
    send->rig = rig;
    send->iov = (struct iovec){send->bytes, bytes};
    for (uint32_t i = 0; i < bytes; i++)
        send->bytes[i] = (uint8_t)(number + i);
    uint8_t frame[LINK_HEADER_BYTES + sizeof(number)];
    memcpy(frame + LINK_HEADER_BYTES, &number, sizeof(number));
    link_packet_t packet = {.frame = frame,
                            .header_bytes = sizeof(number),
                            .payload_bytes = bytes,
                            .iov = &send->iov,
                            .iov_count = bytes > 0 ? 1 : 0,
                            .done = on_done,
                            .arg = send};
    rig->result.pending++;
    vbn_status_t status = link_send(peer, &packet);
    if (status >= 0)
        rig->next_number++;
    if (status != VBN_INPROGRESS) {
        rig->result.pending--;
        free(send);
    }
    return status;
}

vbn_status_t rig_flush(rig_t *rig, vbn_peer_t *peer)
{
    rig_op_t *send = calloc(1, sizeof(*send));
    if (send == NULL)
        return VBN_ERR_NO_MEMORY;
    send->rig = rig;
    send->flush = true;
    rig->result.pending++;
    vbn_status_t status = link_flush(peer, on_done, send);
    if (status != VBN_INPROGRESS) {
        rig->result.pending--;
        free(send);
    }
    return status;
}

void rig_disconnect(vbn_peer_t *peer, vbn_close_mode_t mode)
{
    link_disconnect(peer, mode);
}

void rig_send_from_errors(rig_t *rig, bool on)
{
    rig->send_from_errors = on;
}

uint64_t rig_counter(rig_t *rig, const char *name)
{
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        if (strcmp(counter_name((counter_id_t)i), name) == 0)
            return atomic_get_relaxed(&rig->counters.values[i]);
    return UINT64_MAX;
}

vbn_peer_t *rig_last_sender(rig_t *rig)
{
    return rig->last_sender;
}

bool rig_ready(vbn_peer_t *peer)
{
    return link_ready(peer);
}

uint32_t rig_unacked(vbn_peer_t *peer)
{
    return peer->tx_next - peer->tx_acked;
}

uint64_t rig_peer_uid(vbn_peer_t *peer)
{
    return link_peer_uid(peer);
}

void rig_fail_peer(vbn_peer_t *peer)
{
    link_fail(peer, VBN_ERR_PROTOCOL, "the upper layer says so");
}

uint32_t rig_payload_max(vbn_peer_t *peer)
{
    return link_caps(peer)->packet_max - LINK_HEADER_BYTES - (uint32_t)sizeof(uint32_t);
}

void rig_explain(const vbn_peer_t *peer, char *text, size_t capacity)
{
    (void)link_explain(peer, text, capacity);
}

const rig_totals_t *rig_result(rig_t *rig)
{
    return &rig->result;
}

/* ------------------------------------------------------------------------------------------ tampering */

static struct {
    int type, index, at, seen;
    uint8_t mask;
    uint32_t bytes[16];
    bool on;
} tamper;

static bool on_packet(void *arg, uint8_t *header, uint32_t *bytes)
{
    int type = header[0] & 15;
    (void)arg;
    tamper.bytes[type] = *bytes;
    if (!tamper.on || (tamper.type >= 0 && type != tamper.type) || (tamper.seen++ != tamper.index && tamper.index >= 0))
        return true;
    if (tamper.at < 0)
        return false;
    if (tamper.mask == 0)
        *bytes = (uint32_t)tamper.at;
    else
        header[tamper.at] ^= tamper.mask;
    return true;
}

void rig_seed(uint64_t seed, unsigned busy_1_of, unsigned later_1_of)
{
    loop_control = (loop_control_t){
        .seed = seed, .busy_1_of = busy_1_of, .later_1_of = later_1_of, .packet = on_packet};
    tamper.on = false;
}

void rig_tamper(int type, int index, int at, uint8_t mask)
{
    tamper.type = type;
    tamper.index = index;
    tamper.at = at;
    tamper.mask = mask;
    tamper.seen = 0;
    tamper.on = true;
}

void rig_unsettled(bool on)
{
    loop_control.unsettled = on;
}

unsigned rig_waits(void)
{
    return loop_control.waits;
}

void rig_dies(const char *transport)
{
    loop_control.dies = transport == NULL ? NULL : strcmp(transport, "loop2") == 0 ? &loop2_ops : &loop_ops;
}

void rig_tamper_off(void)
{
    tamper.on = false;
}

uint32_t rig_packet_bytes(int type)
{
    return tamper.bytes[type];
}

/* ---------------------------------------------------------------------------------------------- echo */

struct rig_echo {
    settings_t settings;
    log_sink_t log;
    counters_t counters;
    tl_iface_t *iface;
    uint64_t uid;
    uint8_t from, to;
};

static void echo_accepted(void *arg, tl_ep_t *ep)
{
    ep->owner = arg;
}

static void echo_ready(tl_ep_t *ep)
{
    (void)ep;
}

static void echo_rx(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes)
{
    rig_echo_t *echo = ep->owner;
    uint8_t bytes[TL_HEADER_MAX];
    (void)payload;
    (void)payload_bytes;
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes, header, header_bytes);
    if (echo->to != 0 && (bytes[0] & 15) == echo->from) {
        bytes[0] = (uint8_t)((bytes[0] & 0xf0) | echo->to);
        if (echo->to == LINK_CHALLENGE) { /* swap the uids, so that only the mac is wrong */
            memcpy(bytes + 24, (const uint8_t *)header + 32, 8);
            memcpy(bytes + 32, (const uint8_t *)header + 24, 8);
            header_bytes = LINK_HEADER_BYTES + LINK_CHALLENGE_BYTES;
        }
    }
    tl_packet_t packet = {.header = bytes, .header_bytes = header_bytes};
    loop_ops.send(ep, &packet);
}

static void echo_error(tl_ep_t *ep, vbn_status_t status, const char *text)
{
    (void)status;
    (void)text;
    loop_ops.disconnect(ep, VBN_CLOSE_NOW, 0);
}

rig_echo_t *rig_echo_open(uint8_t from, uint8_t to)
{
    rig_echo_t *echo = calloc(1, sizeof(*echo));
    if (echo == NULL)
        return NULL;
    echo->uid = os_random_u64();
    echo->from = from;
    echo->to = to;
    tl_params_t params = {.settings = &echo->settings,
                          .log = &echo->log,
                          .counters = &echo->counters,
                          .worker_uid = echo->uid,
                          .upcalls = {.arg = echo,
                                      .accepted = echo_accepted,
                                      .ready = echo_ready,
                                      .rx = echo_rx,
                                      .tx_ready = echo_ready,
                                      .ep_error = echo_error}};
    loop_ops.open(&params, &echo->iface);
    return echo;
}

size_t rig_echo_address(rig_echo_t *echo, uint8_t blob[VBN_ADDRESS_MAX])
{
    size_t length = VBN_ADDRESS_MAX;
    link_address_t address = {.uid = echo->uid, .host_id = 1, .section_count = 1};
    address.sections[0] = (link_section_t){.name = "loop", .bytes = (const uint8_t *)&echo->uid, .length = 8};
    return link_address_encode(&address, blob, &length) < 0 ? 0 : length;
}

unsigned rig_echo_progress(rig_echo_t *echo)
{
    return loop_ops.progress(echo->iface);
}

void rig_echo_close(rig_echo_t *echo)
{
    loop_ops.close(echo->iface);
    free(echo);
}

/* ---------------------------------------------------------------------------------------------- pure */

vbn_status_t rig_decode_address(const void *blob, size_t length, unsigned *sections_p)
{
    link_address_t address;
    vbn_status_t status = link_address_decode(blob, length, &address);
    *sections_p = status < 0 ? 0 : address.section_count;
    return status;
}

int rig_select(const char *const *names, const bool *offered, const int *status, unsigned count, char *text,
               size_t capacity)
{
    link_candidate_t candidates[8];
    memset(candidates, 0, sizeof(candidates));
    for (unsigned i = 0; i < count; i++) {
        candidates[i].name = names[i];
        candidates[i].offered = offered[i];
        candidates[i].status = (vbn_status_t)status[i];
        snprintf(candidates[i].reason, sizeof(candidates[i].reason), "reason %u", i);
    }
    return link_select(candidates, count, text, capacity);
}

size_t rig_idle_peer_bytes(void)
{
    return sizeof(vbn_peer_t) + sizeof(link_lane_t);
}
