/* SPDX-License-Identifier: Apache-2.0
 * fuzz_shm_ring.c - a ring whose other side lies. First byte even: we consume what a hostile producer wrote; odd: we
 * attach to memory of a hostile consumer and produce. The memory is exactly as large as it should be. */
#include "balance.h"
#include "tl/shm/shm_ring.h"

static const shm_geometry_t geometries[] = {{.slots = 8, .chunks = 4, .stride = 1024},
                                            {.slots = 16, .chunks = 8, .stride = 4096}}; /* begins small */

static void *ring_memory(size_t bytes)
{
    void *memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
    require(memory != NULL);
    memset(memory, 0, bytes);
    return memory;
}

/* Any byte of the ring, as the other process may. */
static void poke(script_t *script, uint8_t *memory, size_t bytes)
{
    size_t at = script_u16(script) % bytes;
    memory[at] = script_u8(script);
}

/* A word that has the tag of the slot that is looked at next. */
static void write_word(script_t *script, shm_rx_t *rx)
{
    uint64_t word = script_u64(script);
    word = (word & ~UINT64_C(0xffff)) | ((rx->position + 1) & 0xffff);
    atomic_set_release(&rx->slots[rx->position & (rx->geometry.slots - 1)].word, word);
}

static bool inside(const uint8_t *memory, size_t bytes, const uint8_t *at, size_t count)
{
    return at >= memory && at <= memory + bytes && count <= (size_t)(memory + bytes - at);
}

/* As the transport's polling loop; false when the producer would be dropped. */
static bool consume(shm_rx_t *rx, const uint8_t *memory, size_t bytes)
{
    shm_frame_t frame;
    int found = shm_rx_peek(rx, &frame);
    if (found <= 0)
        return found == 0;
    bool part = frame.kind == SHM_PART || frame.kind == SHM_LAST;
    require(!part || rx->small);
    require(!rx->small || frame.lines <= SHM_SMALL_LINES);
    if (frame.kind == SHM_GROW && rx->small) {
        shm_rx_grow(rx);
        frame.data_at = rx->data_at;
    } else if (frame.kind != SHM_KICK && frame.kind != SHM_GROW) {
        size_t there = rx->small ? SHM_SMALL_BYTES : bytes;
        require(frame.header_bytes <= SHM_HEADER_MAX);
        require(part || inside(memory, there, frame.header, frame.header_bytes));
        require(inside(memory, there, frame.payload, frame.payload_bytes));
    }
    if (shm_rx_consume(rx, &frame))
        (void)shm_rx_publish(rx);
    require(rx->position - rx->published <= rx->geometry.slots);
    return true;
}

static void hostile_producer(script_t *script)
{
    uint8_t how = script_u8(script);
    bool small = (how & 2) != 0;
    size_t bytes = shm_ring_bytes(&geometries[small], 1);
    uint8_t *memory = ring_memory(bytes);
    shm_rx_t rx;
    bool alive = true;
    shm_rx_create(&rx, memory, &geometries[small], small, how % 2 == 0);
    while (alive && script->left > 0) {
        if (script_u8(script) % 2 == 0)
            poke(script, memory, bytes);
        else
            write_word(script, &rx);
        alive = consume(&rx, memory, bytes);
    }
    free(memory);
}

static void produce(script_t *script, shm_tx_t *tx)
{
    static uint8_t payload[2048];
    uint32_t header_bytes = script_u16(script) % (SHM_HEADER_MAX + 1);
    uint32_t room = tx->whole * SHM_LINE - shm_align64(header_bytes);
    uint32_t payload_bytes = script_u16(script) % ((room < sizeof(payload) ? room : (uint32_t)sizeof(payload)) + 1);
    struct iovec iov = {payload, payload_bytes};
    vbn_status_t status = shm_tx_put(tx, payload, header_bytes, &iov, 1, payload_bytes);
    require(status == VBN_OK || status == VBN_BUSY || status == VBN_ERR_PROTOCOL);
    require(tx->position - tx->consumed <= tx->geometry.slots);
    require(tx->data_position - tx->data_consumed <= tx->lines);
}

/* As the transport's: GROW is the last frame until the consumer says that it has consumed it. */
static void produce_or_grow(script_t *script, shm_tx_t *tx, bool *growing)
{
    if (*growing) {
        *growing = shm_tx_refresh(tx) != VBN_OK || tx->position != tx->consumed;
        if (!*growing && shm_tx_answer(tx))
            require(!tx->small && tx->lines > SHM_SMALL_LINES);
    } else if (tx->small && shm_tx_slot_free(tx) && script_u8(script) % 4 == 0) {
        shm_tx_publish(tx, 0, 0, SHM_GROW);
        *growing = true;
    } else {
        produce(script, tx);
    }
}

static void hostile_consumer(script_t *script)
{
    uint8_t pokes = script_u8(script);
    bool small = (pokes & 128) != 0, growing = false;
    size_t bytes = shm_ring_bytes(&geometries[small], 1);
    uint8_t *memory = ring_memory(bytes);
    shm_ring_control_t *control = (shm_ring_control_t *)(void *)memory;
    shm_rx_t rx;
    shm_tx_t tx;
    shm_rx_create(&rx, memory, &geometries[small], small, false);
    for (pokes %= 4; pokes > 0; pokes--) /* where the constants are */
        memory[script_u8(script) % 24] = script_u8(script);
    if (shm_tx_attach(&tx, memory, bytes, 512, script_u8(script) % 2 == 0) == VBN_OK) {
        require(tx.geometry.stride >= 512 && shm_ring_bytes(&tx.geometry, 1) <= bytes);
        while (script->left > 0) {
            uint8_t what = script_u8(script) % 4;
            if (what == 0)
                atomic_set_release(&control->consumed, script_u64(script));
            else if (what == 1)
                poke(script, memory, bytes);
            else
                produce_or_grow(script, &tx, &growing);
            (void)shm_tx_must_tell(&tx);
        }
    }
    free(memory);
}

static void run(const uint8_t *data, size_t size)
{
    script_t script = {data, size};
    if (script_u8(&script) % 2 == 0)
        hostile_producer(&script);
    else
        hostile_consumer(&script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, false);
}
