/* SPDX-License-Identifier: Apache-2.0
 * A put of a few elements stores each of them once and whole, and a get loads each whole, whatever another PE sees and does
 * meanwhile: looked at after each machine instruction.
 * PEs: 2
 */
#include "rule.h"

#include "step.h"

#define MOST 8
#define OLD 0x11
#define NEW 0x22

static uint64_t there[2 * MOST]; /* of PE 1 */
static uint64_t here[2 * MOST];
static uint64_t signal_word;

#define PUT(name, call)                                                                                                \
    static void name(void *arg)                                                                                        \
    {                                                                                                                  \
        (void)arg;                                                                                                     \
        call;                                                                                                          \
    }

PUT(put_short, shmem_short_put((short *)there, (short *)here, 1, 1))
PUT(put_int, shmem_int_put((int *)there, (int *)here, 1, 1))
PUT(put_3_ints, shmem_int_put((int *)there, (int *)here, 3, 1))
PUT(put_long, shmem_long_put((long *)there, (long *)here, 1, 1))
PUT(put_3_longs, shmem_long_put((long *)there, (long *)here, 3, 1))
PUT(put_8_longs, shmem_long_put((long *)there, (long *)here, 8, 1))
PUT(put_int_nbi, shmem_int_put_nbi((int *)there, (int *)here, 1, 1))
PUT(put_mem, shmem_putmem(there, here, 4, 1))
PUT(p_int, shmem_int_p((int *)there, 0x22222222, 1))
PUT(p_long, shmem_long_p((long *)there, 0x2222222222222222, 1))
PUT(iput_ints, shmem_int_iput((int *)there, (int *)here, 1, 2, 3, 1))
PUT(put_and_signal, shmem_int_put_signal((int *)there, (int *)here, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 1))

static void puts_once(step_func_t put, size_t width, size_t count)
{
    step_words_t words = {.at = shmem_ptr(there, 1), .width = width, .count = count, .before = OLD, .after = NEW};
    CHECK(words.at != NULL);
    memset(words.at, OLD, sizeof(there));
    memset(here, NEW, sizeof(here));
    CHECK(step_through(put, NULL, step_watch, &words) > 0);
    CHECK(step_each_once(&words));
}

PUT(get_short, shmem_short_get((short *)here, (short *)there, 1, 1))
PUT(get_int, shmem_int_get((int *)here, (int *)there, 1, 1))
PUT(get_3_ints, shmem_int_get((int *)here, (int *)there, 3, 1))
PUT(get_long, shmem_long_get((long *)here, (long *)there, 1, 1))
PUT(g_long, here[0] = (uint64_t)shmem_long_g((long *)there, 1))
PUT(iget_ints, shmem_int_iget((int *)here, (int *)there, 1, 2, 3, 1))

static void gets_whole(step_func_t get, size_t width, size_t count)
{
    step_source_t source = {.at = shmem_ptr(there, 1), .bytes = sizeof(there), .now = 0x0F};
    const unsigned char *bytes = (const unsigned char *)here;
    memset(source.at, source.now, source.bytes);
    CHECK(step_through(get, NULL, step_change, &source) > 0);
    for (size_t i = 0; i < width * count; i++)
        CHECK(bytes[i] == bytes[i / width * width]);
}

static void test(void)
{
    shmem_barrier_all();
#ifdef __x86_64__
    if (me == 0) {
        puts_once(put_short, 2, 1);
        puts_once(put_int, 4, 1);
        puts_once(put_3_ints, 4, 3);
        puts_once(put_long, 8, 1);
        puts_once(put_3_longs, 8, 3);
        puts_once(put_8_longs, 8, 8);
        puts_once(put_int_nbi, 4, 1);
        puts_once(put_mem, 4, 1);
        puts_once(p_int, 4, 1);
        puts_once(p_long, 8, 1);
        puts_once(iput_ints, 4, 3);
        puts_once(put_and_signal, 4, 1);
        gets_whole(get_short, 2, 1);
        gets_whole(get_int, 4, 1);
        gets_whole(get_3_ints, 4, 3);
        gets_whole(get_long, 8, 1);
        gets_whole(g_long, 8, 1);
        gets_whole(iget_ints, 4, 3);
    }
#endif
    shmem_barrier_all();
}
