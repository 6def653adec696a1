/* SPDX-License-Identifier: Apache-2.0
 * sched_wait.c - blocking collectives: waiting for the end of a schedule.
 */
#include "grp/sched.h"

int sched_run(sched_t *sched)
{
    rt_wait_t wait = RT_WAIT;
    if (sched == NULL)
        return grp_fail(VBN_ERR_NO_MEMORY, "no memory left");
    int status = sched_start(sched);
    while (status == 0 && !sched->complete)
        rt_wait_step(&wait);
    status = sched->status;
    if (status < 0)
        (void)grp_fail(status, sched->error);
    sched_release(sched);
    return status;
}
