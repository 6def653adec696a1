/* SPDX-License-Identifier: Apache-2.0
 * harness.c - see harness.h. */
#include "harness.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/os.h"
#include "tl/claim.h"
#include "tl/shm/shm_private.h"

#define DRIVE_NS (100u * UINT64_C(1000000000))
#define PARTS_MAX 8u

struct side {
    const tl_ops_t *ops;
    tl_iface_t *iface;
    mem_registry_t *memory;
    settings_t settings;
    counters_t counters;
    log_sink_t log;
    bool trust_accepted;
    void *sink;
    unsigned lane_count;
    lane_t lanes[HARNESS_LANES];
    uint8_t scratch[(1u << 20) + 4096];
};

static uint8_t pattern(uint32_t number, uint32_t at)
{
    return (uint8_t)(number * 131u + at * 7u + (at >> 8));
}

static lane_t *new_lane(side_t *side, void *ep)
{
    if (side->lane_count == HARNESS_LANES) {
        fprintf(stderr, "harness: more than %d lanes\n", HARNESS_LANES);
        abort();
    }
    lane_t *lane = &side->lanes[side->lane_count++];
    *lane = (lane_t){.side = side, .ep = ep};
    return lane;
}

static void on_accepted(void *arg, tl_ep_t *ep)
{
    side_t *side = arg;
    lane_t *lane = new_lane(side, ep);
    lane->accepted = true;
    ep->owner = lane;
    if (side->trust_accepted)
        (void)side->ops->trust(ep);
}

static void on_ready(tl_ep_t *ep)
{
    lane_t *lane = ep->owner;
    lane->ready = true;
    lane->readies++;
}

static void on_rx(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes)
{
    lane_t *lane = ep->owner;
    uint32_t head[4] = {0};
    memcpy(head, header, header_bytes < sizeof(head) ? header_bytes : sizeof(head));
    bool right = header_bytes == HARNESS_HEADER && head[0] == lane->next_rx && head[1] == payload_bytes;
    const uint8_t *bytes = payload;
    for (uint32_t i = 0; right && i < payload_bytes; i++)
        right = bytes[i] == pattern(head[0], i);
    lane->wrong += !right;
    lane->next_rx++;
    lane->rx_bytes += payload_bytes;
    if (payload_bytes > 0 && payload == lane->side->sink)
        lane->sunk++;
}

static void *on_sink(tl_ep_t *ep, const void *header, uint32_t header_bytes, uint32_t payload_bytes)
{
    (void)header;
    (void)header_bytes;
    (void)payload_bytes;
    return ((lane_t *)ep->owner)->side->sink;
}

static void on_tx_done(tl_ep_t *ep, void *cookie, vbn_status_t status)
{
    (void)cookie;
    (void)status;
    ((lane_t *)ep->owner)->wrong++; /* these transports always copy */
}

static void on_tx_ready(tl_ep_t *ep)
{
    ((lane_t *)ep->owner)->tx_readies++;
}

static void on_error(tl_ep_t *ep, vbn_status_t status, const char *text)
{
    lane_t *lane = ep->owner;
    lane->errors++;
    lane->status = status;
    snprintf(lane->text, sizeof(lane->text), "%s", text);
    lane_disconnect(lane);
}

static vbn_status_t apply(settings_t *settings, const char *text)
{
    char copy[1024];
    char *rest = NULL;
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *item = strtok_r(copy, " ", &rest); item != NULL; item = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(item, '=');
        if (equals == NULL)
            return err_set(VBN_ERR_INVALID, "harness setting %s", item);
        *equals = '\0';
        vbn_status_t status = settings_set(settings, item, equals + 1);
        if (status != VBN_OK)
            return status;
    }
    return VBN_OK;
}

