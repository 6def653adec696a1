/* SPDX-License-Identifier: Apache-2.0
 * make.c - drafts of datatypes. Bounds follow the definition of the standard: bounds set by hand (sticky) outweigh
 * those of the data; without them the extent is rounded up to the alignment of the basic elements. The extent of an old type
 * counts with its padding: mpi4py makes NumPy's types with each element as long as its extent, and these would
 * not fit into the data alone, where displacements are not aligned.
 */
#include "dt/make.h"

#include <stdlib.h>

#include "err/err.h"

static void too_large(dt_draft_t *draft)
{
    if (draft->rc == MPI_SUCCESS)
        draft->rc = err_set(MPI_ERR_ARG, "the datatype does not fit into an address space");
}

dt_type_t *dt_draft_old(dt_draft_t *draft, MPI_Datatype handle)
{
    dt_type_t *type = dt_find(handle);
    if (type == NULL && draft->rc == MPI_SUCCESS)
        draft->rc = err_set(MPI_ERR_TYPE, "oldtype %p is not a datatype", (void *)handle);
    return type;
}

MPI_Aint dt_draft_times(dt_draft_t *draft, MPI_Aint a, MPI_Aint b)
{
    MPI_Aint product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        too_large(draft);
    return product;
}

static MPI_Aint plus(dt_draft_t *draft, MPI_Aint a, MPI_Aint b)
{
    MPI_Aint sum = 0;
    if (__builtin_add_overflow(a, b, &sum))
        too_large(draft);
    return sum;
}

void dt_draft_bound(dt_draft_t *draft, const dt_type_t *old, MPI_Count count, MPI_Aint offset)
{
    if (count == 0 || (old->sig->elements == 0 && !old->sticky))
        return;
    const MPI_Aint extent = (MPI_Aint)old->extent;
    const MPI_Aint way = dt_draft_times(draft, (MPI_Aint)count - 1, extent);
    const MPI_Aint first = plus(draft, offset, old->lb);
    const MPI_Aint lb = plus(draft, first, way < 0 ? way : 0);
    const MPI_Aint ub = plus(draft, plus(draft, first, extent), way > 0 ? way : 0);
    draft->align = old->align > draft->align ? old->align : draft->align;
    if (draft->bounded && draft->sticky && !old->sticky)
        return;
    const int fresh = !draft->bounded || (old->sticky && !draft->sticky);
    draft->lb = fresh || lb < draft->lb ? lb : draft->lb;
    draft->ub = fresh || ub > draft->ub ? ub : draft->ub;
    draft->bounded = 1;
    draft->sticky = old->sticky;
}

void dt_draft_resize(dt_draft_t *draft, MPI_Aint lb, MPI_Aint extent)
{
    draft->lb = lb;
    draft->ub = plus(draft, lb, extent);
    draft->bounded = 1;
    draft->sticky = 1;
}

void dt_draft_strided(dt_draft_t *draft, dt_type_t *old, MPI_Count count, MPI_Count length, MPI_Aint stride)
{
    dt_node_t *block = NULL;
    if (draft->rc == MPI_SUCCESS && length > 0 && count > 0) {
        dt_draft_bound(draft, old, length, 0);
        dt_draft_bound(draft, old, length, dt_draft_times(draft, (MPI_Aint)count - 1, stride));
    }
    const MPI_Aint total = dt_draft_times(draft, (MPI_Aint)count, (MPI_Aint)length);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_node_repeat(old->node, (size_t)length, (MPI_Aint)old->extent, 0, &block);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_node_repeat(block, (size_t)count, stride, 0, &draft->node);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_sig_repeat(old->sig, (size_t)total, &draft->sig);
    dt_node_release(block);
}

static MPI_Aint padded(dt_draft_t *draft)
{
    MPI_Aint extent = 0;
    if (!draft->bounded)
        return 0;
    if (__builtin_sub_overflow(draft->ub, draft->lb, &extent))
        too_large(draft);
    const MPI_Aint align = draft->align == 0 ? 1 : (MPI_Aint)draft->align;
    const MPI_Aint beyond = extent % align;
    return draft->sticky || beyond <= 0 ? extent : plus(draft, extent, align - beyond);
}

static dt_type_t *allocate(const dt_draft_t *draft, MPI_Aint extent)
{
    dt_type_t *type = calloc(1, sizeof(*type));
    if (type == NULL)
        return NULL;
    type->obj = (obj_t){.kind = OBJ_DATATYPE, .refs = 1};
    type->handles = 1;
    type->name = "";
    type->size = draft->node->bytes;
    type->extent = (size_t)extent;
    type->lb = draft->bounded ? draft->lb : 0;
    type->sticky = draft->sticky;
    type->align = draft->align;
    type->node = draft->node;
    type->sig = draft->sig;
    return type;
}

static int check_present(const MPI_Datatype *types, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const dt_type_t *type = dt_find(types[i]);
        if (type != NULL && type->absent)
            return dt_absent(type);
    }
    return MPI_SUCCESS;
}

int dt_draft_end(dt_draft_t *draft, int combiner, const dt_argument_t *arguments, size_t n, const MPI_Datatype *types,
                 size_t n_types, MPI_Datatype *newtype)
{
    dt_contents_t *contents = NULL;
    dt_type_t *type = NULL;
    const MPI_Aint extent = padded(draft);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = check_present(types, n_types);
    if (draft->rc == MPI_SUCCESS)
        draft->rc = dt_contents_create(combiner, arguments, n, types, n_types, &contents);
    if (draft->rc == MPI_SUCCESS && (type = allocate(draft, extent)) == NULL)
        draft->rc = err_set(MPI_ERR_NO_MEM, "datatype: no memory left");
    if (draft->rc != MPI_SUCCESS) {
        dt_contents_destroy(contents);
        dt_node_release(draft->node);
        dt_sig_release(draft->sig);
        return draft->rc;
    }
    type->contents = contents;
    *newtype = (MPI_Datatype)type;
    return MPI_SUCCESS;
}
