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

/* NULL: no operation of the standard has that value. */
extern const char *const op_names[OP_NAMED];

/* For texts of errors; of any handle. */
static inline const char *op_name(MPI_Op op)
{
    const uintptr_t at = (uintptr_t)op - OP_FIRST;
    return at < OP_NAMED && op_names[at] != NULL ? op_names[at] : "an operation of the program";
}

/* NULL: the operation does not take this type. Both handles are predefined. */
static inline op_kernel_t op_find(MPI_Op op, MPI_Datatype type)
{
    return op_kernels[(uintptr_t)op - OP_FIRST][(uintptr_t)type - OP_TYPE_FIRST];
}

/* to[i] becomes a[i] OP b[i], with the bits of the kernel of op_find; to may be a or b. For much data: by vectors. */
typedef void (*op_wide_t)(const void *a, const void *b, void *to, size_t count);

#define OP_WIDE_FROM 512u /* bytes; fewer are not worth a vector kernel's beginning and end */

/* Instructions that a kernel may use. */
typedef enum op_level { OP_PLAIN, OP_AVX2, OP_AVX512, OP_LEVELS } op_level_t;

/* The highest that this processor has. */
op_level_t op_level(void);
/* NULL: there is none for this operation and type; op_find's kernel is the way. Both handles are predefined. */
op_wide_t op_wide_at(op_level_t level, MPI_Op op, MPI_Datatype type);

static inline op_wide_t op_wide_find(MPI_Op op, MPI_Datatype type)
{
    return op_wide_at(op_level(), op, type);
}

/* From now on the logical operations on these types, of `size` bytes, take and give these literals. Once, before any
 * reduction. -1: no logical has that size. */
int op_set_logical(size_t size, const void *true_literal, const void *false_literal, const MPI_Datatype *types,
                   size_t n);

#endif
