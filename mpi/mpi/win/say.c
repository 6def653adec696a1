/* SPDX-License-Identifier: Apache-2.0
 * say.c - sending messages of windows.
 */
#include "win/message.h"

#include <stdlib.h>
#include <string.h>

#include "err/err.h"

typedef struct copy {
    vbn_op_t op;
    struct iovec piece;
    unsigned char data[];
} copy_t;

/* A lost target is the next operation's error, too. */
static void free_copy(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status, (void)length;
    free(op->user);
}

int win_say(const mpi_win_t *win, int rank, unsigned id, win_header_t *header, const void *data, size_t length)
{
    vbn_peer_t *peer = rt_peer(rt_group_world(win->comm->ranks, rank));
    copy_t *copy = malloc(sizeof(*copy) + length);
    header->context = win->comm->context;
    if (peer == NULL || copy == NULL) {
        free(copy);
        return copy == NULL ? err_set(MPI_ERR_NO_MEM, "message of a window: no memory left")
                            : err_set(MPI_ERR_PROC_ABORTED, "message to rank %d: %s", rank, rt.error);
    }
    memset(&copy->op, 0, sizeof(copy->op));
    copy->op.done = free_copy;
    copy->op.user = copy;
    copy->piece = (struct iovec){.iov_base = copy->data, .iov_len = length};
    if (length > 0)
        memcpy(copy->data, data, length);
    const vbn_status_t status = vbn_am_send(peer, id, header, sizeof(*header), &copy->piece, length > 0, 0, &copy->op);
    if (status != VBN_INPROGRESS)
        free(copy);
    return status < 0 ? err_core(status, "message of a window", vbn_error_text()) : MPI_SUCCESS;
}
