/* SPDX-License-Identifier: Apache-2.0
 * fuzz_fast.c - the fast lane of shared memory: slots of a connected peer that lies, beside honest messages and receives
 * that wait for them. The peer's own engine is honest; hostile slots go past it (tests/unit/fast/slots.h). */
#include "balance.h"
#include "slots.h"

#define RECEIVES 8
#define FIRST 3   /* messages that do not go by the fast lane, or not all of them */
#define SENDS 64u /* of a run */
#define SEND_BYTES 88u
#define HANDLER 1u
#define GUARD 0x5a
#define AM 1u   /* PROTO_AM */
#define TAG 10u /* PROTO_TAG */

typedef struct side {
    vbn_context_t *context;
    vbn_worker_t *worker;
    vbn_peer_t *peer;
    bool lost;
} side_t;

typedef struct receive {
    vbn_op_t op;
    vbn_tag_info_t info;
    struct iovec iov; /* of `room` bytes and one more, which nobody may write */
    size_t room;
    bool posted;
} receive_t;

typedef struct send {
    vbn_op_t op;
    struct iovec iov;
    uint8_t data[SEND_BYTES];
} send_t;

static side_t victim, liar;
static send_t sends[SENDS];
static unsigned sends_used;
static receive_t receives[RECEIVES];
static unsigned seen;

static void no_log(void *arg, const vbn_log_record_t *record)
{
    (void)arg, (void)record;
}

static void on_message(void *arg, const vbn_am_message_t *message)
{
    const side_t *side = arg;
    require(!side->lost); /* nothing comes from a peer that was reported lost */
    seen += fuzz_touch(message->header, message->header_length) + fuzz_touch(message->data, message->length);
}

static void on_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *reason)
{
    side_t *side = arg;
    (void)peer, (void)reason;
    require(status < 0 && !side->lost);
    side->lost = true;
}

static void open_side(side_t *side)
{
    static const uint8_t key[VBN_JOB_KEY_BYTES] = {1};
    vbn_config_t *config;
    require(vbn_config_create(&config) == VBN_OK);
    require(vbn_config_set(config, "tl.enable", "shm") == VBN_OK && vbn_config_set_job_key(config, key) == VBN_OK);
    vbn_config_set_log(config, no_log, NULL);
    require(vbn_open(config, &side->context) == VBN_OK);
    vbn_config_destroy(config);
}

static void start(side_t *side)
{
    side->lost = false;
    side->peer = NULL;
    require(vbn_worker_create(side->context, &side->worker) == VBN_OK);
    require(vbn_am_handler(side->worker, HANDLER, on_message, side) == VBN_OK);
    vbn_worker_set_peer_lost(side->worker, on_lost, side);
}

static void turn(unsigned times)
{
    while (times-- > 0) {
        (void)vbn_progress(liar.worker);
        (void)vbn_progress(victim.worker);
    }
}

/* An honest message. Nobody waits for it: a tagged one without credit goes when a receive takes it, or never. */
static void send(bool tagged, uint64_t tag, uint8_t fill, size_t length)
{
    if (sends_used == SENDS)
        return;
    send_t *one = &sends[sends_used++];
    one->op = (vbn_op_t){0};
    one->iov = (struct iovec){one->data, length};
    memset(one->data, fill, sizeof(one->data));
    const vbn_status_t status = tagged ? vbn_tag_send(liar.peer, tag, &one->iov, 1, 0, &one->op)
                                       : vbn_am_send(liar.peer, HANDLER, NULL, 0, &one->iov, 1, 0, &one->op);
    while (status < 0 && !liar.lost) /* the call that finds the loss fails; progress reports it */
        turn(1);
    if (status == VBN_OK)
        one->op.complete = 1;
}

/* What comes first does not go by the fast lane. libFuzzer's limit ends a wait that has no end: counted turns would end one
 * in which a busy machine does not let the helper thread run. */
static void connect_both(void)
{
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    require(vbn_worker_address(victim.worker, blob, &length) == VBN_OK);
    require(vbn_connect(liar.worker, blob, length, on_lost, &liar, &liar.peer) == VBN_OK);
    for (int i = 0; i < FIRST; i++) {
        send(false, 0, 0, 8);
        for (; !sends[i].op.complete; turn(1))
            require(!liar.lost);
    }
    require(slots_open(liar.peer));
}

static void post(script_t *script)
{
    receive_t *receive = &receives[script_u8(script) % RECEIVES];
    const uint64_t tag = script_u8(script) % 4, mask = script_u8(script) % 2 == 0 ? UINT64_MAX : 0;
    if (receive->posted)
        return;
    *receive = (receive_t){.room = script_u8(script)};
    uint8_t *buffer = malloc(receive->room + 1);
    require(buffer != NULL);
    buffer[receive->room] = GUARD;
    receive->iov = (struct iovec){buffer, receive->room};
    vbn_status_t status = vbn_tag_recv(victim.worker, NULL, tag, mask, &receive->iov, 1, &receive->info, &receive->op);
    receive->posted = true;
    receive->op.complete = status != VBN_INPROGRESS || receive->op.complete;
    if (status != VBN_INPROGRESS)
        receive->op.status = status;
}

static void collect(receive_t *receive)
{
    if (!receive->posted || !receive->op.complete)
        return;
    require(((uint8_t *)receive->iov.iov_base)[receive->room] == GUARD);
    require(receive->op.status != VBN_OK || receive->info.length <= receive->room);
    if (receive->op.status == VBN_OK)
        seen += fuzz_touch(receive->iov.iov_base, receive->info.length);
    free(receive->iov.iov_base);
    receive->posted = false;
}

/* A right slot, of which the script changes something. */
static void lie(script_t *script)
{
    uint8_t slot[SLOTS_DATA] = {0};
    const uint8_t how = script_u8(script), length = script_u8(script) % 97;
    uint32_t header = how & 1 ? 24 : 32, payload = length;
    unsigned kind = 0;
    slots_link_header(liar.peer, slot);
    slot[16] = how & 1 ? AM : TAG;
    slot[17] = how & 1 ? HANDLER : 0;
    slot[24] = script_u8(script) % 4; /* a tag's lowest byte */
    if (how & 2)
        header = script_u16(script) & 0xfff;
    if (how & 4)
        payload = script_u32(script) & 0xffffff;
    if (how & 8)
        kind = script_u8(script) & 7;
    for (unsigned changes = how >> 4; changes > 0; changes--)
        slot[script_u8(script) % SLOTS_DATA] = script_u8(script);
    slots_write(liar.peer, header, payload, kind, slot);
}

static void step(script_t *script)
{
    const uint8_t what = script_u8(script);
    if (what % 4 == 0)
        send(what & 4, what >> 6, what, what & 8 ? SEND_BYTES : 8);
    else if (what % 4 == 1)
        post(script);
    else
        lie(script);
    turn(2);
    for (unsigned i = 0; i < RECEIVES; i++)
        collect(&receives[i]);
}

static void run(const uint8_t *data, size_t size)
{
    script_t script = {data, size};
    sends_used = 0;
    start(&victim);
    start(&liar);
    connect_both();
    while (script.left > 0 && !liar.lost && !victim.lost && slots_open(liar.peer))
        step(&script);
    vbn_worker_destroy(liar.worker);
    vbn_worker_destroy(victim.worker);
    for (unsigned i = 0; i < RECEIVES; i++)
        collect(&receives[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (victim.context == NULL) {
        open_side(&victim);
        open_side(&liar);
    }
    return fuzz_balanced(run, data, size, true);
}