side_t *side_open(const char *transport, const char *settings, uint64_t uid)
{
    side_t *side = calloc(1, sizeof(*side));
    if (side == NULL)
        abort();
    side->ops = strcmp(transport, "self") == 0 ? &tl_self_ops : &tl_shm_ops;
    side->trust_accepted = true;
    side->log.level = VBN_LOG_ERROR;
    settings_defaults(&side->settings);
    vbn_status_t status = settings == NULL ? VBN_OK : apply(&side->settings, settings);
    if (status == VBN_OK)
        status = mem_registry_open(&side->log, &side->counters, &side->memory);
    if (status == VBN_OK) {
        tl_params_t params = {.settings = &side->settings,
                              .log = &side->log,
                              .counters = &side->counters,
                              .memory = side->memory,
                              .worker_uid = uid,
                              .upcalls = {.arg = side,
                                          .accepted = on_accepted,
                                          .ready = on_ready,
                                          .rx = on_rx,
                                          .sink = on_sink,
                                          .tx_done = on_tx_done,
                                          .tx_ready = on_tx_ready,
                                          .ep_error = on_error}};
        status = side->ops->open(&params, &side->iface);
    }
    if (status == VBN_OK)
        return side;
    if (side->memory != NULL)
        (void)mem_registry_close(side->memory);
    free(side);
    return NULL;
}

void side_close(side_t *side)
{
    side->ops->close(side->iface);
    if (mem_registry_close(side->memory) != VBN_OK) {
        fprintf(stderr, "harness: %s\n", err_text());
        abort();
    }
    free(side);
}

unsigned side_progress(side_t *side)
{
    return side->ops->progress(side->iface);
}

vbn_status_t side_arm(side_t *side)
{
    return side->ops->arm(side->iface);
}

int side_fd(side_t *side)
{
    return side->ops->event_fd(side->iface);
}

size_t side_address(side_t *side, uint8_t address[256])
{
    size_t length = 256;
    return side->ops->address(side->iface, address, &length) == VBN_OK ? length : 0;
}

vbn_status_t side_reachable(side_t *side, const uint8_t *address, size_t length, char reason[256])
{
    return side->ops->reachable(side->iface, address, length, reason, 256);
}

lane_t *side_lane(side_t *side, unsigned index)
{
    return index < side->lane_count ? &side->lanes[index] : NULL;
}

unsigned side_lane_count(side_t *side)
{
    return side->lane_count;
}

void side_set_trust(side_t *side, bool trust_accepted)
{
    side->trust_accepted = trust_accepted;
}

void side_set_sink(side_t *side, void *place)
{
    side->sink = place;
}

uint64_t side_counter(side_t *side, const char *name)
{
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        if (strcmp(counter_name((counter_id_t)i), name) == 0)
            return atomic_get_relaxed(&side->counters.values[i]);
    return UINT64_MAX;
}

uint32_t side_packet_max(side_t *side)
{
    return side->ops->caps(side->iface)->packet_max;
}

unsigned side_hot_rings(side_t *side)
{
    return ((const shm_iface_t *)side->iface)->hot;
}

bool lane_hot(const lane_t *lane)
{
    const shm_ep_t *ep = lane->ep;
    return ep->in_rings && ep->ring_at < ((const shm_iface_t *)lane->side->iface)->hot;
}

bool lane_light(const lane_t *lane)
{
    return ((const shm_ep_t *)lane->ep)->rx.light;
}

bool lane_fenced(const lane_t *lane)
{
    return ((const shm_ep_t *)lane->ep)->rx.fenced;
}

void side_write_bell(side_t *side, uint64_t value)
{
    shm_bell_t *bell = ((shm_iface_t *)side->iface)->bell;
    for (unsigned i = 0; i < SHM_BELL_WORDS; i++)
        atomic_set_relaxed(&bell->words[i], value);
}

struct mem_registry *side_memory(side_t *side)
{
    return side->memory;
}

lane_t *lane_connect(side_t *side, const uint8_t *address, size_t length, bool trust)
{
    tl_ep_t *ep = NULL;
    lane_t *lane = new_lane(side, NULL);
    if (side->ops->connect(side->iface, address, length, lane, &ep) != VBN_OK) {
        side->lane_count--;
        return NULL;
    }
    lane->ep = ep;
    if (trust)
        (void)side->ops->trust(ep);
    return lane;
}

vbn_status_t lane_trust(lane_t *lane)
{
    return lane->side->ops->trust(lane->ep);
}

