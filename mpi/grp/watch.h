/* SPDX-License-Identifier: Apache-2.0
 * watch.h - collectives that would never end, because the ranks pass different counts and so take different ways.
 *
 * How a collective is done follows from its bytes (grp_way_t): slots or messages, a tree or the root with each. Ranks that
 * agree on the bytes agree on the way; ranks that do not may wait for messages that nobody sends. So a rank that has waited
 * long in a collective asks whom it waits for, and the job ends with a text when the answer is that nothing will come.
 *
 * W1 A question names the collective: the set of ranks by base and birth, the form, its number in that form; and the ways
 *    of who asks. The other rank is before it or in it, or has ended it.
 * W2 In it with the same ways the other one waits for somebody else, whom it asks itself. With other ways it ends the job: of
 *    ranks that wait for each other in a circle, two have taken different ways.
 * W3 Ended, it says so. Messages and answers of a rank come in one order: a receive that is still posted when the answer
 *    comes gets nothing, and a message that lies at a rank which has ended is not fetched.
 * W4 No rank that keeps to the standard is ever in another way, or done with a collective that another one still needs it for.
 *    So nothing here depends on how long anybody takes.
 * W5 A rank that has failed to make a set does not know it by name. Asked for a set that it does not know, it says that it has
 *    ended it. A rank that knows of a lost one adds that, so the text names the lost rank.
 * W6 A set that lives for one call (G4 of grp.h) is named by its base and its ranks, so the next call of the same ranks has the
 *    same name. Numbers say nothing about it. A rank that has failed in it says that it has ended it: the calls after it need
 *    the lost rank, too.
 * W7 Ranks give up a set with a lost member: a rank that waits long in a collective of it ends the call with an error, whichever
 *    rank it waits for. The awaited rank lives, but may have failed in another set and call nothing more. Each collective of such
 *    a set may fail, so this does not contradict W4. A rank that is asked, or sends a failure notice, first names the ranks that
 *    it knows to be lost. A rank that ends its last session says so to all that it knows: it may end, and is no lost member.
 */
#ifndef VERBENA_WATCH_H
#define VERBENA_WATCH_H

#include "grp/node.h"
#include "grp/sched.h"

/* While the runtime is open. */
void watch_open(void);
void watch_close(void);

/* W7: this rank ends its last session. */
void watch_leave(void);

/* From here on collectives of the set are watched. birth: as in grp_t. */
void watch_set(grp_t *grp, uint32_t birth);
/* The set ends; nothing happens if it was not watched. */
void watch_forget(grp_t *grp);

/* W6: around the call; grp->call.name is set. failed: in its collectives. */
void watch_call(grp_t *grp);
void watch_call_end(grp_t *grp, int failed);

/* A set of ranks could not be made here: others may have it, and wait for this rank in it (W5). */
void watch_unmade(void);

/* Between opening and release of a schedule; between begin and end of a wait for a line in node memory. */
void watch_sched(sched_t *sched);
void watch_sched_end(sched_t *sched);
/* W7: before a failure notice is sent to this rank of the job. */
void watch_notice(int rank);
/* W7: in a wait for a message of this rank of the set, outside schedules, again and again. The lost rank of the job because
 * of which it is given up; -1: it is not. times: zero at first. */
int watch_messages(const grp_t *grp, int rank, watch_times_t *times);
typedef struct watch_wait {
    struct watch_wait *next;
    const node_set_t *set;
    int rank; /* in the set */
    const _Atomic uint64_t *word;
    uint64_t phase;
    int lost; /* W7: the wait is given up because of this rank of the job; -1: it is not */
    watch_times_t times;
} watch_wait_t;
void watch_wait(watch_wait_t *wait);
void watch_wait_end(const watch_wait_t *wait);

#endif
