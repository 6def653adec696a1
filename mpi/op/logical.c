/* SPDX-License-Identifier: Apache-2.0
 * logical.c - operations on Fortran's logicals, when the compiler's literals are not those of C: any other pattern than
 * .FALSE. counts as true, and results are the literals.
 */
#include "op/op.h"

#include <string.h>

#define LITERAL_MAX 16

static struct {
    size_t size;
    unsigned char literal[2][LITERAL_MAX]; /* .FALSE., .TRUE. */
} logical;

static int truth(const unsigned char *element)
{
    return memcmp(element, logical.literal[0], logical.size) != 0;
}

static void set_truth(unsigned char *element, int value)
{
    memcpy(element, logical.literal[value], logical.size);
}

static void and_kernel(const void *in, void *inout, size_t count)
{
    const unsigned char *from = in;
    unsigned char *to = inout;
    for (size_t i = 0; i < count; i++, from += logical.size, to += logical.size)
        set_truth(to, truth(from) && truth(to));
}

static void or_kernel(const void *in, void *inout, size_t count)
{
    const unsigned char *from = in;
    unsigned char *to = inout;
    for (size_t i = 0; i < count; i++, from += logical.size, to += logical.size)
        set_truth(to, truth(from) || truth(to));
}

static void xor_kernel(const void *in, void *inout, size_t count)
{
    const unsigned char *from = in;
    unsigned char *to = inout;
    for (size_t i = 0; i < count; i++, from += logical.size, to += logical.size)
        set_truth(to, truth(from) != truth(to));
}

static void replace(MPI_Op op, MPI_Datatype type, op_kernel_t kernel)
{
    op_kernels[(uintptr_t)op - OP_FIRST][(uintptr_t)type - OP_TYPE_FIRST] = kernel;
}

int op_set_logical(size_t size, const void *true_literal, const void *false_literal, const MPI_Datatype *types,
                   size_t n)
{
    if (size == 0 || size > LITERAL_MAX)
        return -1;
    logical.size = size;
    memcpy(logical.literal[0], false_literal, size);
    memcpy(logical.literal[1], true_literal, size);
    for (size_t i = 0; i < n; i++) {
        replace(MPI_LAND, types[i], and_kernel);
        replace(MPI_LOR, types[i], or_kernel);
        replace(MPI_LXOR, types[i], xor_kernel);
    }
    return 0;
}
