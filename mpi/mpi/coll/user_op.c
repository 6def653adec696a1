/* SPDX-License-Identifier: Apache-2.0
 * user_op.c - operations: the predefined ones by their kernels, those of users by their functions.
 */
#include <limits.h>
#include <stdlib.h>

#include "coll/coll.h"
#include "err/err.h"
#include "mpi_impl.h"
#include "op/op.h"
#include "rt/threads.h"

typedef struct user_op {
    obj_t obj;
    MPI_User_function *small;
    MPI_User_function_c *large;
    void (*with)(void *, void *, MPI_Count, MPI_Datatype,
                 void *); /* gets state: the function of a program of another ABI */
    void *state;
    int commutes;
} user_op_t;

/* A reduction with op on elements of type. */
typedef struct reduction {
    grp_reduce_t reduce;
    MPI_Op op;
    MPI_Datatype type;
    size_t count; /* of elements that travel as one; 0: each by itself */
    size_t shift; /* coll_values_t */
} reduction_t;

static int is_predefined(MPI_Op op)
{
    return (uintptr_t)op > OP_FIRST && (uintptr_t)op < OP_FIRST + OP_NAMED;
}

int coll_op_is_valid(MPI_Op op)
{
    return is_predefined(op) || obj_is(op, OBJ_OP);
}

static void apply_kernel(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    const reduction_t *reduction = reduce->arg;
    if (reduce->combine != NULL && count * reduce->element >= OP_WIDE_FROM)
        reduce->combine(in, inout, inout, count);
    else
        op_find(reduction->op, dt_find(reduction->type)->basic)(in, inout, count);
}

/* The int form is called in pieces that an int can count. */
static void call_user(reduction_t *reduction, char *in, char *inout, size_t count)
{
    const user_op_t *op = (const user_op_t *)reduction->op;
    const size_t extent = dt_find(reduction->type)->extent;
    if (op->with != NULL) {
        op->with(in, inout, (MPI_Count)count, reduction->type, op->state);
        return;
    }
    if (op->large != NULL) {
        MPI_Count length = (MPI_Count)count;
        op->large(in, inout, &length, &reduction->type);
        return;
    }
    while (count > 0) {
        int length = count < INT_MAX ? (int)count : INT_MAX;
        op->small(in, inout, &length, &reduction->type);
        in += (size_t)length * extent;
        inout += (size_t)length * extent;
        count -= (size_t)length;
    }
}

static void apply_user(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    reduction_t *reduction = reduce->arg;
    char *from = (char *)(uintptr_t)in + reduction->shift;
    call_user(reduction, from, (char *)inout + reduction->shift, reduction->count > 0 ? reduction->count : count);
}

static int describe(reduction_t *reduction, MPI_Op op, MPI_Datatype type)
{
    dt_type_t *found;
    const int rc = dt_usable(type, &found);
    if (rc != MPI_SUCCESS)
        return rc;
    *reduction = (reduction_t){.op = op, .type = type};
    reduction->reduce.arg = reduction;
    reduction->reduce.element = found->extent;
    reduction->reduce.commutes = is_predefined(op) || ((const user_op_t *)op)->commutes;
    reduction->reduce.foreign = !is_predefined(op);
    reduction->reduce.apply = is_predefined(op) ? apply_kernel : apply_user;
    if (is_predefined(op) && (found->basic == NULL || op_find(op, found->basic) == NULL))
        return err_set(MPI_ERR_OP, "op %s does not take elements of %s", op_name(op), dt_name(found));
    if (is_predefined(op))
        reduction->reduce.combine = op_wide_find(op, found->basic);
    return MPI_SUCCESS;
}

/* The program may free an operation that collectives still use. */
static void release(void *arg)
{
    user_op_t *op = arg;
    if (--op->obj.refs > 0)
        return;
    obj_end(&op->obj);
    free(op);
}

int coll_reduction(coll_t *coll, coll_values_t *values, MPI_Op op)
{
    void *memory;
    int rc = coll_memory(coll, sizeof(reduction_t), &memory);
    if (rc == MPI_SUCCESS)
        rc = describe(memory, op, values->type);
    if (rc != MPI_SUCCESS)
        return rc;
    reduction_t *reduction = memory;
    if (!values->dense) {
        reduction->count = (size_t)values->count;
        reduction->shift = values->shift;
        reduction->reduce.element = values->bytes;
        reduction->reduce.before = values->before;
        reduction->reduce.after = values->after;
    }
    if (!is_predefined(op)) {
        ((user_op_t *)op)->obj.refs++;
        sched_at_end(coll->sched, release, op);
    }
    values->reduce = &reduction->reduce;
    return MPI_SUCCESS;
}

static int create(const user_op_t *functions, MPI_Op *op)
{
    if (functions->small == NULL && functions->large == NULL && functions->with == NULL)
        return err_set(MPI_ERR_ARG, "user_fn is NULL");
    user_op_t *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return err_set(MPI_ERR_NO_MEM, "operation: no memory left");
    *made = *functions;
    made->obj = (obj_t){.kind = OBJ_OP, .refs = 1};
    *op = (MPI_Op)made;
    return MPI_SUCCESS;
}

int mpi_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)
{
    return create(&(user_op_t){.small = user_fn, .commutes = commute}, op);
}

int mpi_Op_create_c(MPI_User_function_c *user_fn, int commute, MPI_Op *op)
{
    return create(&(user_op_t){.large = user_fn, .commutes = commute}, op);
}

int mpi_Op_create_with(void (*user_fn)(void *, void *, MPI_Count, MPI_Datatype, void *), void *state, int commute,
                       MPI_Op *op)
{
    return create(&(user_op_t){.with = user_fn, .state = state, .commutes = commute}, op);
}

int mpi_Op_free(MPI_Op *op)
{
    if (!obj_is(*op, OBJ_OP))
        return err_set(MPI_ERR_OP, "op %p was not made by the program", (void *)*op);
    release(*op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int mpi_Op_commutative(MPI_Op op, int *commute)
{
    *commute = is_predefined(op) ? op != MPI_REPLACE && op != MPI_NO_OP : ((const user_op_t *)op)->commutes;
    return MPI_SUCCESS;
}

/* The program's function may wait for other threads, which need the runtime; so others go on during a long reduction, too. */
static void apply_outside(const reduction_t *reduction, const void *inbuf, void *inoutbuf, size_t count)
{
    dt_type_t *type = dt_find(reduction->type);
    user_op_t *op = is_predefined(reduction->op) ? NULL : (user_op_t *)reduction->op;
    dt_keep(type);
    if (op != NULL)
        op->obj.refs++;
    rt_leave();
    reduction->reduce.apply(&reduction->reduce, inbuf, inoutbuf, count);
    rt_enter();
    if (op != NULL)
        release(op);
    dt_release(type);
}

int mpi_Reduce_local(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    reduction_t reduction;
    dt_data_t checked;
    int rc = describe(&reduction, op, datatype);
    if (rc == MPI_SUCCESS)
        rc = dt_describe(&checked, inbuf, count, datatype);
    if (rc == MPI_SUCCESS)
        rc = dt_describe(&checked, inoutbuf, count, datatype);
    if (rc == MPI_SUCCESS && count > 0)
        apply_outside(&reduction, inbuf, inoutbuf, (size_t)count);
    return rc;
}
