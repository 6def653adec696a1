/* SPDX-License-Identifier: Apache-2.0
 * fuzz_wireup.c - a link engine against an attacker on its transport. The input is a script: dial, be dialled, send
 * packets of the handshake and after it, right ones or changed ones. First byte even: with a job key, and the attacker
 * does not have it, so that nothing it sends may reach the upper layer; odd: without authentication. */
#include "balance.h"
#include "base/endian.h"
#include "link/link_address.h"
#include "link/link_private.h"
#include "loop_tl.h"

#define LINES 4u
#define STEPS_MAX 200u

/* One connection as the attacker sees it. */
typedef struct line {
    tl_ep_t *ep;
    link_transcript_t transcript;
    link_offer_t theirs; /* all zero before their offer came */
    uint32_t sequence;
    uint32_t received;
} line_t;

typedef struct arena {
    settings_t settings;
    log_sink_t log;
    counters_t counters;
    link_engine_t *engine;
    vbn_peer_t *peers[LINES]; /* from link_connect */
    vbn_peer_t *sender;       /* known from its messages */
    tl_iface_t *attacker;
    uint64_t attacker_uid;
    line_t lines[LINES];
    unsigned line_count;
    bool with_key;
    unsigned delivered, pending;
} arena_t;

static arena_t arena;

static void quiet_log(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    require(strlen(record->text) > 0);
}

/* ------------------------------------------------------------------------------------------ the engine */

static void engine_rx(void *arg, vbn_peer_t *peer, const void *header, uint32_t header_bytes, const void *payload,
                      uint32_t payload_bytes)
{
    (void)arg;
    require(!arena.with_key && header_bytes <= LINK_UPPER_HEADER_MAX);
    (void)fuzz_touch(header, header_bytes);
    (void)fuzz_touch(payload, payload_bytes);
    arena.delivered++;
    arena.sender = peer;
}

static void engine_down(void *arg, vbn_peer_t *peer, vbn_status_t status)
{
    (void)arg;
    require(status < 0);
    if (arena.sender == peer)
        arena.sender = NULL;
}

static void peer_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    (void)arg;
    (void)peer;
    require(status < 0 && strlen(text) > 0);
}

static void sent(void *arg, vbn_status_t status)
{
    (void)status;
    bool *done = arg;
    require(!*done && arena.pending > 0);
    *done = true;
    arena.pending--;
    free(done);
}

static void engine_send(script_t *script)
{
    static uint8_t bytes[512];
    static uint8_t frame[LINK_HEADER_BYTES + UINT8_MAX];
    static const struct iovec iov = {bytes, sizeof(bytes)};
    uint8_t which = script_u8(script);
    vbn_peer_t *peer = which >= LINES ? arena.sender : arena.peers[which];
    bool *done = calloc(1, sizeof(*done));
    require(done != NULL);
    if (peer == NULL) {
        free(done);
        return;
    }
    link_packet_t packet = {.frame = frame,
                            .header_bytes = script_u8(script),
                            .payload_bytes = sizeof(bytes),
                            .iov = &iov,
                            .iov_count = 1,
                            .done = sent,
                            .arg = done};
    arena.pending++;
    vbn_status_t status = which % 2 == 0 ? link_send(peer, &packet) : link_flush(peer, sent, done);
    if (status != VBN_INPROGRESS) {
        arena.pending--;
        free(done);
    }
}

static void engine_connect(script_t *script)
{
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    unsigned slot = script_u8(script) % LINES;
    link_address_t address = {.uid = arena.attacker_uid, .host_id = 1, .section_count = 1};
    if (arena.peers[slot] != NULL)
        return;
    address.sections[0] = (link_section_t){.name = "loop", .bytes = (const uint8_t *)&arena.attacker_uid, .length = 8};
    require(link_address_encode(&address, blob, &length) == VBN_OK);
    if (link_connect(arena.engine, blob, length, peer_lost, NULL, &arena.peers[slot]) < 0)
        arena.peers[slot] = NULL;
}

static void engine_disconnect(script_t *script)
{
    uint8_t what = script_u8(script);
    vbn_peer_t **peer_p = &arena.peers[what % LINES];
    if (*peer_p != NULL)
        link_disconnect(*peer_p, what < 128 ? VBN_CLOSE_NOW : VBN_CLOSE_FLUSH);
    *peer_p = NULL;
}

/* ---------------------------------------------------------------------------------------- the attacker */

static void line_accepted(void *arg, tl_ep_t *ep)
{
    (void)arg;
    if (arena.line_count == LINES) {
        ep->owner = NULL;
        return;
    }
    line_t *line = &arena.lines[arena.line_count++];
    *line = (line_t){.ep = ep, .transcript = {.transport = "loop"}};
    ep->owner = line;
}

