/* SPDX-License-Identifier: Apache-2.0
 * fuzz_proto.c - two protocol engines that really work with each other, and somebody between them who changes, repeats
 * and invents packets. The input is a script. Every operation must complete exactly once, and write into its buffer
 * only. A first byte of 255 only decodes the rest as a header. */
#include "balance.h"
#include "proto/proto_wire.h"
#include "rig.h"

#define PACKET_MAX 2048u
#define MEMORY_BYTES 16384u
#define OPS 24u
#define REMOTES 8u
#define STEPS_MAX 150u

typedef struct user_op {
    vbn_op_t op; /* first: done() casts back */
    struct iovec iov;
    struct iovec place; /* in exported memory */
    vbn_strided_t blocks;
    vbn_tag_info_t info;
    uint64_t before;
    bool pending;
} user_op_t;

static struct {
    rig_t *rig;
    user_op_t ops[OPS];
    unsigned op_count;
    vbn_mem_t *memory[2];
    vbn_key_t *keys[2]; /* of the other side's memory */
    vbn_am_remote_t *remotes[REMOTES];
    size_t remote_lengths[REMOTES];
    int remote_sides[REMOTES];
    bool devices;
    bool kept[2]; /* memory that something is received into */
} arena;

static void done(vbn_op_t *op, vbn_status_t status, size_t length)
{
    user_op_t *user = (user_op_t *)op;
    require(user->pending && (status < 0 || length <= MEMORY_BYTES * 2));
    user->pending = false;
}

static void on_message(void *arg, const vbn_am_message_t *message)
{
    (void)arg;
    (void)fuzz_touch(message->header, message->header_length);
    if (message->remote == NULL) {
        (void)fuzz_touch(message->data, message->length);
        return;
    }
    for (unsigned i = 0; i < REMOTES; i++) {
        if (arena.remotes[i] == NULL) {
            arena.remotes[i] = message->remote;
            arena.remote_lengths[i] = message->length;
            arena.remote_sides[i] = message->peer == rig_peer(arena.rig, 1);
            return;
        }
    }
    proto_am_drop(message->remote);
}

/* A new op with a buffer of its own; NULL when the script has used up all. */
static user_op_t *new_op(size_t bytes)
{
    if (arena.op_count == OPS)
        return NULL;
    user_op_t *user = &arena.ops[arena.op_count++];
    user->iov = (struct iovec){calloc(1, bytes + 1), bytes};
    require(user->iov.iov_base != NULL);
    user->op.done = done;
    user->pending = true;
    return user;
}

static void started(user_op_t *user, vbn_status_t status)
{
    require(status != VBN_BUSY);
    if (status != VBN_INPROGRESS)
        user->pending = false;
}

static vbn_status_t start_one_sided(unsigned what, vbn_key_t *key, size_t offset, user_op_t *user)
{
    vbn_signal_t signal = {key, offset & ~(size_t)7, VBN_ATOMIC_ADD, 1};
    user->blocks = (vbn_strided_t){user->iov.iov_base, 16, user->iov.iov_len / 16, 16, 16 + (what & 64u)};
    switch (what & 7) {
    case 0:
        return proto_atomic(key, offset & ~(size_t)3, (vbn_atomic_kind_t)(offset % 6), 4, 1, 0, &user->before,
                            &user->op);
    case 1: return proto_put_signal(key, offset, &user->iov, 1, &signal, &user->op);
    case 2: return proto_put_strided(key, offset, &user->blocks, &user->op);
    case 3: return proto_get_strided(key, offset, &user->blocks, &user->op);
    case 4: return proto_put(key, offset, &user->iov, 1, &user->op);
    default: return proto_get(key, offset, &user->iov, 1, &user->op);
    }
}

/* Tags 0 to 3, masks that see both bits or one. */
static vbn_status_t start_tagged(unsigned what, int side, size_t offset, user_op_t *user)
{
    vbn_peer_t *peer = rig_peer(arena.rig, side);
    uint64_t mask = (what & 64) != 0 ? UINT64_MAX : 1;
    if ((what & 1) != 0)
        return proto_tag_send(peer, offset & 3, &user->iov, 1, (offset >> 4) & (VBN_TAG_SYNC | VBN_SEND_STAGES),
                              &user->op);
    return proto_tag_recv(rig_engine(arena.rig, side), (what & 2) != 0 ? peer : NULL, offset & 3, mask, &user->iov, 1,
                          &user->info, &user->op);
}

