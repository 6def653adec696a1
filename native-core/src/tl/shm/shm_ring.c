/* SPDX-License-Identifier: Apache-2.0
 * shm_ring.c - the parts of a ring that run once, or seldom. */
#include "tl/shm/shm_ring.h"

size_t shm_ring_bytes(const shm_geometry_t *geometry, size_t page)
{
    size_t bytes = SHM_RING_CONTROL + (size_t)geometry->slots * sizeof(shm_slot_t) +
                   (size_t)geometry->chunks * geometry->stride;
    return (bytes + page - 1) / page * page;
}

uint32_t shm_ring_stride(uint32_t packet_max)
{
    return shm_align64(packet_max + 2 * (SHM_LINE - 1)); /* header and payload may each end early in a line */
}

static uint32_t lines_of_area(const shm_geometry_t *geometry, bool small)
{
    return small ? SHM_SMALL_LINES : geometry->chunks * (geometry->stride / SHM_LINE);
}

/* Half of a small area: it fits, whatever of the rest has to be skipped. */
static uint32_t lines_of_whole(const shm_geometry_t *geometry, bool small)
{
    return small ? SHM_SMALL_LINES / 2 : geometry->stride / SHM_LINE;
}

static void rx_lay_out(shm_rx_t *rx, bool small)
{
    uint32_t slots = small ? SHM_SMALL_SLOTS : rx->full_slots;
    rx->small = small;
    rx->geometry.slots = slots;
    rx->mask = slots - 1;
    rx->data = (uint8_t *)(rx->slots + slots);
    rx->data_at = 0;
    rx->lines = lines_of_area(&rx->geometry, small);
    rx->whole = lines_of_whole(&rx->geometry, small);
    rx->quarter = slots / 4 < SHM_QUARTER_MAX ? slots / 4 : SHM_QUARTER_MAX;
    rx->data_quarter = small ? 1 : rx->lines / 4;
    rx->due = rx->published + rx->quarter;
}

void shm_rx_create(shm_rx_t *rx, void *memory, const shm_geometry_t *geometry, bool small, bool light)
{
    shm_ring_control_t *control = memory;
    control->magic = SHM_RING_MAGIC;
    control->version = SHM_RING_VERSION;
    control->geometry = *geometry;
    control->small = small;
    uint8_t *slots = (uint8_t *)memory + SHM_RING_CONTROL;
    *rx = (shm_rx_t){.control = control,
                     .slots = (shm_slot_t *)(void *)slots,
                     .geometry = *geometry,
                     .full_slots = geometry->slots,
                     .light = light};
    rx_lay_out(rx, small);
}

void shm_rx_grow(shm_rx_t *rx)
{
    rx_lay_out(rx, false);
    uint64_t old = shm_slot_word(rx->position + 1, 0, 0, SHM_INLINE); /* GROW's own tag: of a frame that was (R3) */
    for (uint32_t i = 0; i < rx->geometry.slots; i++)
        atomic_set_relaxed(&rx->slots[i].word, old);
    /* The producer touches none of it before it has seen the `consumed` that follows (release in shm_rx_publish). */
    atomic_set_relaxed(&rx->control->grown, 1);
}

bool shm_rx_find_part(const shm_rx_t *rx, shm_frame_t *frame)
{
    bool last = frame->kind == SHM_LAST;
    uint32_t lines = shm_align64(frame->payload_bytes) / SHM_LINE;
    if (!rx->small || (frame->kind != SHM_PART && !last) || frame->header_bytes > (last ? SHM_HEADER_MAX : 0) ||
        lines == 0 || lines > rx->lines - rx->data_at)
        return false;
    frame->lines = lines;
    frame->data_at = shm_line_behind(rx->lines, rx->data_at, lines);
    frame->header = NULL;
    frame->payload = rx->data + (size_t)rx->data_at * SHM_LINE;
    return true;
}

static void tx_lay_out(shm_tx_t *tx, bool small)
{
    uint32_t slots = small ? SHM_SMALL_SLOTS : tx->full_slots;
    tx->small = small;
    tx->geometry.slots = slots;
    tx->mask = slots - 1;
    tx->data = (uint8_t *)(tx->slots + slots);
    tx->data_at = 0;
    tx->lines = lines_of_area(&tx->geometry, small);
    tx->whole = lines_of_whole(&tx->geometry, small);
}

bool shm_tx_answer(shm_tx_t *tx)
{
    /* Acquire in shm_tx_refresh came before. A consumer that lies has its own memory written to. */
    if (atomic_get_relaxed(&tx->control->grown) == 0)
        return false;
    tx_lay_out(tx, false);
    return true;
}

vbn_status_t shm_tx_attach(shm_tx_t *tx, void *memory, size_t bytes, uint32_t stride_min, bool light)
{
    if (bytes < sizeof(shm_ring_control_t))
        return err_set(VBN_ERR_PROTOCOL, "ring memory of %zu bytes has no room for its control page", bytes);
    shm_ring_control_t copy; /* the owner can write while we check */
    memcpy(&copy, memory, sizeof(copy));
    const shm_geometry_t *g = &copy.geometry;
    if (copy.magic != SHM_RING_MAGIC || copy.version != SHM_RING_VERSION)
        return err_set(VBN_ERR_PROTOCOL, "ring memory has magic 0x%x version %u, expected 0x%x version %u", copy.magic,
                       copy.version, SHM_RING_MAGIC, SHM_RING_VERSION);
    if (g->slots < SHM_SLOTS_MIN || g->slots > SHM_SLOTS_MAX || (g->slots & (g->slots - 1)) != 0)
        return err_set(VBN_ERR_PROTOCOL, "ring memory has %u slots", g->slots);
    if (g->chunks < SHM_CHUNKS_MIN || g->chunks > SHM_CHUNKS_MAX || g->stride < stride_min ||
        g->stride > SHM_STRIDE_MAX || g->stride % 64 != 0)
        return err_set(VBN_ERR_PROTOCOL, "ring memory has %u chunks of %u bytes, need chunks of %u", g->chunks,
                       g->stride, stride_min);
    if (shm_ring_bytes(g, 1) > bytes || copy.small > 1 || (copy.small == 1 && shm_ring_bytes(g, 1) <= SHM_SMALL_BYTES))
        return err_set(VBN_ERR_PROTOCOL, "ring memory has %zu bytes, its own geometry needs %zu%s", bytes,
                       shm_ring_bytes(g, 1), copy.small != 0 ? " and begins small" : "");
    uint8_t *slots = (uint8_t *)memory + SHM_RING_CONTROL;
    *tx = (shm_tx_t){.control = memory,
                     .slots = (shm_slot_t *)(void *)slots,
                     .geometry = *g,
                     .full_slots = g->slots,
                     .light = light};
    tx_lay_out(tx, copy.small == 1);
    return VBN_OK;
}

vbn_status_t shm_tx_refresh(shm_tx_t *tx)
{
    /* Acquire pairs with the release in shm_rx_publish: the consumer has done with these slots; seq_cst pairs with
     * its seq_cst store when we set waiting before. */
    uint64_t value = atomic_get_seq(&tx->control->consumed);
    uint32_t consumed = (uint32_t)value;
    uint32_t data_consumed = (uint32_t)(value >> 32);
    if (tx->position - consumed > tx->position - tx->consumed ||
        tx->data_position - data_consumed > tx->data_position - tx->data_consumed)
        return err_set(VBN_ERR_PROTOCOL, "peer says it consumed packet %u, we sent up to %u", consumed, tx->position);
    tx->consumed = consumed;
    tx->data_consumed = data_consumed;
    return VBN_OK;
}