static void line_rx(tl_ep_t *ep, const void *bytes, uint32_t header_bytes, const void *payload, uint32_t payload_bytes)
{
    line_t *line = ep->owner;
    link_header_t header;
    require(link_header_decode(bytes, header_bytes, &header)); /* the engine speaks the protocol */
    (void)fuzz_touch(payload, payload_bytes);
    if (line == NULL)
        return;
    const uint8_t *body = (const uint8_t *)bytes + LINK_HEADER_BYTES;
    if (header.type == LINK_HELLO)
        memcpy(line->transcript.hello, body, LINK_OFFER_BYTES);
    if (header.type == LINK_CHALLENGE)
        memcpy(line->transcript.challenge, body, LINK_OFFER_BYTES);
    if (header.type == LINK_HELLO || header.type == LINK_CHALLENGE)
        require(link_offer_decode(body, header_bytes - LINK_HEADER_BYTES, &line->theirs) == VBN_OK);
    line->received += header.type == LINK_DATA;
}

static void line_nothing(tl_ep_t *ep)
{
    (void)ep;
}

static void line_done(tl_ep_t *ep, void *cookie, vbn_status_t status)
{
    (void)ep;
    (void)cookie;
    (void)status;
}

static void line_error(tl_ep_t *ep, vbn_status_t status, const char *text)
{
    line_t *line = ep->owner;
    (void)status;
    (void)text;
    if (line != NULL)
        line->ep = NULL;
    loop_ops.disconnect(ep, VBN_CLOSE_NOW, 0);
}

static void dial(void)
{
    uint64_t uid = link_engine_uid(arena.engine);
    if (arena.line_count == LINES)
        return;
    line_t *line = &arena.lines[arena.line_count++];
    *line = (line_t){.transcript = {.transport = "loop"}};
    require(loop_ops.connect(arena.attacker, &uid, sizeof(uid), line, &line->ep) == VBN_OK);
    (void)loop_ops.trust(line->ep);
}

/* Changes one byte of what would be right, or none, and sends it with some payload. */
static void send_changed(script_t *script, const line_t *line, uint8_t *bytes, uint32_t count)
{
    static uint8_t payload[4096];
    uint8_t mask = script_u8(script);
    bytes[script_u8(script) % count] ^= mask;
    uint8_t cut = script_u8(script);
    struct iovec iov = {payload, script_u8(script) % 4 == 3 ? script_u16(script) % sizeof(payload) : 0};
    tl_packet_t packet = {.header = bytes,
                          .header_bytes = cut > 250 ? count / 2 : count,
                          .iov = &iov,
                          .payload_bytes = (uint32_t)iov.iov_len,
                          .iov_count = 1};
    (void)loop_ops.send(line->ep, &packet);
}

/* The body of a packet of the handshake as an honest peer without a key would send it. */
static uint32_t fill_body(script_t *script, line_t *line, uint8_t type, uint8_t *body)
{
    link_offer_t offer = {.version = LINK_VERSION,
                          .auth = arena.with_key,
                          .uid = arena.attacker_uid,
                          .target_uid = link_engine_uid(arena.engine),
                          .connection = 7,
                          .window = 64,
                          .epoch = script_u8(script)};
    uint8_t *own = type == LINK_HELLO ? line->transcript.hello : line->transcript.challenge;
    switch (type) {
    case LINK_HELLO:
    case LINK_CHALLENGE:
        link_offer_encode(&offer, own);
        memcpy(body, own, LINK_OFFER_BYTES);
        memset(body + LINK_OFFER_BYTES, 0, HMAC_BYTES);
        return type == LINK_HELLO ? LINK_OFFER_BYTES : LINK_CHALLENGE_BYTES;
    case LINK_WELCOME:
        memset(body, 0, LINK_WELCOME_BYTES);
        le_put_u64(body, offer.epoch);
        return LINK_WELCOME_BYTES;
    case LINK_REJECT:
        le_put_u16(body, script_u8(script) % 10);
        le_put_u16(body + 2, LINK_VERSION);
        return LINK_REJECT_BYTES;
    default: memset(body, 0, LINK_PROOF_BYTES); return LINK_PROOF_BYTES;
    }
}

static void send_wireup(script_t *script, line_t *line)
{
    uint8_t bytes[TL_HEADER_MAX];
    link_header_t header = {.version = LINK_VERSION, .type = (uint8_t)(LINK_HELLO + script_u8(script) % 5)};
    link_header_encode(&header, bytes);
    uint32_t count = fill_body(script, line, header.type, bytes + LINK_HEADER_BYTES);
    send_changed(script, line, bytes, LINK_HEADER_BYTES + count);
}

