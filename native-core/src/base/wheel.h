/* SPDX-License-Identifier: Apache-2.0
 * wheel.h - hierarchical-free hashed timing wheel, 1 ms ticks, 1,024 slots. One thread. The clock is passed in. */
#ifndef VBN_BASE_WHEEL_H
#define VBN_BASE_WHEEL_H

#include "base/list.h"
#include "base/status.h"

#define WHEEL_SLOTS 1024u

typedef struct wheel_timer {
    list_link_t link;
    uint64_t due_ms;
    void (*func)(struct wheel_timer *timer);
} wheel_timer_t;

typedef struct wheel {
    list_link_t slots[WHEEL_SLOTS];
    uint64_t now_ms;
    size_t count;
} wheel_t;

void wheel_init(wheel_t *wheel, uint64_t now_ns);
/* Arms (or re-arms) a timer; zero-initialise a timer's memory and call wheel_timer_init once before. */
void wheel_timer_init(wheel_timer_t *timer, void (*func)(wheel_timer_t *timer));
void wheel_add(wheel_t *wheel, wheel_timer_t *timer, uint64_t delay_ms);
void wheel_cancel(wheel_t *wheel, wheel_timer_t *timer);
/* Runs what is due; returns how many ran. Timers may be added or cancelled from within. A clock that goes backwards
 * is treated as standing still. */
unsigned wheel_advance(wheel_t *wheel, uint64_t now_ns);
/* Milliseconds until the next timer, or -1 when there is none (for poll). */
int wheel_next_ms(const wheel_t *wheel);

#endif
