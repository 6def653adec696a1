/* SPDX-License-Identifier: Apache-2.0
 * level.c - which vectors this processor has. Each feature that the kernels of a level use is asked for: processors with some
 * of AVX-512 lack other parts of it.
 */
#include "op/op.h"

#if defined(__x86_64__)
static op_level_t ask(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2"))
        return OP_PLAIN;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return OP_AVX512;
    return OP_AVX2;
}
#else
static op_level_t ask(void)
{
    return OP_PLAIN;
}
#endif

op_level_t op_level(void)
{
    static op_level_t known = OP_LEVELS; /* R1: one thread at a time, and all find the same */
    if (known == OP_LEVELS)
        known = ask();
    return known;
}
