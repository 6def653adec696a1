/* SPDX-License-Identifier: Apache-2.0
 * steps.c - moves bytes from one process to the other: words, a ring, the kernel.
 */
#include "bare.h"

#include <sched.h>
#include <string.h>
#include <sys/uio.h>

#define PATIENCE 16384u /* looks before a process that may share its processor yields */

static void await(count_t *count, uint64_t value)
{
    for (unsigned looks = 1; atomic_load_explicit(&count->value, memory_order_acquire) < value; looks++)
        if (looks % PATIENCE == 0)
            sched_yield();
}

static uint64_t of(count_t *count)
{
    return atomic_load_explicit(&count->value, memory_order_relaxed);
}

/* The only writer of the count. */
static void add(count_t *count)
{
    atomic_store_explicit(&count->value, of(count) + 1, memory_order_release);
}

void bare_say(void)
{
    add(&bare.meeting->said[bare.rank]);
}

void bare_hear(void)
{
    static uint64_t heard;
    await(&bare.meeting->said[bare.other], ++heard);
}

static void write_lines(char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE)
        *(volatile char *)(memory + at) = memory[at];
}

double bare_rounds(round_fn round, char *out, size_t bytes, int rounds, reuse_t reuse, size_t *at_p)
{
    bare_say();
    bare_hear();
    const double start = seconds_now();
    for (int i = 0; i < rounds; i++) {
        *at_p = reuse == FRESH ? (size_t)i * bytes % SPAN : 0;
        if (reuse == WRITTEN)
            write_lines(out, bytes);
        round(*at_p, bytes);
    }
    const double took = seconds_now() - start;
    bare_say();
    bare_hear();
    return took / rounds;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Rings are empty between two loops, so that counts of pieces of another size do not matter: only their differences do. */
static void put_one(const char *from, size_t bytes, size_t piece)
{
    const size_t cells = RING_BYTES / piece;
    const uint64_t number = of(&bare.meeting->put[bare.rank]);
    if (number >= cells)
        await(&bare.meeting->taken[bare.other], number - cells + 1);
    memcpy(bare.ring[bare.rank] + number % cells * piece, from, bytes);
    add(&bare.meeting->put[bare.rank]);
}

static void take_one(size_t at, size_t bytes, size_t piece, ring_use_fn use, void *arg)
{
    const size_t cells = RING_BYTES / piece;
    const uint64_t number = of(&bare.meeting->taken[bare.rank]);
    await(&bare.meeting->put[bare.other], number + 1);
    use(arg, at, bare.ring[bare.other] + number % cells * piece, bytes);
    add(&bare.meeting->taken[bare.rank]);
}

void ring_put(const char *from, size_t bytes, size_t piece)
{
    for (size_t at = 0; at < bytes; at += piece)
        put_one(from + at, least(piece, bytes - at), piece);
}

void ring_take(size_t bytes, size_t piece, ring_use_fn use, void *arg)
{
    for (size_t at = 0; at < bytes; at += piece)
        take_one(at, least(piece, bytes - at), piece, use, arg);
}

void ring_swap(const char *from, size_t bytes, size_t piece, ring_use_fn use, void *arg)
{
    for (size_t at = 0; at < bytes; at += piece) {
        put_one(from + at, least(piece, bytes - at), piece);
        take_one(at, least(piece, bytes - at), piece, use, arg);
    }
}

static void check(ssize_t done, size_t bytes)
{
    if (done != (ssize_t)bytes)
        bench_fail("kernel copy", "the system refuses process_vm_readv or process_vm_writev");
}

void kernel_read(char *to, const char *theirs, size_t bytes)
{
    const struct iovec here = {to, bytes};
    const struct iovec there = {(void *)(uintptr_t)theirs, bytes};
    check(process_vm_readv(bare.meeting->pids[bare.other], &here, 1, &there, 1, 0), bytes);
}

void kernel_write(const char *from, char *theirs, size_t bytes)
{
    const struct iovec here = {(void *)(uintptr_t)from, bytes};
    const struct iovec there = {theirs, bytes};
    check(process_vm_writev(bare.meeting->pids[bare.other], &here, 1, &there, 1, 0), bytes);
}
