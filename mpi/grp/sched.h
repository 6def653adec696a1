/* SPDX-License-Identifier: Apache-2.0
 * sched.h - a collective at one rank as a schedule: its steps in order. One schedule serves all forms: a blocking
 * collective starts it and waits, a non-blocking one is a request that ends with it, a persistent one keeps it and
 * starts it again.
 *
 *     sched_open   the steps are added   sched_start -> ... done()   [sched_start again]   sched_release
 *
 * Steps begin one after the other. A message goes on while later steps begin; a wait step holds them until at most so
 * many messages of this schedule are in flight; the end waits for all.
 *
 * S1 Both programs name the messages between two ranks in the same order: they have one tag. Receives name the exact
 *    length.
 * S2 A schedule that has failed goes on: messages it still has to send become failure notices, which have a length that
 *    the receiver does not expect, and it neither copies, reduces nor calls. So every rank comes to its end, with an
 *    error, whoever was lost.
 * S3 Steps begin in sched_start and in completions, that is inside vbn_progress. done() may free the schedule.
 * S4 A reduction by a function of the program (grp_reduce_t.foreign) holds the schedule until a thread of the program has
 *    called it by rt_progress, never the keeper, and never inside vbn_progress.
 * S5 A schedule that is kept has a tag of its own: a start of it may overlap with others, and with the next start of
 *    it at other ranks, as messages of two ranks are matched in order.
 * S6 A schedule that is given up has failed, and receives nothing any more.
 */
#ifndef VERBENA_SCHED_H
#define VERBENA_SCHED_H

#include "grp/grp.h"

typedef enum sched_kind { SCHED_SEND, SCHED_RECV, SCHED_COPY, SCHED_REDUCE, SCHED_CALL, SCHED_WAIT } sched_kind_t;

typedef struct sched_step {
    sched_kind_t kind;
    int rank;                   /* of the job: the other side of a message */
    struct rt_process *process; /* the same, once it was dialled (R5) */
    void *to;                   /* receive, copy; inout of a reduction; the argument of a call */
    const void *from;           /* send, copy; in of a reduction */
    size_t length;              /* bytes; elements of a reduction; messages of a wait */
    union {
        const grp_reduce_t *reduce;
        int (*call)(void *arg); /* 0 or a negative vbn_status_t */
    };
} sched_step_t;

struct sched;

/* A message in flight. */
typedef struct sched_op {
    vbn_op_t op;
    struct iovec piece;
    vbn_tag_info_t info;
    struct sched *sched;
    const sched_step_t *step; /* NULL: it is free */
    struct sched_op *next;    /* free ones */
    struct sched_op *also;    /* all of the schedule */
} sched_op_t;

/* How messages go: through the core, or in tests through a network that is simulated. send and recv return as the
 * core's calls; recv sets info.length; a pending one ends with op.done. */
typedef struct sched_net {
    void (*reach)(sched_step_t *step); /* once before each start */
    vbn_status_t (*send)(sched_op_t *op, uint64_t tag);
    vbn_status_t (*recv)(sched_op_t *op, uint64_t tag);
    /* 1: a receive, which gets nothing any more. 0: it ends with op.done, a send at the latest when its receiver answers. */
    int (*withdraw)(sched_op_t *op);
    void (*notify)(const sched_step_t *step);       /* before a failure notice is sent instead of this message */
    const char *(*cause)(const sched_step_t *step); /* why send or recv has just failed at once */
} sched_net_t;

extern const sched_net_t sched_core;

typedef struct sched {
    const sched_net_t *net;
    const rt_group_t *ranks;     /* of the set that it was opened for */
    const struct levels *levels; /* of that set; NULL: one level */
    int nodes;                   /* of the ranks that the next steps are among */
    uint64_t tag;
    sched_step_t *steps;
    size_t count;
    size_t room;
    size_t at;       /* the next step */
    size_t busy;     /* messages in flight */
    size_t ops_made; /* free_ops and those in flight */
    sched_op_t *free_ops;
    sched_op_t *ops;
    struct sched_piece *memory; /* of sched_memory and sched_at_end */
    struct sched_piece *near;   /* the last one of them, which it keeps in the pool */
    int status;                 /* first failure; while steps are added: no memory left */
    int complete;               /* of the last start */
    int held;                   /* S4 */
    int given_up;               /* S6 */
    rt_later_t later;           /* S4 */
    void (*done)(struct sched *sched);
    void *user;             /* of done */
    struct sched *next;     /* in the pool; of watched ones */
    struct sched **at_list; /* NULL: not watched */
    grp_t *grp;             /* watch.h: the set, of ranks of one node the outer one */
    grp_call_t *call;       /* of a blocking one the set's, else its own */
    grp_call_t own;
    watch_times_t times;
    char error[256];
} sched_t;

/* Takes the next number of the set. started: it is waited for later; kept: it may be started several times, one after the
 * other. NULL: no memory left.
 */
sched_t *sched_open(grp_t *grp);
sched_t *sched_open_started(grp_t *grp);
sched_t *sched_open_kept(grp_t *grp);
/* Its memory, then the functions of sched_at_end, the last one first. NULL is allowed. */
void sched_release(sched_t *sched);

void sched_send(sched_t *sched, int rank, const void *from, size_t length);
void sched_recv(sched_t *sched, int rank, void *to, size_t length);
/* With ranks of another set, as the remote group of an intercommunicator. */
void sched_send_to(sched_t *sched, const rt_group_t *ranks, int rank, const void *from, size_t length);
void sched_recv_from(sched_t *sched, const rt_group_t *ranks, int rank, void *to, size_t length);
void sched_copy(sched_t *sched, void *to, const void *from, size_t length);
/* inout = in OP inout; the reduction must outlive the schedule (sched_memory). */
void sched_reduce(sched_t *sched, const grp_reduce_t *reduce, const void *in, void *inout, size_t count);
void sched_call(sched_t *sched, int (*call)(void *arg), void *arg);
/* The following steps begin when at most so many messages are in flight. */
void sched_wait(sched_t *sched, size_t most);

/* Memory that lives as long as the schedule, not zeroed. NULL: none left, which sched_start says, too. */
void *sched_memory(sched_t *sched, size_t length);
void sched_at_end(sched_t *sched, void (*call)(void *arg), void *arg);

/* Starts it; done (NULL: none) is called once at its end, perhaps inside this call. 0, or a negative vbn_status_t when
 * memory for steps had run out: nothing has begun then. */
int sched_start(sched_t *sched);
/* A blocking collective: starts, waits, releases; the status. NULL is a lack of memory. */
int sched_run(sched_t *sched);

/* S6. lost: a rank of the job. Calls done() before it returns unless sends are in flight. */
void sched_give_up(sched_t *sched, int lost);

/* Tells the schedule that a message has ended; for networks, which set it as op.done. */
void sched_op_done(vbn_op_t *op, vbn_status_t status, size_t length);

static inline int sched_rank(const sched_t *sched)
{
    return sched->ranks->rank;
}

static inline int sched_size(const sched_t *sched)
{
    return sched->ranks->size;
}

#endif
