/* SPDX-License-Identifier: Apache-2.0
 * put.c - put and get (MPI 5.0, 12.3.1, 12.3.2, 12.3.5). Elements that lie in several places at the target go as blocks, as many as
 * possible in one operation of the core. On a dynamic window the target replaces or reads bytes.
 */
#include "err/err.h"
#include "mpi_impl.h"
#include "win/acc.h"
#include "win/direct.h"

typedef struct mover {
    dt_sink_t sink;
    win_call_t *call;
    char *bytes;
    int writes;
    int rc;
} mover_t;

static void move_run(mover_t *mover, uintptr_t offset, size_t length)
{
    if (mover->rc == MPI_SUCCESS)
        mover->rc = win_call_move(mover->call, mover->writes, offset, mover->bytes, length);
    mover->bytes += length;
}

static void take(dt_sink_t *sink, char *at, size_t length, MPI_Aint stride, size_t count)
{
    mover_t *mover = (mover_t *)sink;
    if (count == 1 || stride == (MPI_Aint)length) {
        move_run(mover, (uintptr_t)at, length * count);
        return;
    }
    if (stride > (MPI_Aint)length) {
        if (mover->rc == MPI_SUCCESS)
            mover->rc = win_call_move_blocks(mover->call, mover->writes, (uintptr_t)at, mover->bytes,
                                             &(win_blocks_t){length, (size_t)stride, count});
        mover->bytes += length * count;
        return;
    }
    for (size_t i = 0; i < count; i++) /* overlapping, or backwards */
        move_run(mover, (uintptr_t)at + i * (uintptr_t)stride, length);
}

static void take_list(dt_sink_t *sink, uintptr_t base, const dt_entry_t *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        move_run((mover_t *)sink, base + (uintptr_t)entries[i].offset, entries[i + 1].start - entries[i].start);
}

static int transfer(win_call_t *call, const dt_data_t *data, int writes)
{
    mover_t mover = {.sink = {.take = take, .take_list = take_list},
                     .call = call,
                     .bytes = writes ? win_call_source(call) : win_call_into(call),
                     .writes = writes};
    if (data->bytes == 0)
        return MPI_SUCCESS;
    if (call->win->flavour == MPI_WIN_FLAVOR_DYNAMIC)
        return win_acc_send(call, writes ? WIN_ACC : WIN_GET_ACC, writes ? MPI_REPLACE : MPI_NO_OP, data,
                            dt_find(MPI_BYTE));
    dt_walk(data, 0, data->bytes, &mover.sink);
    return mover.rc;
}

static int make(win_call_t *call, const win_buffer_t *buffer, const win_place_t *place, int writes)
{
    dt_data_t data;
    int rc = win_place_find(call, place, &data);
    if (rc == MPI_SUCCESS)
        rc = writes ? win_call_sends(call, buffer) : win_call_gets(call, buffer);
    if (rc != MPI_SUCCESS)
        return rc;
    const size_t bytes = writes ? call->sent.bytes : call->result.bytes;
    if (bytes != data.bytes)
        return err_set(MPI_ERR_TRUNCATE, "origin_count and datatype are %zu bytes, those of the target %zu", bytes,
                       data.bytes);
    rc = writes && bytes > 0 ? win_place_may_write(call, &data) : MPI_SUCCESS;
    return rc != MPI_SUCCESS ? rc : transfer(call, &data, writes);
}

static int begin(const win_buffer_t *buffer, const win_place_t *place, MPI_Win win, int writes, MPI_Request *request)
{
    win_call_t *call;
    if (request == NULL && win_direct_move(win_of(win), buffer, place, writes))
        return MPI_SUCCESS;
    const int rc = win_call_begin(win_of(win), place->rank, request, &call);
    if (call == NULL)
        return rc != MPI_SUCCESS || request == NULL ? rc : win_call_nothing(win_of(win), request);
    return win_call_made(call, make(call, buffer, place, writes), request);
}

int mpi_Put(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
            MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    return begin(&(win_buffer_t){origin_addr, origin_count, origin_datatype},
                 &(win_place_t){target_rank, target_disp, target_count, target_datatype}, win, 1, NULL);
}

int mpi_Rput(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
             MPI_Request *request)
{
    return begin(&(win_buffer_t){origin_addr, origin_count, origin_datatype},
                 &(win_place_t){target_rank, target_disp, target_count, target_datatype}, win, 1, request);
}

int mpi_Get(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
            MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    return begin(&(win_buffer_t){origin_addr, origin_count, origin_datatype},
                 &(win_place_t){target_rank, target_disp, target_count, target_datatype}, win, 0, NULL);
}

int mpi_Rget(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
             MPI_Request *request)
{
    return begin(&(win_buffer_t){origin_addr, origin_count, origin_datatype},
                 &(win_place_t){target_rank, target_disp, target_count, target_datatype}, win, 0, request);
}
