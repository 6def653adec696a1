/* SPDX-License-Identifier: Apache-2.0
 * gate.c - see gate.h.
 */
#include "win/gate.h"

#include <stdatomic.h>

#define WRITER (UINT32_C(1) << 31)
#define EXPOSED (UINT32_C(1) << 30)
#define QUEUE (UINT32_C(1) << 29)
#define READERS (QUEUE - 1)

static int is_free_for(uint32_t word, int exclusive)
{
    return exclusive ? (word & (WRITER | READERS)) == 0 : (word & WRITER) == 0;
}

static uint32_t with(uint32_t word, int exclusive)
{
    return exclusive ? word | WRITER : word + 1;
}

win_pass_t win_gate_enter(win_gate_t *gate, int exclusive, int promised)
{
    uint32_t word = atomic_load_explicit(gate, memory_order_relaxed);
    for (;;) {
        const int may_pass = (word & QUEUE) == 0 || (promised && (word & READERS) > 0);
        if ((word & EXPOSED) != 0)
            return WIN_PASS_EXPOSED;
        if (!may_pass || !is_free_for(word, exclusive))
            return WIN_PASS_WAIT;
        /* acquire: what the holder before has written is seen */
        if (atomic_compare_exchange_weak_explicit(gate, &word, with(word, exclusive), memory_order_acquire,
                                                  memory_order_relaxed))
            return WIN_PASS_GOT;
    }
}

int win_gate_leave(win_gate_t *gate, int exclusive)
{
    /* release: pairs with the acquire of the next holder */
    const uint32_t before = exclusive ? atomic_fetch_and_explicit(gate, ~WRITER, memory_order_acq_rel)
                                      : atomic_fetch_sub_explicit(gate, 1, memory_order_acq_rel);
    return (before & QUEUE) != 0 && (exclusive || (before & READERS) == 1);
}

int win_gate_grant(win_gate_t *gate, int exclusive)
{
    uint32_t word = atomic_load_explicit(gate, memory_order_relaxed);
    while (is_free_for(word, exclusive))
        if (atomic_compare_exchange_weak_explicit(gate, &word, with(word, exclusive), memory_order_acquire,
                                                  memory_order_relaxed))
            return 1;
    return 0;
}

static void mark(win_gate_t *gate, uint32_t bit, int is_set)
{
    if (is_set)
        (void)atomic_fetch_or_explicit(gate, bit, memory_order_acq_rel);
    else
        (void)atomic_fetch_and_explicit(gate, ~bit, memory_order_acq_rel);
}

void win_gate_queue(win_gate_t *gate, int waits)
{
    mark(gate, QUEUE, waits);
}

void win_gate_expose(win_gate_t *gate, int is_exposed)
{
    mark(gate, EXPOSED, is_exposed);
}

int win_gate_is_exclusive(const win_gate_t *gate)
{
    return (atomic_load_explicit(gate, memory_order_relaxed) & WRITER) != 0;
}
