/* SPDX-License-Identifier: Apache-2.0
 * acc.c - the accumulate family at the origin (MPI 5.0, 12.3.4, 12.3.5). The target carries each call out in messages of at most
 * WIN_DATA_MOST bytes, in the order of the origin: more than accumulate_ordering asks for.
 */
#include "win/acc.h"

#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "op/op.h"
#include "win/apply.h"
#include "win/direct.h"

typedef struct sender {
    win_call_t *call;
    win_kind_t kind;
    MPI_Op op;
    const dt_type_t *basic;
    const char *data; /* NULL: none travels */
    char *into;       /* NULL: no answer */
} sender_t;

static int send_some(sender_t *sender, const win_run_t *run, size_t from, size_t count)
{
    const size_t bytes = count * sender->basic->size;
    win_header_t header = {.kind = (uint8_t)sender->kind,
                           .op = (uint8_t)(uintptr_t)sender->op,
                           .basic = (uint16_t)(uintptr_t)dt_handle(sender->basic),
                           .at = run->at + (uintptr_t)run->spacing * from,
                           .spacing = run->spacing,
                           .count = (uint32_t)count};
    const int rc = win_call_message(sender->call, &header, sender->data, sender->data == NULL ? 0 : bytes, sender->into,
                                    sender->into == NULL ? 0 : bytes);
    sender->data = sender->data == NULL ? NULL : sender->data + bytes;
    sender->into = sender->into == NULL ? NULL : sender->into + bytes;
    return rc;
}

static int send_run(void *arg, const win_run_t *run)
{
    sender_t *sender = arg;
    const size_t most = WIN_DATA_MOST / sender->basic->size;
    int rc = MPI_SUCCESS;
    for (size_t from = 0; from < run->count && rc == MPI_SUCCESS; from += most)
        rc = send_some(sender, run, from, run->count - from < most ? run->count - from : most);
    return rc;
}

int win_acc_send(win_call_t *call, win_kind_t kind, MPI_Op op, const dt_data_t *data, const dt_type_t *basic)
{
    sender_t sender = {.call = call,
                       .kind = kind,
                       .op = op,
                       .basic = basic,
                       .data = op == MPI_NO_OP ? NULL : win_call_source(call),
                       .into = kind == WIN_ACC ? NULL : win_call_into(call)};
    return win_runs(data, basic, send_run, &sender);
}

/* ---- checks */

/* Arguments of the origin are checked by what reads them: MPI_NO_OP ignores them (12.3.4). */
static int check_op(MPI_Op op, const dt_type_t *basic, const dt_type_t *type)
{
    if (basic == NULL)
        return err_set(MPI_ERR_TYPE,
                       "target_datatype %s has elements of several predefined types; accumulates take one",
                       dt_name(type));
    return win_op_takes(op, basic)
               ? MPI_SUCCESS
               : err_set(
                     MPI_ERR_OP,
                     "op is %s; accumulates take predefined operations, and on elements of %s only those for that type",
                     op_name(op), dt_name(basic));
}

/* Elements of the origin, and those that a call returns, are of the target's predefined type. */
static int check_side(const win_buffer_t *buffer, size_t bytes, const dt_data_t *data, const dt_type_t *basic,
                      const char *name)
{
    const dt_type_t *own = bytes == 0 ? basic : win_basic_of(dt_find(buffer->type));
    if (own == NULL || own->size != basic->size || own->kind != basic->kind)
        return err_set(MPI_ERR_TYPE, "%s_datatype %s has other elements than the target's, which are %s", name,
                       dt_name(dt_find(buffer->type)), dt_name(basic));
    return bytes == data->bytes
               ? MPI_SUCCESS
               : err_set(MPI_ERR_TRUNCATE, "%s_count and datatype are %zu bytes, those of the target %zu", name, bytes,
                         data->bytes);
}

static int make(win_call_t *call, win_kind_t kind, const win_buffer_t *from, const win_buffer_t *into,
                const win_place_t *place, MPI_Op op)
{
    dt_data_t data;
    int rc = win_place_find(call, place, &data);
    if (rc != MPI_SUCCESS)
        return rc;
    const dt_type_t *type = dt_find(place->type);
    const dt_type_t *basic = win_basic_of(type);
    if (data.bytes == 0)
        return MPI_SUCCESS;
    rc = check_op(op, basic, type);
    rc = rc == MPI_SUCCESS && op != MPI_NO_OP ? win_place_may_write(call, &data) : rc;
    if (rc == MPI_SUCCESS && op != MPI_NO_OP && (rc = win_call_sends(call, from)) == MPI_SUCCESS)
        rc = check_side(from, call->sent.bytes, &data, basic, "origin");
    if (rc == MPI_SUCCESS && into != NULL && (rc = win_call_gets(call, into)) == MPI_SUCCESS)
        rc = check_side(into, call->result.bytes, &data, basic, "result");
    return rc != MPI_SUCCESS ? rc : win_acc_send(call, kind, op, &data, basic);
}

