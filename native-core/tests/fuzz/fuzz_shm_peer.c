/* SPDX-License-Identifier: Apache-2.0
 * fuzz_shm_peer.c - a real shared-memory interface and, on the other end of its wire-up socket, a process that lies: in
 * the socket's messages, with the descriptors it sends, and in the ring that we gave it. The input is a script. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "balance.h"
#include "base/os.h"
#include "tl/shm/shm_private.h"

#define STEPS_MAX 120u
#define SINK_BYTES 2048u
#define PACKET_MOST (TL_SIGNAL_MAX + 64)
#define PACKET_BYTES 4096u /* with a header more than half of a small ring */

static struct {
    settings_t settings;
    log_sink_t log;
    counters_t counters;
    mem_registry_t *memory;
    tl_iface_t *iface; /* the same one for all runs */
    vbn_mem_t *mem;
    mem_key_info_t key; /* of mem, for ASK */
    tl_ep_t *ep;        /* the victim's end */
    unsigned accepted, imports;
    bool to_sink;
    uint8_t sink[SINK_BYTES];
    int socket;    /* the attacker's end; -1 = closed */
    uint8_t *ring; /* what the victim reads, in the attacker's hands */
    size_t ring_bytes;
} arena;

/* ------------------------------------------------------------------------------------------ the victim */

static void on_accepted(void *arg, tl_ep_t *ep)
{
    (void)arg;
    arena.ep = ep;
    arena.accepted++;
}

static void on_nothing(tl_ep_t *ep)
{
    require(ep == arena.ep);
}

static void on_rx(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes)
{
    require(ep == arena.ep && header_bytes <= TL_HEADER_MAX);
    (void)fuzz_touch(header, header_bytes);
    (void)fuzz_touch(payload, payload_bytes);
}

static void *on_sink(tl_ep_t *ep, const void *header, uint32_t header_bytes, uint32_t payload_bytes)
{
    require(ep == arena.ep);
    (void)fuzz_touch(header, header_bytes);
    return arena.to_sink && payload_bytes <= SINK_BYTES ? arena.sink : NULL;
}

static void on_done(tl_ep_t *ep, void *cookie, vbn_status_t status)
{
    (void)ep;
    (void)cookie;
    (void)status;
    abort(); /* this transport copies */
}

static void on_error(tl_ep_t *ep, vbn_status_t status, const char *text)
{
    require(ep == arena.ep && status < 0 && strlen(text) > 0);
    arena.ep = NULL;
    tl_shm_ops.disconnect(ep, VBN_CLOSE_NOW, 0);
}

static void on_imported(void *arg, vbn_status_t status, mem_import_t *import)
{
    (void)arg;
    require(arena.imports > 0 && (import != NULL) == (status == VBN_OK));
    arena.imports--;
    if (import != NULL)
        mem_import_release(import);
}

static void quiet_log(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    (void)record;
}

static void open_arena(void)
{
    settings_defaults(&arena.settings);
    arena.settings.tl_shm_ring_slots = 16; /* larger than a small ring, so that it begins small */
    arena.settings.tl_shm_chunks = 8;
    arena.settings.tl_shm_chunk_bytes = PACKET_BYTES;
    arena.log = (log_sink_t){.func = quiet_log};
    require(mem_registry_open(&arena.log, &arena.counters, &arena.memory) == VBN_OK);
    tl_params_t params = {.settings = &arena.settings,
                          .log = &arena.log,
                          .counters = &arena.counters,
                          .memory = arena.memory,
                          .worker_uid = 1,
                          .upcalls = {.accepted = on_accepted,
                                      .ready = on_nothing,
                                      .rx = on_rx,
                                      .sink = on_sink,
                                      .tx_done = on_done,
                                      .tx_ready = on_nothing,
                                      .ep_error = on_error}};
    require(tl_shm_ops.open(&params, &arena.iface) == VBN_OK);
    uint8_t blob[VBN_KEY_MAX];
    size_t length = sizeof(blob);
    require(mem_alloc(arena.memory, 4096, VBN_BACKING_MEMFD, NULL, &arena.mem) == VBN_OK);
    require(mem_key_export(arena.mem, 0, 4096, VBN_ACCESS_READ, blob, &length) == VBN_OK);
    require(mem_key_decode(blob, length, &arena.key) == VBN_OK);
}

static void progress(void)
{
    shm_attend((shm_iface_t *)arena.iface); /* else sockets are looked at every 100 us only */
    (void)tl_shm_ops.progress(arena.iface);
}

