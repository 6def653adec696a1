/* SPDX-License-Identifier: Apache-2.0
 * status.c - what a status says. MPI_internal: 0 and 1 hold the number of bytes, 2 whether the operation was cancelled.
 */
#include "p2p/p2p.h"

#include <limits.h>
#include <string.h>

#include "dt/dt.h"
#include "err/err.h"
#include "mpi_impl.h"

static void set_bytes(MPI_Status *status, size_t bytes)
{
    const uint64_t value = bytes;
    memcpy(status->MPI_internal, &value, sizeof(value));
}

static size_t bytes_of(const MPI_Status *status)
{
    uint64_t value;
    memcpy(&value, status->MPI_internal, sizeof(value));
    return value;
}

void p2p_status_none(MPI_Status *status, int source)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = MPI_ANY_TAG;
    status->MPI_internal[2] = 0;
    set_bytes(status, 0);
}

void p2p_status_empty(MPI_Status *status)
{
    p2p_status_none(status, MPI_ANY_SOURCE);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = MPI_SUCCESS;
}

void p2p_status_of(MPI_Status *status, const mpi_comm_t *comm, const vbn_tag_info_t *info)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    const int world = rt_rank_of(info->peer, info->source);
    status->MPI_SOURCE = world < 0 ? MPI_ANY_SOURCE : rt_group_find(comm->peers, world);
    status->MPI_TAG = (int)(uint32_t)info->tag;
    status->MPI_internal[2] = 0;
    set_bytes(status, info->length);
}

int mpi_Get_count(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    const size_t size = dt_find(datatype)->size;
    const size_t bytes = bytes_of(status);
    if (size == 0)
        *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    else
        *count = bytes % size != 0 ? MPI_UNDEFINED : (MPI_Count)(bytes / size);
    return MPI_SUCCESS;
}

int mpi_Get_elements(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    const MPI_Count found = dt_sig_elements(dt_find(datatype)->sig, bytes_of(status));
    *count = found < 0 ? MPI_UNDEFINED : found;
    return MPI_SUCCESS;
}

int mpi_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    return mpi_Get_elements(status, datatype, count);
}

int mpi_Test_cancelled(const MPI_Status *status, int *flag)
{
    *flag = status->MPI_internal[2] != 0;
    return MPI_SUCCESS;
}

int mpi_Status_get_source(const MPI_Status *status, int *source)
{
    *source = status->MPI_SOURCE;
    return MPI_SUCCESS;
}

int mpi_Status_get_tag(const MPI_Status *status, int *tag)
{
    *tag = status->MPI_TAG;
    return MPI_SUCCESS;
}

int mpi_Status_get_error(const MPI_Status *status, int *error)
{
    *error = status->MPI_ERROR;
    return MPI_SUCCESS;
}

int mpi_Status_set_source(MPI_Status *status, int source)
{
    status->MPI_SOURCE = source;
    return MPI_SUCCESS;
}

int mpi_Status_set_tag(MPI_Status *status, int tag)
{
    status->MPI_TAG = tag;
    return MPI_SUCCESS;
}

int mpi_Status_set_error(MPI_Status *status, int error)
{
    status->MPI_ERROR = error;
    return MPI_SUCCESS;
}

int mpi_Status_set_cancelled(MPI_Status *status, int flag)
{
    status->MPI_internal[2] = flag != 0;
    return MPI_SUCCESS;
}

int mpi_Status_set_elements(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    const MPI_Count bytes = count < 0 ? -1 : dt_sig_bytes(dt_find(datatype)->sig, (size_t)count);
    if (bytes < 0)
        return err_set(MPI_ERR_COUNT, "%s cannot have %lld basic elements", dt_name(dt_find(datatype)),
                       (long long)count);
    set_bytes(status, (size_t)bytes);
    return MPI_SUCCESS;
}

int mpi_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return mpi_Status_set_elements(status, datatype, count);
}