static int accumulate(const win_buffer_t *from, const win_buffer_t *into, const win_place_t *place, MPI_Op op,
                      MPI_Win win, MPI_Request *request)
{
    win_call_t *call;
    if (into == NULL && op == MPI_NO_OP)
        return err_set(MPI_ERR_OP, "op is MPI_NO_OP, which only calls that return the target's elements take");
    if (request == NULL && win_direct_accumulate(win_of(win), op == MPI_NO_OP ? NULL : from, into, place, op))
        return MPI_SUCCESS;
    const int rc = win_call_begin(win_of(win), place->rank, request, &call);
    if (call == NULL)
        return rc != MPI_SUCCESS || request == NULL ? rc : win_call_nothing(win_of(win), request);
    return win_call_made(call, make(call, into == NULL ? WIN_ACC : WIN_GET_ACC, from, into, place, op), request);
}

/* ---- the calls */

int mpi_Accumulate(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                   MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    return accumulate(&(win_buffer_t){origin_addr, origin_count, origin_datatype}, NULL,
                      &(win_place_t){target_rank, target_disp, target_count, target_datatype}, op, win, NULL);
}

int mpi_Raccumulate(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                    MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                    MPI_Request *request)
{
    return accumulate(&(win_buffer_t){origin_addr, origin_count, origin_datatype}, NULL,
                      &(win_place_t){target_rank, target_disp, target_count, target_datatype}, op, win, request);
}

int mpi_Get_accumulate(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, void *result_addr,
                       MPI_Count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                       MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    return accumulate(&(win_buffer_t){origin_addr, origin_count, origin_datatype},
                      &(win_buffer_t){result_addr, result_count, result_datatype},
                      &(win_place_t){target_rank, target_disp, target_count, target_datatype}, op, win, NULL);
}

int mpi_Rget_accumulate(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                        void *result_addr, MPI_Count result_count, MPI_Datatype result_datatype, int target_rank,
                        MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                        MPI_Win win, MPI_Request *request)
{
    return accumulate(&(win_buffer_t){origin_addr, origin_count, origin_datatype},
                      &(win_buffer_t){result_addr, result_count, result_datatype},
                      &(win_place_t){target_rank, target_disp, target_count, target_datatype}, op, win, request);
}

static int check_predefined(MPI_Datatype type)
{
    const dt_type_t *found = dt_find(type);
    return found->is_fixed ? MPI_SUCCESS
                           : err_set(MPI_ERR_TYPE, "datatype is %s, which is not predefined", dt_name(found));
}

int mpi_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                     MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    const int rc = check_predefined(datatype);
    return rc != MPI_SUCCESS
               ? rc
               : accumulate(&(win_buffer_t){origin_addr, 1, datatype}, &(win_buffer_t){result_addr, 1, datatype},
                            &(win_place_t){target_rank, target_disp, 1, datatype}, op, win, NULL);
}

/* Integers, logicals and bytes (12.3.4). */
static int check_swap(MPI_Datatype type)
{
    const dt_type_t *found = dt_find(type);
    const int rc = check_predefined(type);
    if (rc != MPI_SUCCESS || found->kind == DT_INT || found->kind == DT_LOGICAL || found->kind == DT_BYTE)
        return rc;
    return err_set(MPI_ERR_TYPE, "datatype is %s; compare and swap takes integers, logicals and MPI_BYTE",
                   dt_name(found));
}

/* Both values travel side by side, in memory of the call. */
static int make_swap(win_call_t *call, const void *origin, const void *compare, void *result, const win_place_t *place)
{
    dt_data_t data;
    const dt_type_t *basic = dt_find(dt_find(place->type)->basic);
    int rc = win_place_find(call, place, &data);
    rc = rc == MPI_SUCCESS ? win_place_may_write(call, &data) : rc;
    rc = rc == MPI_SUCCESS ? dt_check_place(origin, 1, place->type, "origin_addr") : rc;
    rc = rc == MPI_SUCCESS ? dt_check_place(compare, 1, place->type, "compare_addr") : rc;
    rc = rc == MPI_SUCCESS ? win_call_gets(call, &(win_buffer_t){result, 1, place->type}) : rc;
    if (rc != MPI_SUCCESS)
        return rc;
    call->packed = malloc(2 * basic->size);
    if (call->packed == NULL)
        return err_set(MPI_ERR_NO_MEM, "compare and swap: no memory left");
    memcpy(call->packed, origin, basic->size);
    memcpy(call->packed + basic->size, compare, basic->size);
    win_header_t header = {.kind = WIN_CAS,
                           .basic = (uint16_t)(uintptr_t)dt_handle(basic),
                           .at = (uintptr_t)data.base,
                           .spacing = (int64_t)basic->size,
                           .count = 1};
    return win_call_message(call, &header, call->packed, 2 * basic->size, result, basic->size);
}

int mpi_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype datatype,
                         int target_rank, MPI_Aint target_disp, MPI_Win win)
{
    win_call_t *call;
    const win_place_t place = {target_rank, target_disp, 1, datatype};
    int rc = check_swap(datatype);
    if (rc != MPI_SUCCESS || win_direct_swap(win_of(win), origin_addr, compare_addr, result_addr, &place))
        return rc;
    rc = win_call_begin(win_of(win), target_rank, NULL, &call);
    if (call == NULL)
        return rc;
    return win_call_made(call, make_swap(call, origin_addr, compare_addr, result_addr, &place), NULL);
}