vbn_status_t lane_send(lane_t *lane, uint32_t payload_bytes, uint32_t parts)
{
    uint8_t *bytes = lane->side->scratch;
    struct iovec iov[PARTS_MAX];
    if (lane->ep == NULL || parts == 0 || parts > PARTS_MAX)
        return VBN_ERR_INVALID;
    for (uint32_t i = 0; i < payload_bytes; i++)
        bytes[i] = pattern(lane->next_tx, i);
    uint32_t at = 0;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t part = i + 1 == parts ? payload_bytes - at : payload_bytes / parts;
        iov[i] = (struct iovec){bytes + at, part};
        at += part;
    }
    uint32_t head[4] = {lane->next_tx, payload_bytes, 0, 0};
    tl_packet_t packet = {
        .header = head, .header_bytes = sizeof(head), .payload_bytes = payload_bytes, .iov = iov, .iov_count = parts};
    vbn_status_t status = lane->side->ops->send(lane->ep, &packet);
    if (status == VBN_OK)
        lane->next_tx++;
    return status;
}

void lane_disconnect(lane_t *lane)
{
    if (lane->ep != NULL)
        lane->side->ops->disconnect(lane->ep, VBN_CLOSE_FLUSH, 1000000000u);
    lane->ep = NULL;
}

int lane_socket(lane_t *lane)
{
    return ((shm_ep_t *)lane->ep)->fd;
}

size_t lane_mapped(const lane_t *lane)
{
    return ((const shm_ep_t *)lane->ep)->rx_bytes;
}

size_t lane_memory(const lane_t *lane)
{
    const shm_ep_t *ep = lane->ep;
    size_t page = os_page_bytes(), bytes = 0;
    unsigned char *there = calloc(ep->rx_bytes / page, 1);
    if (there == NULL || mincore(ep->rx.control, ep->rx_bytes, there) != 0)
        abort();
    for (size_t i = 0; i < ep->rx_bytes / page; i++)
        bytes += (there[i] & 1) != 0 ? page : 0;
    free(there);
    return bytes;
}

bool lane_small(const lane_t *lane)
{
    return ((const shm_ep_t *)lane->ep)->tx.small;
}

bool lane_growing(const lane_t *lane)
{
    return ((const shm_ep_t *)lane->ep)->growing;
}

void lane_ask_growth(lane_t *lane)
{
    ((shm_ep_t *)lane->ep)->earn = 0;
}

void lane_put_frame(lane_t *lane, unsigned kind, uint32_t header_bytes, uint32_t payload_bytes)
{
    shm_tx_publish(&((shm_ep_t *)lane->ep)->tx, header_bytes, payload_bytes, kind);
}

bool lane_grow(lane_t *lane, side_t *a, side_t *b)
{
    uint64_t limit = os_now_ns() + DRIVE_NS;
    while (lane_small(lane) && os_now_ns() < limit) {
        (void)lane_send(lane, 8, 1);
        drive(a, b, 1);
    }
    drive(a, b, 10);
    return !lane_small(lane);
}

void side_let_grow(side_t *side, bool let)
{
    ((shm_iface_t *)side->iface)->ring_memory += let ? 0 - SIZE_MAX / 4 : SIZE_MAX / 4;
}

void lane_corrupt_tx_slot(lane_t *lane, uint64_t word)
{
    shm_tx_t *tx = &((shm_ep_t *)lane->ep)->tx;
    word = (word & ~UINT64_C(0xffff)) | ((tx->position + 1) & 0xffff); /* else it would look empty */
    atomic_set_release(&tx->slots[tx->position & (tx->geometry.slots - 1)].word, word);
}

