/* SPDX-License-Identifier: Apache-2.0
 * every.h - what the programs share that gen_tests.py makes: symmetric data in the heap and in static data, neighbours.
 */
#ifndef EVERY_H
#define EVERY_H

#define RULE_OWN_MAIN
#include <complex.h>
#include <pshmem.h>
#include <stdint.h>

#include "run/rule.h"

#define ROOM 8192

typedef struct {
    unsigned char bytes[16];
} block128_t;

static unsigned char in_statics[ROOM] __attribute__((aligned(64)));
static uint64_t signals[4];
static unsigned char *in_heap;
static unsigned char source[ROOM] __attribute__((aligned(64)));
static unsigned char copy[ROOM] __attribute__((aligned(64)));
static int left;
static int right;
static shmem_ctx_t ctx;
static const char *name; /* of the function */

/* Says which function is wrong. */
#define GOOD(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "PE %d of %d: %s, line %d of its test: not true: %s\n", me, size, name, __LINE__,          \
                    #condition);                                                                                       \
            shmem_global_exit(1);                                                                                      \
        }                                                                                                              \
    } while (0)

__attribute__((unused)) static void complete(void)
{
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
}

/* Element i of stride s here is element j of stride t there, in a buffer that `fill` has made. */
__attribute__((unused)) static int is_piece(const unsigned char *buffer, size_t i, const unsigned char *made, size_t j,
                                            size_t bytes)
{
    return memcmp(buffer + i * bytes, made + j * bytes, bytes) == 0;
}

__attribute__((unused)) static int is_zero(const unsigned char *buffer, size_t i, size_t bytes)
{
    for (size_t b = 0; b < bytes; b++)
        if (buffer[i * bytes + b] != 0)
            return 0;
    return 1;
}

static void run(void);

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    size = shmem_n_pes();
    left = (me + size - 1) % size;
    right = (me + 1) % size;
    in_heap = shmem_malloc(ROOM);
    GOOD(in_heap != NULL && shmem_ctx_create(0, &ctx) == 0);
    run();
    shmem_ctx_destroy(ctx);
    shmem_free(in_heap);
    shmem_finalize();
    return 0;
}

#endif