static void start(script_t *script)
{
    uint8_t what = script_u8(script);
    int side = what & 1;
    size_t bytes = script_u16(script) % (MEMORY_BYTES + 1);
    size_t offset = script_u16(script);
    user_op_t *user = new_op(bytes);
    vbn_peer_t *peer = rig_peer(arena.rig, side);
    if (user == NULL)
        return;
    switch (what >> 1 & 15) {
    case 0:
    case 1:
        started(user,
                proto_am_send(peer, 0, "head", 4, &user->iov, 1, offset & (VBN_AM_PULL | VBN_SEND_STAGES), &user->op));
        break;
    case 2: started(user, proto_flush(peer, &user->op)); break;
    case 3:
        proto_fence(rig_engine(arena.rig, side));
        started(user, proto_flush_all(rig_engine(arena.rig, side), &user->op));
        break;
    case 4:
    case 5:
    case 6:
    case 7: started(user, start_tagged(what >> 1, side, offset, user)); break;
    default:
        started(user, arena.keys[side] == NULL ? VBN_ERR_INVALID
                                               : start_one_sided(what >> 1, arena.keys[side], offset, user));
    }
}

/* Exact heap copies, so that the sanitizer sees each byte read beyond. */
static void inject(int to, const uint8_t *header, uint32_t header_bytes, const uint8_t *payload, uint32_t payload_bytes)
{
    uint8_t *header_copy = malloc(header_bytes + 1u);
    uint8_t *payload_copy = malloc(payload_bytes + 1u);
    require(header_copy != NULL && payload_copy != NULL);
    memcpy(header_copy + 1, header, header_bytes);
    memcpy(payload_copy + 1, payload, payload_bytes);
    rig_inject(arena.rig, to, header_copy + 1, header_bytes, payload_copy + 1, payload_bytes);
    free(header_copy);
    free(payload_copy);
}

static void tamper(script_t *script)
{
    uint8_t header[LINK_UPPER_HEADER_MAX];
    uint8_t payload[PACKET_MAX];
    uint8_t what = script_u8(script);
    uint8_t at = script_u8(script);
    uint8_t mask = script_u8(script);
    uint32_t payload_bytes = 0;
    uint32_t header_bytes = rig_take(arena.rig, what & 1, header, payload, &payload_bytes);
    if (header_bytes == 0)
        return;
    header[at % header_bytes] ^= mask;
    if ((what & 2) != 0)
        payload_bytes = payload_bytes == 0 ? 64 : payload_bytes / 2;
    if ((what & 4) != 0)
        header_bytes -= at % header_bytes;
    inject(what & 1, header, header_bytes, payload, payload_bytes);
    if ((what & 8) != 0)
        inject(what & 1, header, header_bytes, payload, payload_bytes);
}

static void invent(script_t *script)
{
    uint8_t header[LINK_UPPER_HEADER_MAX];
    static const uint8_t payload[PACKET_MAX];
    uint8_t what = script_u8(script);
    uint32_t header_bytes = script_u8(script) % 80u;
    script_bytes(script, header, header_bytes);
    inject(what & 1, header, header_bytes, payload, what >= 128 ? script_u8(script) * 4u : 0);
}

static void end_remote(script_t *script)
{
    uint8_t what = script_u8(script);
    unsigned slot = what % REMOTES;
    vbn_am_remote_t *remote = arena.remotes[slot];
    size_t bytes = arena.remote_lengths[slot];
    user_op_t *user = remote != NULL && what < 200 && bytes <= MEMORY_BYTES ? new_op(bytes) : NULL;
    if (remote == NULL)
        return;
    arena.remotes[slot] = NULL;
    if (user == NULL) {
        proto_am_drop(remote);
        return;
    }
    int side = arena.remote_sides[slot];
    struct iovec *to = &user->iov;
    if ((what & 64) != 0 && bytes <= MEMORY_BYTES / 2 && arena.memory[side] != NULL) {
        user->place = (struct iovec){rig_mem_address(arena.memory[side]), bytes};
        to = &user->place;
        arena.kept[side] = true;
    }
    vbn_status_t status = proto_am_pull(remote, to, 1, &user->op);
    started(user, status);
    if (status < 0)
        proto_am_drop(remote);
}

static void free_memory(int side)
{
    if (arena.memory[side] != NULL)
        rig_mem_free(arena.memory[side]);
    arena.memory[side] = NULL;
}

static void release_key(int side)
{
    if (arena.keys[side] != NULL)
        proto_key_release(arena.keys[side]);
    arena.keys[side] = NULL;
}

/* Of a send it goes to the peer as a packet. An op that cannot be cancelled any more completes as it would. */
static void cancel(script_t *script)
{
    uint8_t which = script_u8(script);
    user_op_t *user = arena.op_count > 0 ? &arena.ops[which % arena.op_count] : NULL;
    if (user != NULL && user->pending && proto_tag_cancel(&user->op) == VBN_OK)
        user->pending = false;
}