static void victim_send(script_t *script)
{
    static const uint8_t bytes[PACKET_BYTES];
    bool ready = arena.ep != NULL && ((shm_ep_t *)arena.ep)->ready;
    uint32_t header_bytes = script_u16(script) % (TL_HEADER_MAX + 1);
    uint32_t payload_bytes = script_u16(script) % (ready ? (uint32_t)sizeof(bytes) + 1 : TL_SIGNAL_MAX - TL_HEADER_MAX);
    struct iovec iov = {(void *)(uintptr_t)bytes, payload_bytes};
    tl_packet_t packet = {
        .header = bytes, .header_bytes = header_bytes, .payload_bytes = payload_bytes, .iov = &iov, .iov_count = 1};
    if (arena.ep != NULL)
        (void)tl_shm_ops.send(arena.ep, &packet);
}

static void victim_import(script_t *script)
{
    mem_key_info_t info = {.key_handle = script_u8(script),
                           .owner_id = 99,
                           .mem_handle = script_u8(script),
                           .mem_bytes = 4096,
                           .length = 4096,
                           .access = VBN_ACCESS_READ};
    if (arena.ep == NULL)
        return;
    arena.imports++;
    if (tl_shm_ops.import(arena.ep, &info, on_imported, NULL) < 0)
        arena.imports--;
}

/* ---------------------------------------------------------------------------------------- the attacker */

static void dial(void)
{
    uint8_t blob[TL_ADDRESS_MAX];
    size_t length = sizeof(blob);
    shm_address_t address;
    struct sockaddr_un un;
    require(tl_shm_ops.address(arena.iface, blob, &length) == VBN_OK);
    require(shm_address_decode(blob, length, &address) == VBN_OK);
    socklen_t bytes = shm_address_sockaddr(&address, &un);
    arena.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    require(arena.socket >= 0 && connect(arena.socket, (const struct sockaddr *)&un, bytes) == 0);
    for (unsigned i = 0, before = arena.accepted; i < 1000 && arena.accepted == before; i++)
        progress();
    require(arena.ep != NULL);
}

