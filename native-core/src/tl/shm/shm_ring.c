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

void shm_rx_create(shm_rx_t *rx, void *memory, const shm_geometry_t *geometry, bool light)
{
    shm_ring_control_t *control = memory;
    control->magic = SHM_RING_MAGIC;
    control->version = SHM_RING_VERSION;
    control->geometry = *geometry;
    uint8_t *slots = (uint8_t *)memory + SHM_RING_CONTROL;
    uint32_t quarter = geometry->slots / 4 < SHM_QUARTER_MAX ? geometry->slots / 4 : SHM_QUARTER_MAX;
    *rx = (shm_rx_t){.control = control,
                     .slots = (shm_slot_t *)(void *)slots,
                     .data = slots + (size_t)geometry->slots * sizeof(shm_slot_t),
                     .lines = geometry->chunks * (geometry->stride / SHM_LINE),
                     .geometry = *geometry,
                     .mask = geometry->slots - 1,
                     .quarter = quarter,
                     .due = quarter,
                     .light = light};
}

vbn_status_t shm_tx_attach(shm_tx_t *tx, void *memory, size_t bytes, uint32_t stride_min, bool light)
{
    if (bytes < sizeof(shm_ring_control_t))
        return err_set(VBN_ERR_PROTOCOL, "ring memory of %zu bytes has no room for its control page", bytes);
    shm_ring_control_t copy; /* the owner can write while we check */
    memcpy(&copy, memory, sizeof(copy));
    const shm_geometry_t *g = &copy.geometry;
    if (copy.magic != SHM_RING_MAGIC || copy.version != SHM_RING_VERSION)
        return err_set(VBN_ERR_PROTOCOL, "ring memory has magic 0x%x version %u, expected 0x%x version %u",
                       copy.magic, copy.version, SHM_RING_MAGIC, SHM_RING_VERSION);
    if (g->slots < SHM_SLOTS_MIN || g->slots > SHM_SLOTS_MAX || (g->slots & (g->slots - 1)) != 0)
        return err_set(VBN_ERR_PROTOCOL, "ring memory has %u slots", g->slots);
    if (g->chunks < SHM_CHUNKS_MIN || g->chunks > SHM_CHUNKS_MAX || g->stride < stride_min ||
        g->stride > SHM_STRIDE_MAX || g->stride % 64 != 0)
        return err_set(VBN_ERR_PROTOCOL, "ring memory has %u chunks of %u bytes, need chunks of %u", g->chunks,
                       g->stride, stride_min);
    if (shm_ring_bytes(g, 1) > bytes)
        return err_set(VBN_ERR_PROTOCOL, "ring memory has %zu bytes, its own geometry needs %zu", bytes,
                       shm_ring_bytes(g, 1));
    uint8_t *slots = (uint8_t *)memory + SHM_RING_CONTROL;
    *tx = (shm_tx_t){.control = memory,
                     .slots = (shm_slot_t *)(void *)slots,
                     .data = slots + (size_t)g->slots * sizeof(shm_slot_t),
                     .lines = g->chunks * (g->stride / SHM_LINE),
                     .geometry = *g,
                     .mask = g->slots - 1,
                     .light = light};
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
