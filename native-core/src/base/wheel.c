/* SPDX-License-Identifier: Apache-2.0
 * wheel.c - timing wheel. A timer lies in slot due_ms % 1024 and stays there over as many laps as its delay needs. A
 * delay counts from the last wheel_advance in whole ticks, so a timer may run up to one tick early by the real clock.
 *
 * I1 count = timers in slots plus timers that the current wheel_advance has collected but not yet run.
 * I2 a timer that is not armed is a list of its own. */
#include "base/wheel.h"

#include <limits.h>

#define NS_PER_MS UINT64_C(1000000)

void wheel_init(wheel_t *wheel, uint64_t now_ns)
{
    for (unsigned i = 0; i < WHEEL_SLOTS; i++)
        list_init(&wheel->slots[i]);
    wheel->now_ms = now_ns / NS_PER_MS;
    wheel->count = 0;
}

void wheel_timer_init(wheel_timer_t *timer, void (*func)(wheel_timer_t *timer))
{
    list_init(&timer->link);
    timer->due_ms = 0;
    timer->func = func;
}

void wheel_add(wheel_t *wheel, wheel_timer_t *timer, uint64_t delay_ms)
{
    wheel_cancel(wheel, timer);
    timer->due_ms = delay_ms > UINT64_MAX - wheel->now_ms ? UINT64_MAX : wheel->now_ms + delay_ms;
    list_append(&wheel->slots[timer->due_ms % WHEEL_SLOTS], &timer->link);
    wheel->count++;
}

void wheel_cancel(wheel_t *wheel, wheel_timer_t *timer)
{
    if (list_empty(&timer->link))
        return;
    list_remove(&timer->link);
    wheel->count--;
}

static void collect_due(list_link_t *slot, uint64_t now_ms, list_link_t *due)
{
    for (list_link_t *link = slot->next, *next; link != slot; link = next) {
        next = link->next;
        if (container_of(link, wheel_timer_t, link)->due_ms > now_ms)
            continue;
        list_remove(link);
        list_append(due, link);
    }
}

unsigned wheel_advance(wheel_t *wheel, uint64_t now_ns)
{
    uint64_t target = now_ns / NS_PER_MS;
    uint64_t from = wheel->now_ms;
    unsigned ran = 0;
    list_link_t due;
    if (target < from)
        target = from;
    wheel->now_ms = target;
    if (wheel->count == 0)
        return 0;
    /* From the old tick on, because a timer with delay 0 may lie there; a jump of a lap or more visits each slot once. */
    list_init(&due);
    uint64_t ticks = target - from < WHEEL_SLOTS ? target - from + 1 : WHEEL_SLOTS;
    for (uint64_t i = 0; i < ticks; i++)
        collect_due(&wheel->slots[(from + i) % WHEEL_SLOTS], target, &due);
    /* One at a time from the list: a timer's function may cancel or re-arm another one that is still in it. */
    for (list_link_t *link = list_pop(&due); link != NULL; link = list_pop(&due)) {
        wheel_timer_t *timer = container_of(link, wheel_timer_t, link);
        wheel->count--;
        ran++;
        timer->func(timer);
    }
    return ran;
}

int wheel_next_ms(const wheel_t *wheel)
{
    uint64_t nearest = UINT64_MAX;
    if (wheel->count == 0)
        return -1;
    for (uint64_t i = 0; i < WHEEL_SLOTS; i++) {
        const list_link_t *slot = &wheel->slots[(wheel->now_ms + i) % WHEEL_SLOTS];
        for (const list_link_t *link = slot->next; link != slot; link = link->next) {
            uint64_t due_ms = container_of(link, const wheel_timer_t, link)->due_ms;
            uint64_t left = due_ms > wheel->now_ms ? due_ms - wheel->now_ms : 0;
            if (left < nearest)
                nearest = left;
        }
        if (nearest <= i) /* every other timer lies in a later slot of this lap or in a later lap */
            break;
    }
    return nearest > INT_MAX ? INT_MAX : (int)nearest;
}
