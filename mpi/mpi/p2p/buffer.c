/* SPDX-License-Identifier: Apache-2.0
 * buffer.c - buffered sends. The message is copied into memory of the heap; the attached buffer is the quota that
 * limits these copies, each counted with MPI_BSEND_OVERHEAD, as the standard has it.
 */
#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "p2p/p2p.h"

typedef struct copy {
    vbn_op_t op;
    struct iovec piece;
    size_t charged;
    char bytes[];
} copy_t;

static struct {
    void *address; /* the user's; NULL and 0: none is attached */
    size_t size;
    size_t used;
    int attached;
} quota;

static void sent(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status, (void)length; /* nobody waits for a buffered send; the loss of the peer shows in the next call */
    copy_t *copy = op->user;
    quota.used -= copy->charged;
    free(copy);
}

static void wait_for_room(size_t wanted)
{
    rt_wait_t wait = RT_WAIT;
    while (quota.used + wanted > quota.size)
        rt_wait_step(&wait);
}

int p2p_buffered(const p2p_call_t *call)
{
    const size_t charged = call->length + MPI_BSEND_OVERHEAD;
    vbn_peer_t *peer = rt_peer(rt_group_world(call->comm->ranks, call->rank));
    if (peer == NULL)
        return err_set(MPI_ERR_PROC_ABORTED, "send to rank %d: %s", call->rank, rt.error);
    if (quota.used + charged > quota.size)
        rt_progress(); /* what has been sent meanwhile gives its part back */
    if (quota.used + charged > quota.size)
        return err_set(MPI_ERR_BUFFER,
                       "buffered send of %zu bytes: %zu of %zu bytes of the attached buffer are used; "
                       "attach a larger one by MPI_Buffer_attach",
                       call->length, quota.used, quota.size);
    copy_t *copy = calloc(1, sizeof(*copy) + call->length);
    if (copy == NULL)
        return err_set(MPI_ERR_NO_MEM, "buffered send of %zu bytes: no memory left", call->length);
    if (call->length > 0)
        memcpy(copy->bytes, call->buffer, call->length);
    copy->op.done = sent;
    copy->op.user = copy;
    copy->piece = (struct iovec){.iov_base = copy->bytes, .iov_len = call->length};
    copy->charged = charged;
    const uint64_t tag = comm_tag(call->comm, COMM_TAG_P2P, (uint32_t)call->tag);
    const vbn_status_t status = vbn_tag_send(peer, tag, &copy->piece, 1, 0, &copy->op);
    if (status == VBN_INPROGRESS)
        quota.used += charged;
    else
        free(copy);
    return status < 0 ? err_core(status, "buffered send", vbn_error_text()) : MPI_SUCCESS;
}

int mpi_Buffer_attach(void *buffer, MPI_Count size)
{
    if (quota.attached)
        return err_set(MPI_ERR_BUFFER, "a buffer of %zu bytes is attached already", quota.size);
    quota.address = buffer;
    quota.size = buffer == MPI_BUFFER_AUTOMATIC ? PTRDIFF_MAX : (size_t)size;
    quota.attached = 1;
    return MPI_SUCCESS;
}

int mpi_Buffer_flush(void)
{
    wait_for_room(quota.size);
    return MPI_SUCCESS;
}

int mpi_Buffer_detach(void *buffer_addr, MPI_Count *size)
{
    void *address = quota.address;
    if (!quota.attached)
        return err_set(MPI_ERR_BUFFER, "no buffer is attached");
    wait_for_room(quota.size);
    memcpy(buffer_addr, &address, sizeof(address));
    *size = address == MPI_BUFFER_AUTOMATIC ? 0 : (MPI_Count)quota.size;
    quota.address = NULL;
    quota.size = 0;
    quota.attached = 0;
    return MPI_SUCCESS;
}

void p2p_buffers_close(void)
{
    if (quota.attached)
        wait_for_room(quota.size);
    quota.size = 0;
    quota.attached = 0;
}
