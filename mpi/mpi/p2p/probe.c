/* SPDX-License-Identifier: Apache-2.0
 * probe.c - looking for messages: probe, and matched probe, which takes the message out for one receive.
 */
#include <stdlib.h>

#include "dt/dt.h"
#include "err/err.h"
#include "mpi_impl.h"
#include "p2p/p2p.h"

typedef struct message {
    obj_t obj;
    vbn_tag_message_t *taken;
    mpi_comm_t *comm;
} message_t;

/* 1: there is one, described in info; 0: none so far; negative: an error class. */
static int find(int source, int tag, mpi_comm_t *comm, vbn_tag_info_t *info, vbn_tag_message_t **message_p)
{
    const uint64_t mask = tag == MPI_ANY_TAG ? COMM_ANY_TAG_MASK : UINT64_MAX;
    const uint64_t wanted = comm_tag(comm, COMM_TAG_P2P, tag == MPI_ANY_TAG ? 0 : (uint32_t)tag);
    vbn_peer_t *peer = NULL;
    if (source != MPI_ANY_SOURCE && (peer = p2p_source(comm, source, wanted, mask)) == NULL)
        return -err_set(MPI_ERR_PROC_ABORTED, "probe for rank %d: %s", source, rt.error);
    const vbn_status_t status = vbn_tag_probe(rt.worker, peer, wanted, mask, info, message_p);
    if (status < 0)
        return -err_core(status, "probe", vbn_error_text());
    return status == VBN_OK;
}

static int find_after_look(int source, int tag, mpi_comm_t *comm, vbn_tag_info_t *info, vbn_tag_message_t **message_p)
{
    const int found = find(source, tag, comm, info, message_p);
    if (found != 0)
        return found;
    rt_look();
    return find(source, tag, comm, info, message_p);
}

static int find_and_wait(int source, int tag, mpi_comm_t *comm, vbn_tag_info_t *info, vbn_tag_message_t **message_p)
{
    rt_wait_t wait = RT_WAIT;
    int found;
    while ((found = find(source, tag, comm, info, message_p)) == 0)
        rt_wait_step(&wait);
    return found;
}

int mpi_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    vbn_tag_info_t info;
    if (source == MPI_PROC_NULL) {
        *flag = 1;
        p2p_status_none(status, MPI_PROC_NULL);
        return MPI_SUCCESS;
    }
    const int found = find_after_look(source, tag, comm_of(comm), &info, NULL);
    *flag = found > 0;
    if (found > 0)
        p2p_status_of(status, comm_of(comm), &info);
    return found < 0 ? -found : MPI_SUCCESS;
}

int mpi_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    vbn_tag_info_t info;
    if (source == MPI_PROC_NULL) {
        p2p_status_none(status, MPI_PROC_NULL);
        return MPI_SUCCESS;
    }
    const int found = find_and_wait(source, tag, comm_of(comm), &info, NULL);
    if (found > 0)
        p2p_status_of(status, comm_of(comm), &info);
    return found < 0 ? -found : MPI_SUCCESS;
}

static int matched(int source, int tag, MPI_Comm comm, int wait, int *flag, MPI_Message *handle, MPI_Status *status)
{
    vbn_tag_info_t info;
    vbn_tag_message_t *taken;
    *flag = 1;
    if (source == MPI_PROC_NULL) {
        *handle = MPI_MESSAGE_NO_PROC;
        p2p_status_none(status, MPI_PROC_NULL);
        return MPI_SUCCESS;
    }
    message_t *message = calloc(1, sizeof(*message));
    if (message == NULL)
        return err_set(MPI_ERR_NO_MEM, "message: no memory left");
    const int found = wait ? find_and_wait(source, tag, comm_of(comm), &info, &taken)
                           : find_after_look(source, tag, comm_of(comm), &info, &taken);
    if (found <= 0) {
        free(message);
        *flag = 0;
        return -found;
    }
    message->obj.kind = OBJ_MESSAGE;
    message->taken = taken;
    message->comm = comm_of(comm);
    message->comm->obj.refs++;
    p2p_status_of(status, message->comm, &info);
    *handle = (MPI_Message)message;
    return MPI_SUCCESS;
}

int mpi_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    int flag;
    return matched(source, tag, comm, 1, &flag, message, status);
}

int mpi_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    return matched(source, tag, comm, 0, flag, message, status);
}

int mpi_Imrecv(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request)
{
    message_t *found = (message_t *)*message;
    p2p_call_t call = {.kind = P2P_RECV, .tag = MPI_ANY_TAG};
    p2p_request_t *made;
    int rc = dt_describe(&call.data, buf, count, datatype);
    if (rc == MPI_SUCCESS && *message != MPI_MESSAGE_NO_PROC && !obj_is(*message, OBJ_MESSAGE))
        rc = err_set(MPI_ERR_REQUEST, "message %p is none", (void *)*message);
    if (rc != MPI_SUCCESS)
        return rc;
    const int no_proc = *message == MPI_MESSAGE_NO_PROC;
    call.comm = no_proc ? &comm_self : found->comm;
    call.rank = no_proc ? MPI_PROC_NULL : MPI_ANY_SOURCE;
    if ((rc = p2p_prepare(&call, &made)) != MPI_SUCCESS)
        return rc;
    *message = MPI_MESSAGE_NULL;
    *request = p2p_handle(made);
    if (no_proc)
        return p2p_start(made);
    rc = p2p_receive_taken(made, found->taken);
    comm_release(found->comm);
    obj_end(&found->obj);
    free(found);
    return rc == MPI_ERR_TRUNCATE ? MPI_SUCCESS : rc; /* that one is the wait's */
}

int mpi_Mrecv(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status)
{
    MPI_Request request;
    const int rc = mpi_Imrecv(buf, count, datatype, message, &request);
    return rc != MPI_SUCCESS ? rc : mpi_Wait(&request, status);
}
