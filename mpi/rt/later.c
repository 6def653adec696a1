/* SPDX-License-Identifier: Apache-2.0
 * later.c - calls that only a thread of the program makes: functions of the program, which neither the keeper nor a
 * completion inside vbn_progress may call.
 */
#include "rt/rt.h"

void rt_call_later(rt_later_t *later)
{
    rt_later_t **at = &rt.later;
    while (*at != NULL)
        at = &(*at)->next;
    later->next = NULL;
    *at = later;
}

unsigned rt_run_later(void)
{
    unsigned calls = 0;
    for (rt_later_t *later; (later = rt.later) != NULL; calls++) {
        rt.later = later->next;
        later->call(later->arg); /* other threads may enter meanwhile, and take the next one */
    }
    return calls;
}
