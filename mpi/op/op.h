/* SPDX-License-Identifier: Apache-2.0
 * op.h - reduction kernels of the predefined operations on the predefined datatypes; generated from mpi/api.
 */
#ifndef VERBENA_OP_H
#define VERBENA_OP_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#define OP_FIRST 0x20
#define OP_NAMED 0x20
#define OP_TYPE_FIRST 0x200
#define OP_TYPES 0x100

/* inout[i] becomes in[i] OP inout[i]; count elements. */
typedef void (*op_kernel_t)(const void *in, void *inout, size_t count);

extern op_kernel_t op_kernels[OP_NAMED][OP_TYPES];

/* NULL: the operation does not take this type. Both handles are predefined. */
static inline op_kernel_t op_find(MPI_Op op, MPI_Datatype type)
{
    return op_kernels[(uintptr_t)op - OP_FIRST][(uintptr_t)type - OP_TYPE_FIRST];
}

/* From now on the logical operations on these types, of `size` bytes, take and give these literals. Once, before any
 * reduction. -1: no logical has that size. */
int op_set_logical(size_t size, const void *true_literal, const void *false_literal, const MPI_Datatype *types,
                   size_t n);

#endif
