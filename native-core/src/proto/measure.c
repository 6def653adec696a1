/* SPDX-License-Identifier: Apache-2.0
 * measure.c - what a copied or compressed byte, a cache line between cores and a system call take here. Each is the least of
 * several tries: what disturbs a measurement only makes it longer. */
#include "proto/measure.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/os.h"
#include "proto/stage.h"

#define BATCH 16u

/* Bounds of what can be true; what lies beyond was disturbed. */
static uint32_t bounded(uint64_t value, uint32_t least, uint32_t most)
{
    return value < least ? least : value > most ? most : (uint32_t)value;
}

static void measure_copy(model_host_t *host, measure_steps_t *steps)
{
    uint8_t *memory = malloc(2 * (size_t)MEASURE_COPY_BYTES);
    uint64_t least = UINT64_MAX;
    if (memory == NULL)
        return;
    memset(memory, 1, 2 * (size_t)MEASURE_COPY_BYTES); /* pages are there */
    for (; steps->copies < MEASURE_COPIES; steps->copies++) {
        uint64_t start = os_now_ns();
        memcpy(memory, memory + MEASURE_COPY_BYTES, MEASURE_COPY_BYTES);
        __asm__ __volatile__("" : : "r"(memory) : "memory"); /* the copy is not left out */
        uint64_t took = os_now_ns() - start;
        least = took < least ? took : least;
    }
    free(memory);
    host->copy_ps = bounded(least * 1000 / MEASURE_COPY_BYTES, 10, 2000);
}

/* Numbered rows of text: what a table looks like, half of it repeats. */
static void write_rows(uint8_t *to, size_t bytes)
{
    static const char ROW[] = "|0000000|verbena|";
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)ROW[i % (sizeof(ROW) - 1)];
    for (size_t row = 0; (row + 1) * (sizeof(ROW) - 1) <= bytes; row++)
        for (unsigned digit = 0; digit < 7; digit++)
            to[row * (sizeof(ROW) - 1) + 1 + digit] = (uint8_t)('0' + (row * 2654435761u >> 4 * digit) % 10);
}

static void measure_pack(model_host_t *host, measure_steps_t *steps)
{
    uint8_t *memory = malloc(2 * (size_t)STAGE_CHUNK);
    uint64_t least = UINT64_MAX;
    if (memory == NULL)
        return;
    write_rows(memory, STAGE_CHUNK);
    for (stage_box_t box = {0}; steps->packs < MEASURE_PACKS; steps->packs++) {
        uint64_t start = os_now_ns();
        (void)stage_pack(&box, STAGE_FORM_LZ4, memory, STAGE_CHUNK, memory + STAGE_CHUNK);
        uint64_t took = os_now_ns() - start;
        least = took < least ? took : least;
    }
    free(memory);
    host->pack_ps = bounded(least * 1000 / STAGE_CHUNK, 100, 50000);
}

static void measure_call(model_host_t *host, measure_steps_t *steps)
{
    uint64_t least = UINT64_MAX;
    while (steps->calls < MEASURE_CALLS) {
        uint64_t start = os_now_ns();
        for (unsigned i = 0; i < BATCH; i++, steps->calls++)
            (void)syscall(SYS_getppid);
        uint64_t took = (os_now_ns() - start) / BATCH;
        least = took < least ? took : least;
    }
    host->syscall_ns = bounded(least, 20, 5000);
}

/* A line that two threads hand to each other: even values are this side's turn. Each word has a line of its own wherever
 * the court lies: gcc 12 aligns variables on the stack that AddressSanitizer checks for use after return to 32 bytes only. */
typedef struct court {
    uint8_t before[CACHE_LINE];
    _Atomic uint32_t ball;
    uint8_t between[CACHE_LINE];
    _Atomic uint32_t over;
    uint8_t behind[CACHE_LINE];
} court_t;

/* Waits for the value; false when the spins are used up or the game is over. The acquire pairs with the other side's
 * release of the ball. */
static bool await(court_t *court, uint32_t value, uint32_t *spins)
{
    while (atomic_get_acquire(&court->ball) != value) {
        if (*spins == 0 || atomic_get_relaxed(&court->over) != 0)
            return false;
        --*spins;
        os_cpu_relax();
    }
    return true;
}

static void *play(void *arg)
{
    court_t *court = arg;
    uint32_t spins = 64 * MEASURE_SPINS; /* ended by `over` long before */
    for (uint32_t ball = 1; ball < 2 * MEASURE_ROUNDS && await(court, ball, &spins); ball += 2)
        atomic_set_release(&court->ball, ball + 1);
    return NULL;
}

static void rally(court_t *court, model_host_t *host, measure_steps_t *steps)
{
    uint64_t least = UINT64_MAX;
    uint32_t spins = MEASURE_SPINS;
    bool going = true;
    while (going && steps->rounds < MEASURE_ROUNDS) {
        uint64_t start = os_now_ns();
        for (unsigned i = 0; i < BATCH && going; i++) {
            uint32_t ball = 2 * steps->rounds + 1;
            atomic_set_release(&court->ball, ball);
            going = await(court, ball + 1, &spins);
            steps->rounds += going;
        }
        uint64_t took = (os_now_ns() - start) / (2 * BATCH);
        if (going && took < least)
            least = took;
    }
    atomic_set_relaxed(&court->over, 1);
    steps->spins = MEASURE_SPINS - spins;
    if (least != UINT64_MAX)
        host->handover_ns = bounded(least, 10, 3000);
}

static void measure_handover(model_host_t *host, measure_steps_t *steps)
{
    court_t court = {0};
    pthread_t other;
    sigset_t all, before;
    if (os_cpu_count() < 2)
        return;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are for the program's threads */
    int error = pthread_create(&other, NULL, play, &court);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return;
    rally(&court, host, steps);
    (void)pthread_join(other, NULL);
}

void measure_host(model_host_t *host, measure_steps_t *steps_p)
{
    measure_steps_t steps = {0};
    *host = MODEL_HOST_DEFAULT;
    measure_copy(host, &steps);
    measure_pack(host, &steps);
    measure_call(host, &steps);
    measure_handover(host, &steps);
    if (steps_p != NULL)
        *steps_p = steps;
}