static void step(script_t *script)
{
    uint8_t what = script_u8(script);
    int side = what >> 7;
    switch (what & 15) {
    case 0:
    case 1:
    case 2:
    case 3: start(script); break;
    case 4:
    case 5: tamper(script); break;
    case 6: invent(script); break;
    case 7: end_remote(script); break;
    case 8:
        if ((what & 0x70) == 0x70)
            cancel(script);
        else
            end_remote(script);
        break;
    case 9:
        if (!arena.kept[side])
            free_memory(side);
        break;
    case 10: release_key(side); break;
    case 11:
        if ((what & 0x70) == 0x70)
            rig_kill(arena.rig, side, VBN_ERR_PEER_LOST);
        break;
    case 12:
        rig_run(arena.rig);
        rig_imports_map(arena.rig);
        break;
    case 13:
        if ((what & 0x70) == 0x70 && arena.devices)
            rig_break_devices(arena.rig);
        else
            (void)rig_devices_turn(arena.rig);
        break;
    default: (void)rig_deliver(arena.rig, side); break;
    }
}

static void open_arena(uint8_t mode)
{
    rig_options_t options = rig_defaults();
    options.packet_max = PACKET_MAX;
    options.eager_best = options.stream_chunk = 1024;
    options.am_small_max = 512;
    options.max_incoming = 16;
    options.late_done = (mode & 1) != 0;
    options.use_sink = (mode & 2) != 0;
    options.not_ready = (mode & 4) != 0;
    options.import_fails = (mode & 16) != 0; /* memory can be mapped */
    options.devices = (mode & 32) != 0;
    options.direct = (mode & 64) !=
                     0; /* one host, but neither may read the memory of the other: the first bytes come along */
    memset(&arena, 0, sizeof(arena));
    arena.rig = rig_open(&options);
    arena.devices = options.devices;
    for (int side = 0; side < 2; side++) {
        arena.memory[side] = rig_mem(arena.rig, side, MEMORY_BYTES);
        require(arena.memory[side] != NULL);
        require(rig_handler(arena.rig, side, 0, on_message, NULL) == VBN_OK);
    }
    for (int side = 0; side < 2; side++)
        arena.keys[side] = rig_import(arena.rig, side, arena.memory[1 - side], 0, MEMORY_BYTES / 2,
                                      (mode & 8) != 0 ? VBN_ACCESS_READ : VBN_ACCESS_READ | VBN_ACCESS_WRITE);
}

static void close_arena(void)
{
    rig_imports_answer(arena.rig);
    for (int side = 0; side < 2; side++)
        rig_kill(arena.rig, side, VBN_ERR_CLOSED);
    for (unsigned i = 0; i < REMOTES; i++)
        if (arena.remotes[i] != NULL)
            proto_am_drop(arena.remotes[i]);
    for (int side = 0; side < 2; side++) {
        release_key(side);
        free_memory(side);
    }
    for (unsigned i = 0; i < arena.op_count; i++) {
        /* Only a receive from any source outlives its peers. */
        require(!arena.ops[i].pending || proto_tag_cancel(&arena.ops[i].op) == VBN_OK);
        free(arena.ops[i].iov.iov_base);
    }
    rig_close(arena.rig);
}

static void recognise_data(proto_type_t type, const uint8_t *bytes, uint32_t count, const proto_header_t *header)
{
    proto_data_t data = {0};
    bool is_data = proto_is_data(type, bytes, count, &data);
    require(is_data == (header != NULL && header->type == type));
    require(!is_data || (data.op == header->op && data.offset == header->offset));
}

/* What is recognised without decoding is what the decoder takes for it. */
static void recognise(const uint8_t *bytes, uint32_t count, const proto_header_t *header)
{
    unsigned id = 0;
    uint64_t tag = 0;
    bool is_am = count >= PROTO_PREFIX_BYTES && proto_is_am(bytes, count, &id);
    bool is_tag = proto_is_tag(bytes, count, &tag);
    require(is_am == (header != NULL && header->type == PROTO_AM) && (!is_am || id == header->code));
    require(is_tag == (header != NULL && header->type == PROTO_TAG) && (!is_tag || tag == header->tag));
    recognise_data(PROTO_DATA, bytes, count, header);
    recognise_data(PROTO_TAG_MORE, bytes, count, header);
}

static void decode_only(const uint8_t *data, size_t size)
{
    proto_header_t header;
    uint8_t again[LINK_UPPER_HEADER_MAX];
    uint32_t payload_bytes = size > 0 ? data[0] : 0;
    bool good = size >= 1 && proto_decode(data + 1, (uint32_t)size - 1, payload_bytes, &header) == VBN_OK;
    if (size >= 1)
        recognise(data + 1, (uint32_t)size - 1, good ? &header : NULL);
    if (!good)
        return;
    require(proto_encode(&header, again) == size - 1 && memcmp(again, data + 1, size - 1) == 0);
}

static void run(const uint8_t *data, size_t size)
{
    script_t script = {data, size};
    uint8_t mode = script_u8(&script);
    if (mode == 255) {
        decode_only(script.at, script.left);
        return;
    }
    open_arena(mode);
    for (unsigned i = 0; i < STEPS_MAX && script.left > 0; i++)
        step(&script);
    rig_run(arena.rig);
    close_arena();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, true);
}
