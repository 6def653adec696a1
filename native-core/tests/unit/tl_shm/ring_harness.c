/* SPDX-License-Identifier: Apache-2.0
 * ring_harness.c - the ring alone: two threads in plain memory, and hostile contents. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "harness.h"
#include "tl/shm/shm_private.h"

#define LIMIT_NS (120 * UINT64_C(1000000000)) /* of one wait: on a busy machine a yield may take tenths of a second */

typedef struct job {
    shm_tx_t tx;
    uint32_t packets;
    uint32_t payload_max;
    bool failed;
} job_t;

static uint32_t length_of(uint32_t number, uint32_t payload_max)
{
    return number % 3 == 0 ? number % 64 : (number * 2654435761u >> 8) % (payload_max + 1);
}

/* Lets the other thread run. until: the end of this wait, 0 at its begin; false when it is past. */
static bool waits(uint64_t *until)
{
    uint64_t now = os_now_ns();
    if (*until == 0)
        *until = now + LIMIT_NS;
    sched_yield();
    return now <= *until;
}

static void *produce(void *arg)
{
    job_t *job = arg;
    uint8_t *payload = malloc(job->payload_max + 1);
    for (uint32_t i = 0; payload != NULL && i < job->packets; i++) {
        uint32_t bytes = length_of(i, job->payload_max);
        memset(payload, (int)(i & 0xff), bytes);
        struct iovec iov = {payload, bytes};
        uint64_t until = 0;
        vbn_status_t status;
        do
            status = shm_tx_put(&job->tx, &i, sizeof(i), &iov, 1, bytes);
        while (status == VBN_BUSY && waits(&until));
        if (status != VBN_OK) {
            job->failed = true;
            break;
        }
    }
    free(payload);
    return NULL;
}

static bool frame_right(const shm_frame_t *frame, uint32_t number, uint32_t payload_max)
{
    uint32_t head;
    if (frame->header_bytes != sizeof(head) || frame->payload_bytes != length_of(number, payload_max))
        return false;
    memcpy(&head, frame->header, sizeof(head));
    for (uint32_t i = 0; i < frame->payload_bytes; i++)
        if (frame->payload[i] != (number & 0xff))
            return false;
    return head == number;
}

static long consume(shm_rx_t *rx, const job_t *job)
{
    long wrong = 0;
    uint64_t until = 0;
    for (uint32_t i = 0; i < job->packets;) {
        shm_frame_t frame;
        int found = shm_rx_peek(rx, &frame);
        if (found < 0)
            return -1;
        if (found == 0) {
            if (shm_rx_unpublished(rx))
                (void)shm_rx_publish(rx);
            if (!waits(&until))
                return -1;
            continue;
        }
        until = 0;
        wrong += !frame_right(&frame, i++, job->payload_max);
        if (shm_rx_consume(rx, &frame))
            (void)shm_rx_publish(rx);
    }
    return wrong;
}

static void *zeroed(size_t bytes)
{
    void *memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
    if (memory == NULL)
        abort();
    memset(memory, 0, bytes);
    return memory;
}

/* As after some billions of packets: the counters wrap around soon. */
static void start_late(shm_tx_t *tx, shm_rx_t *rx)
{
    tx->data_position = tx->data_consumed = rx->data_position = rx->data_published = UINT32_MAX - 500;
    (void)shm_rx_publish(rx);
}

uint32_t ring_room(uint32_t slots, uint32_t chunks, uint32_t packet_max, uint32_t payload_bytes)
{
    static uint8_t payload[1u << 16];
    shm_geometry_t geometry = {slots, chunks, shm_ring_stride(packet_max)};
    size_t bytes = shm_ring_bytes(&geometry, 4096);
    void *memory = zeroed(bytes);
    struct iovec iov = {payload, payload_bytes};
    shm_rx_t rx;
    shm_tx_t tx;
    uint32_t count = 0;
    shm_rx_create(&rx, memory, &geometry, false, false);
    if (shm_tx_attach(&tx, memory, bytes, geometry.stride, false) == VBN_OK)
        while (shm_tx_put(&tx, payload, 40, &iov, 1, payload_bytes) == VBN_OK)
            count++;
    free(memory);
    return count;
}

long ring_two_threads(uint32_t slots, uint32_t chunks, uint32_t packets, uint32_t payload_max)
{
    shm_geometry_t geometry = {slots, chunks, shm_ring_stride(payload_max + SHM_HEADER_MAX)};
    size_t bytes = shm_ring_bytes(&geometry, 4096);
    void *memory = zeroed(bytes);
    shm_rx_t rx;
    job_t job = {.packets = packets, .payload_max = payload_max};
    shm_rx_create(&rx, memory, &geometry, false, false);
    pthread_t thread;
    long wrong = -1;
    if (shm_tx_attach(&job.tx, memory, bytes, geometry.stride, false) == VBN_OK) {
        start_late(&job.tx, &rx);
        if (pthread_create(&thread, NULL, produce, &job) != 0)
            abort();
        wrong = consume(&rx, &job);
        pthread_join(thread, NULL);
    }
    free(memory);
    return job.failed ? -1 : wrong;
}

/* ------------------------------------------------------------------------------------------- ring and bell */

typedef struct bell_job {
    shm_tx_t tx;
    shm_bell_t *bell;
    uint32_t packets;
    _Atomic uint32_t taken; /* by the consumer */
    _Atomic uint32_t total; /* by the producer, when it ends */
} bell_job_t;

/* a loaded machine passes few packets in it, but tries the race all the same */
#define ENOUGH_NS (2u * UINT64_C(1000000000))

/* Spins while the other thread runs, and lets it run when it does not. */
static void wait_a_bit(uint32_t *turns)
{
    if (++*turns % 256 == 0)
        sched_yield();
    else
        os_cpu_relax();
}

