/* SPDX-License-Identifier: Apache-2.0
 * rule.h - what the test programs share. Each tests one rule of the specification and ends with 0 when it holds. Its first
 * comment says with how many PEs it runs ("PEs: 1 2 4"), and "hosts" when also between fake hosts over TCP, "tcp" when also
 * over TCP alone.
 */
#ifndef RULE_H
#define RULE_H

#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((unused)) static int me;
__attribute__((unused)) static int size;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "PE %d of %d, %s:%d: not true: %s\n", me, size, __FILE__, __LINE__, #condition);           \
            shmem_global_exit(1);                                                                                      \
        }                                                                                                              \
    } while (0)

#ifndef RULE_OWN_MAIN
static void test(void);

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    size = shmem_n_pes();
    test();
    shmem_finalize();
    return 0;
}
#endif

__attribute__((unused)) static void fill(void *bytes, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)(i * 7 + (size_t)seed * 13 + i / 251 + 1);
}

__attribute__((unused)) static int is_filled(const void *bytes, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        if (((const unsigned char *)bytes)[i] != (unsigned char)(i * 7 + (size_t)seed * 13 + i / 251 + 1))
            return 0;
    return 1;
}

#endif