void lane_corrupt_consumed(lane_t *lane, uint64_t value)
{
    atomic_set_release(&((shm_ep_t *)lane->ep)->rx.control->consumed, value);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

void lane_corrupt_all_rings(lane_t *lane, uint32_t seed)
{
    shm_ep_t *ep = lane->ep;
    uint8_t *maps[2] = {(uint8_t *)ep->tx.control, (uint8_t *)ep->rx.control};
    size_t bytes[2] = {ep->tx_bytes, ep->rx_bytes};
    for (unsigned m = 0; m < 2; m++)
        for (size_t i = 0; i < bytes[m]; i++)
            maps[m][i] = (uint8_t)next_random(&seed);
    /* Right tags, so that the nonsense is looked at. */
    for (uint32_t i = 0; i < ep->tx.geometry.slots; i++) {
        uint32_t position = ep->tx.position + i;
        uint64_t word = (uint64_t)next_random(&seed) << 40 | (uint64_t)next_random(&seed) << 16;
        word = (word & UINT64_C(0x003fffffffff0000)) | ((position + 1) & 0xffff);
        atomic_set_release(&ep->tx.slots[position & (ep->tx.geometry.slots - 1)].word, word);
    }
}

static void on_imported(void *arg, vbn_status_t status, mem_import_t *import)
{
    imported_t *result = arg;
    result->calls++;
    result->status = status;
    result->handle = import;
    result->address = import != NULL ? mem_import_address(import) : NULL;
}

vbn_status_t lane_import(lane_t *lane, const void *key, size_t length, imported_t *result)
{
    mem_key_info_t info;
    vbn_status_t status = mem_key_decode(key, length, &info);
    return status != VBN_OK ? status : lane->side->ops->import(lane->ep, &info, on_imported, result);
}

void imported_release(imported_t *result)
{
    if (result->handle != NULL)
        mem_import_release(result->handle);
    result->handle = NULL;
}

static tl_direct_t direct_of(lane_t *lane)
{
    tl_direct_t direct = {0};
    if (lane->side->ops->direct == NULL || !lane->side->ops->direct(lane->ep, &direct))
        abort();
    return direct;
}

bool lane_copies(lane_t *lane)
{
    return direct_of(lane).copies;
}

vbn_status_t lane_copy(lane_t *lane, bool write, void *local, const void *remote, size_t length)
{
    return lane->side->ops->copy(lane->ep, write, local, (uint64_t)(uintptr_t)remote, length);
}

bool lane_present(lane_t *lane)
{
    return lane->side->ops->present(lane->ep);
}

void lane_claim_open(lane_t *lane, unsigned slot, uint32_t tag)
{
    tl_direct_t direct = direct_of(lane);
    *direct.used |= 1u << slot;
    claim_open(&direct.ours[slot], tag);
}

uint32_t lane_claim_back(lane_t *lane, unsigned slot, uint32_t tag, uint32_t total)
{
    return claim_back(&direct_of(lane).theirs[slot], tag, total);
}

void lane_lend(lane_t *lane)
{
    *direct_of(lane).lent = true;
}

bool lane_enter(lane_t *lane)
{
    tl_direct_t direct = direct_of(lane);
    return guard_enter(&direct.guard);
}

void lane_leave(lane_t *lane)
{
    tl_direct_t direct = direct_of(lane);
    guard_leave(&direct.guard);
}

bool lane_settled(lane_t *lane)
{
    return tl_shm_ops.settled(lane->ep);
}

void lane_claim_release(lane_t *lane, unsigned slot, uint32_t tag)
{
    (void)claim_release(&direct_of(lane).theirs[slot], tag, 1000);
}

bool drive_until(side_t *a, side_t *b, const unsigned *counter, unsigned value)
{
    uint64_t limit = os_now_ns() + DRIVE_NS;
    while (*counter < value && os_now_ns() < limit) {
        drive(a, b, 1);
        if (b == NULL)
            (void)sched_yield(); /* the other side is a process, and may want this processor */
    }
    return *counter >= value;
}

bool drive_rx(side_t *a, side_t *b, const lane_t *lane, uint32_t packets)
{
    return drive_until(a, b, &lane->next_rx, packets);
}

void drive(side_t *a, side_t *b, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        (void)side_progress(a);
        if (b != NULL)
            (void)side_progress(b);
    }
}

bool drive_lanes(side_t *side, side_t *other, unsigned lanes)
{
    return drive_until(side, other, &side->lane_count, lanes);
}