static void send_later(script_t *script, line_t *line)
{
    uint8_t bytes[TL_HEADER_MAX] = {0};
    link_header_t header = {.version = LINK_VERSION,
                            .type = (uint8_t)(LINK_DATA + script_u8(script) % 3),
                            .connection = line->theirs.connection,
                            .sequence = line->sequence,
                            .ack = line->received};
    uint32_t upper = header.type == LINK_DATA ? script_u8(script) : 0;
    if (header.type == LINK_DATA)
        line->sequence++;
    if (header.type == LINK_ACK)
        header.flags = script_u8(script) & LINK_FLAG_ACK_NOW;
    link_header_encode(&header, bytes);
    send_changed(script, line, bytes, LINK_HEADER_BYTES + upper);
}

static void send_raw(script_t *script, const line_t *line)
{
    uint8_t bytes[TL_HEADER_MAX];
    uint32_t count = script_u8(script);
    script_bytes(script, bytes, sizeof(bytes) < count ? sizeof(bytes) : count);
    tl_packet_t packet = {.header = bytes, .header_bytes = count};
    (void)loop_ops.send(line->ep, &packet);
}

/* ----------------------------------------------------------------------------------------------- the run */

static void progress(void)
{
    (void)link_engine_progress(arena.engine);
    (void)loop_ops.progress(arena.attacker);
}

static void step(script_t *script)
{
    uint8_t what = script_u8(script);
    line_t *line = arena.line_count > 0 ? &arena.lines[(what >> 4) % arena.line_count] : NULL;
    bool open = line != NULL && line->ep != NULL;
    switch (what & 15) {
    case 0: dial(); break;
    case 1: engine_connect(script); break;
    case 2: engine_send(script); break;
    case 3: engine_disconnect(script); break;
    case 4:
        if (open)
            loop_ops.disconnect(line->ep, VBN_CLOSE_FLUSH, 0);
        if (line != NULL)
            line->ep = NULL;
        break;
    case 5: (void)link_engine_arm(arena.engine); break;
    case 6:
        if (open)
            send_raw(script, line);
        break;
    case 7:
    case 8:
    case 9:
        if (open)
            send_later(script, line);
        break;
    case 10:
    case 11:
    case 12:
        if (open)
            send_wireup(script, line);
        break;
    default: progress(); break;
    }
}

static void open_arena(uint8_t mode)
{
    static const tl_ops_t *const table[] = {&loop_ops};
    static const uint8_t key[32] = {1};
    memset(&arena, 0, sizeof(arena));
    arena.with_key = mode % 2 == 0;
    arena.attacker_uid = (mode & 2) != 0 ? 1 : UINT64_MAX; /* who yields when both dial depends on the order */
    arena.log = (log_sink_t){.func = quiet_log, .level = VBN_LOG_DEBUG};
    settings_defaults(&arena.settings);
    memcpy(arena.settings.tl_enable, "loop", 5);
    arena.settings.link_window = 16;
    arena.settings.link_max_peers = 2;
    if (!arena.with_key)
        arena.settings.security_auth = SETTING_SECURITY_AUTH_NONE;
    loop_control = (loop_control_t){
        .seed = (mode & 4) != 0 ? mode : 0, .busy_1_of = (mode & 8) != 0 ? 4 : 0, .later_1_of = 3};
    link_params_t params = {.settings = &arena.settings,
                            .log = &arena.log,
                            .counters = &arena.counters,
                            .job_key = key,
                            .upcalls = {.rx = engine_rx, .peer_down = engine_down}};
    require(link_engine_open_with(&params, table, 1, &arena.engine) == VBN_OK);
    link_engine_set_peer_lost(arena.engine, peer_lost, NULL);
    tl_params_t attacker = {.settings = &arena.settings,
                            .log = &arena.log,
                            .counters = &arena.counters,
                            .worker_uid = arena.attacker_uid,
                            .upcalls = {.accepted = line_accepted,
                                        .ready = line_nothing,
                                        .rx = line_rx,
                                        .tx_done = line_done,
                                        .tx_ready = line_nothing,
                                        .ep_error = line_error}};
    require(loop_ops.open(&attacker, &arena.attacker) == VBN_OK);
}

static void run(const uint8_t *data, size_t size)
{
    script_t script = {data, size};
    open_arena(script_u8(&script));
    for (unsigned i = 0; i < STEPS_MAX && script.left > 0; i++)
        step(&script);
    progress();
    link_engine_close(arena.engine);
    require(arena.pending == 0); /* each packet that was taken had its done */
    loop_ops.close(arena.attacker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, true);
}
