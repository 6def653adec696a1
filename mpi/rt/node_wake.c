/* SPDX-License-Identifier: Apache-2.0
 * node_wake.c - a rank that sleeps until something changes in node memory, and who wakes it: an empty active message.
 */
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/node.h"
#include "rt/rt.h"

static void free_op(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status, (void)length; /* a rank that is lost needs no waking */
    free(op);
}

/* Without memory for it the sleeper looks a millisecond later. */
void rt_node_wake(int rank)
{
    vbn_peer_t *peer = rt_peer(rank);
    vbn_op_t *op = peer == NULL ? NULL : calloc(1, sizeof(*op));
    if (op == NULL)
        return;
    op->done = free_op;
    if (vbn_am_send(peer, RT_AM_WAKE, NULL, 0, NULL, 0, 0, op) != VBN_INPROGRESS)
        free(op);
}

/* The core has registered the process for this when it opened shm. */
void rt_node_sleeper_fence(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!rt_node.fenced && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0)
        rt_node.fenced = 1;
}