/* A descriptor to send along: none, the wrong kind, or memory with contents of the script, sealed or not. */
static int make_descriptor(script_t *script, uint8_t kind)
{
    int fd = -1;
    if (kind % 4 == 1)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (kind % 4 < 2)
        return -1;
    size_t bytes = (1u + kind / 16u) * 4096u;
    uint8_t constants[24];
    bool small = (kind & 4) != 0;
    shm_geometry_t right = {
        .slots = small ? 16 : 8, .chunks = small ? 8 : 4, .stride = shm_ring_stride(PACKET_BYTES + TL_HEADER_MAX)};
    uint32_t head[6] = {SHM_RING_MAGIC, SHM_RING_VERSION, right.slots, right.chunks, right.stride, small};
    memcpy(constants, head, sizeof(constants));
    constants[script_u8(script) % sizeof(constants)] ^= script_u8(script);
    if (kind % 4 == 2) {
        require(os_memfd("fuzz", bytes, &fd) == VBN_OK);
    } else {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        require(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    }
    require(pwrite(fd, constants, sizeof(constants), 0) == (ssize_t)sizeof(constants));
    return fd;
}

/* Of what it is sent with, or any other. */
static size_t note_length(script_t *script, unsigned type, bool any)
{
    size_t bytes = sizeof(shm_note_t);
    if (type == SHM_PACKET)
        bytes += script_u16(script) % PACKET_MOST;
    if (type == SHM_WAKE)
        bytes = 1;
    return any ? script_u8(script) : bytes;
}

static void send_note(script_t *script)
{
    struct {
        shm_note_t note;
        uint8_t packet[PACKET_MOST];
    } message = {.note = {.type = 0}};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    uint8_t shape = script_u8(script);
    uint8_t kind = script_u8(script);
    message.note = (shm_note_t){.type = shape % 9,
                                .flags = shape >> 7,
                                .header_bytes = script_u8(script),
                                .status = (int8_t)script_u8(script),
                                .id = script_u8(script),
                                .packet_max = 512u + script_u16(script),
                                .value = (1u + kind / 16u) * 4096u};
    if ((shape & 16) != 0)
        message.note.value = (shape & 32) != 0 ? script_u64(script) : arena.key.key_handle;
    struct iovec iov = {&message, note_length(script, message.note.type, (shape & 64) != 0)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    int fd = make_descriptor(script, kind);
    if (fd >= 0) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
    }
    (void)sendmsg(arena.socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (fd >= 0)
        close(fd);
}

/* Reads what the victim wrote, and keeps the ring it offers. */
static void attacker_read(void)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    shm_note_t note;
    struct iovec iov = {&note, sizeof(note)};
    for (unsigned i = 0; i < 16 && arena.socket >= 0; i++) {
        struct msghdr msg = {
            .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
        if (recvmsg(arena.socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
            return;
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
        if (cmsg == NULL)
            continue;
        int fd;
        memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
        void *map = MAP_FAILED;
        if (note.type == SHM_RING && arena.ring == NULL)
            map = mmap(NULL, (size_t)note.value, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (map != MAP_FAILED) {
            arena.ring = map;
            arena.ring_bytes = (size_t)note.value;
        }
    }
}

/* A word with the tag that the victim waits for, or any byte. */
static void write_ring(script_t *script)
{
    uint8_t what = script_u8(script);
    if (arena.ring == NULL)
        return;
    if (what % 2 == 0 || arena.ep == NULL) {
        arena.ring[script_u32(script) % arena.ring_bytes] = script_u8(script);
        return;
    }
    const shm_rx_t *rx = &((shm_ep_t *)arena.ep)->rx;
    shm_slot_t *slots = (shm_slot_t *)(void *)(arena.ring + SHM_RING_CONTROL);
    uint32_t ahead = what >> 1 & 3;
    uint64_t word = (uint64_t)script_u16(script) << 16 | (uint64_t)script_u32(script) << 28;
    word = (what & 8) != 0 ? word & UINT64_C(0x0070007ff1ff0000) : word;
    word = (word & ~UINT64_C(0xffff)) | ((rx->position + 1 + ahead) & 0xffff);
    atomic_set_release(&slots[(rx->position + ahead) & rx->mask].word, word);
}

/* What the victim sends is consumed, or so the attacker says, and its ring has grown, or has not. */
static void answer(script_t *script)
{
    uint8_t what = script_u8(script);
    shm_tx_t *tx = arena.ep != NULL ? &((shm_ep_t *)arena.ep)->tx : NULL;
    if (tx == NULL || tx->control == NULL)
        return;
    atomic_set_relaxed(&tx->control->grown, (what & 1) != 0);
    atomic_set_release(&tx->control->consumed,
                       (what & 2) != 0 ? script_u64(script) : (uint64_t)tx->data_position << 32 | tx->position);
}

static void hang_up(void)
{
    if (arena.socket >= 0)
        close(arena.socket);
    arena.socket = -1;
}

/* A connection that works, up to both rings, so that scripts need not find the way there. */
static void honest_wireup(void)
{
    shm_note_t want = {.type = SHM_WANT, .packet_max = PACKET_BYTES + TL_HEADER_MAX};
    shm_note_t mapped = {.type = SHM_MAPPED};
    if (arena.ep == NULL || arena.socket < 0)
        return;
    (void)tl_shm_ops.trust(arena.ep);
    (void)send(arena.socket, &want, sizeof(want), MSG_DONTWAIT | MSG_NOSIGNAL);
    progress();
    attacker_read();
    (void)send(arena.socket, &mapped, sizeof(mapped), MSG_DONTWAIT | MSG_NOSIGNAL);
    progress();
}

/* ----------------------------------------------------------------------------------------------- the run */

static void step(script_t *script)
{
    uint8_t what = script_u8(script);
    switch (what % 14) {
    case 0:
    case 1:
    case 2:
        if (arena.socket >= 0)
            send_note(script);
        break;
    case 3: attacker_read(); break;
    case 4:
    case 5: write_ring(script); break;
    case 6: victim_send(script); break;
    case 7: victim_import(script); break;
    case 8:
        if (arena.ep != NULL)
            (void)tl_shm_ops.trust(arena.ep);
        break;
    case 9:
        if (what > 240)
            hang_up();
        else
            (void)tl_shm_ops.arm(arena.iface);
        break;
    case 12:
        if (arena.ep != NULL)
            ((shm_ep_t *)arena.ep)->earn = 0; /* its next send asks for the whole ring */
        break;
    case 13: answer(script); break;
    default: progress(); break;
    }
}

static void run(const uint8_t *data, size_t size)
{
    script_t script = {data, size};
    uint8_t mode = script_u8(&script);
    if (arena.iface == NULL)
        open_arena();
    arena.to_sink = (mode & 1) != 0;
    arena.ring = NULL;
    dial();
    if ((mode & 2) != 0)
        honest_wireup();
    for (unsigned i = 0; i < STEPS_MAX && script.left > 0; i++)
        step(&script);
    hang_up();
    progress();
    if (arena.ring != NULL)
        munmap(arena.ring, arena.ring_bytes);
    if (arena.ep != NULL)
        tl_shm_ops.disconnect(arena.ep, VBN_CLOSE_NOW, 0);
    arena.ep = NULL;
    require(arena.imports == 0 && ((shm_iface_t *)arena.iface)->ring_memory == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, true);
}