static void *produce_and_ring(void *arg)
{
    bell_job_t *job = arg;
    uint32_t turns = 0;
    uint32_t i = 0;
    uint64_t enough_ns = os_now_ns() + ENOUGH_NS;
    while (i < job->packets && os_now_ns() < enough_ns) {
        if (atomic_get_relaxed(&job->taken) !=
            i) { /* one at a time: no later packet makes up for one that was missed */
            wait_a_bit(&turns);
            continue;
        }
        for (uint32_t pause = i % 64; pause > 0; pause--) /* the race has its moment anywhere */
            os_cpu_relax();
        if (shm_tx_put(&job->tx, &i, sizeof(i), NULL, 0, 0) != VBN_OK)
            break;
        const bool asked = !job->tx.light || shm_tx_asked(&job->tx); /* src/fast looks so first */
        if (asked && (shm_tx_must_tell(&job->tx) & SHM_COLD) != 0)
            (void)shm_bell_set(job->bell, 77);
        i++;
    }
    atomic_set_relaxed(&job->total, i);
    return NULL;
}

/* Says that it polls no more; false when something has come meanwhile. With a membarrier the first time; often: each time. */
static bool make_cold(shm_rx_t *rx, bool often)
{
    if (shm_rx_unpublished(rx))
        (void)shm_rx_publish(rx);
    bool first = shm_rx_fence(rx);
    atomic_set_seq(&rx->control->tell, shm_rx_tell(rx, SHM_COLD));
    if (first)
        (void)shm_barrier();
    if (often) /* as a worker does that is kept busy in between */
        rx->fenced = false;
    if (shm_rx_empty(rx))
        return true;
    atomic_set_relaxed(&rx->control->tell, shm_rx_tell(rx, 0));
    return false;
}

static long consume_by_bell(shm_rx_t *rx, bell_job_t *job, bool often)
{
    long wrong = 0;
    uint32_t turns = 0;
    bool cold = false;
    uint64_t limit_ns = os_now_ns() + LIMIT_NS; /* of silence */
    for (uint32_t i = 0; i != atomic_get_relaxed(&job->total);) {
        shm_frame_t frame;
        if (os_now_ns() > limit_ns)
            return -1;
        if (cold && shm_bell_take(job->bell, 77 / 64) == 0) {
            wait_a_bit(&turns);
            continue;
        }
        cold = false;
        int found = shm_rx_peek(rx, &frame);
        if (found == 0) {
            cold = make_cold(rx, often);
            continue;
        }
        if (found < 0 || frame.kind != SHM_INLINE)
            return -1;
        wrong += frame.header_bytes != sizeof(i) || memcmp(frame.header, &i, sizeof(i)) != 0;
        i++;
        if (shm_rx_consume(rx, &frame))
            (void)shm_rx_publish(rx);
        atomic_set_relaxed(&job->taken, i);
        limit_ns = os_now_ns() + LIMIT_NS;
    }
    return wrong;
}

long ring_two_threads_bell(uint32_t packets, bool light, bool often)
{
    if (light && !shm_barrier_register())
        return -2;
    shm_geometry_t geometry = {8, 4, shm_ring_stride(SHM_HEADER_MAX)};
    size_t bytes = shm_ring_bytes(&geometry, 4096);
    void *memory = zeroed(bytes);
    bell_job_t job = {.bell = zeroed(sizeof(shm_bell_t)), .packets = packets, .total = UINT32_MAX};
    shm_rx_t rx;
    shm_rx_create(&rx, memory, &geometry, false, light);
    pthread_t thread;
    long wrong = -1;
    if (shm_tx_attach(&job.tx, memory, bytes, geometry.stride, light) == VBN_OK &&
        pthread_create(&thread, NULL, produce_and_ring, &job) == 0) {
        wrong = consume_by_bell(&rx, &job, often);
        pthread_join(thread, NULL);
    }
    free(memory);
    free(job.bell);
    return wrong;
}

vbn_status_t ring_attach_constants(uint32_t magic, uint32_t slots, uint32_t chunks, uint32_t stride, size_t bytes)
{
    static shm_ring_control_t control;
    control.magic = magic;
    control.version = SHM_RING_VERSION;
    control.geometry = (shm_geometry_t){slots, chunks, stride};
    shm_tx_t tx;
    return shm_tx_attach(&tx, &control, bytes, 1024, false);
}

int ring_peek_word(uint64_t word, bool *inside)
{
    shm_geometry_t geometry = {8, 4, 8576};
    size_t bytes = shm_ring_bytes(&geometry, 4096);
    uint8_t *memory = zeroed(bytes);
    shm_rx_t rx;
    shm_frame_t frame = {0};
    shm_rx_create(&rx, memory, &geometry, false, false);
    atomic_set_release(&rx.slots[0].word, word);
    int found = shm_rx_peek(&rx, &frame);
    *inside = true;
    if (found == 1 && frame.kind != SHM_KICK)
        *inside = frame.header >= memory && frame.header + frame.header_bytes <= memory + bytes &&
                  frame.payload >= memory && frame.payload + frame.payload_bytes <= memory + bytes &&
                  frame.header_bytes <= SHM_HEADER_MAX;
    free(memory);
    return found;
}

vbn_status_t ring_refresh_consumed(uint64_t sent, uint64_t consumed)
{
    static shm_ring_control_t control;
    atomic_set_release(&control.consumed, consumed);
    shm_tx_t tx = {.control = &control,
                   .geometry = {64, 32, 1024},
                   .position = (uint32_t)sent,
                   .data_position = (uint32_t)(sent >> 32)};
    return shm_tx_refresh(&tx);
}
