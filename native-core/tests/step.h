/* SPDX-License-Identifier: Apache-2.0
 * step.h - calls a function one machine instruction after the other, and looks at memory after each: shows what another processor
 * could see at any moment, without luck. By the trap flag of x86-64; elsewhere step_through returns 0 and the test is skipped. */
#ifndef VBN_TESTS_STEP_H
#define VBN_TESTS_STEP_H

#include <signal.h>
#include <stdint.h>
#include <string.h>

typedef void (*step_func_t)(void *arg);

static step_func_t step_look;
static void *step_arg;
static volatile unsigned long step_count;

static inline void step_on_trap(int number)
{
    (void)number;
    step_count = step_count + 1;
    step_look(step_arg);
}

/* Calls func(func_arg), and look(arg) after each of its instructions; how many there were. One thread. */
static inline unsigned long step_through(step_func_t func, void *func_arg, step_func_t look, void *arg)
{
    step_count = 0;
#if defined(__x86_64__)
    struct sigaction action, before;
    memset(&action, 0, sizeof(action));
    action.sa_handler = step_on_trap;
    step_look = look;
    step_arg = arg;
    sigaction(SIGTRAP, &action, &before);
    /* The 128 bytes below the stack pointer belong to this function. */
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    func(func_arg);
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    sigaction(SIGTRAP, &before, NULL);
#else
    (void)func;
    (void)func_arg;
    (void)look;
    (void)arg;
#endif
    return step_count;
}

/* Words, one beside the other, that a copy writes: their owner resets each as soon as it sees the new value. */
#define STEP_WORDS 64u

typedef struct step_words {
    void *at;
    size_t width, count;         /* 1, 2, 4 or 8 bytes each; at most STEP_WORDS */
    unsigned char before, after; /* each byte of them */
    unsigned torn;               /* looks that saw neither */
    unsigned stored[STEP_WORDS]; /* stores of the new value, of each word */
} step_words_t;

static inline void step_watch(void *arg)
{
    step_words_t *words = (step_words_t *)arg;
    unsigned char old_bytes[8], new_bytes[8];
    memset(old_bytes, words->before, sizeof(old_bytes));
    memset(new_bytes, words->after, sizeof(new_bytes));
    for (size_t i = 0; i < words->count; i++) {
        unsigned char *word = (unsigned char *)words->at + i * words->width;
        if (memcmp(word, new_bytes, words->width) == 0) {
            words->stored[i]++;
            memcpy(word, old_bytes, words->width);
        } else if (memcmp(word, old_bytes, words->width) != 0) {
            words->torn++;
        }
    }
}

/* True when each word was stored exactly once, and never seen in part. */
static inline int step_each_once(const step_words_t *words)
{
    for (size_t i = 0; i < words->count; i++)
        if (words->stored[i] != 1)
            return 0;
    return words->torn == 0;
}

/* Memory that a copy reads: all of it changes after each instruction, to and fro. */
typedef struct step_source {
    void *at;
    size_t bytes;
    unsigned char now;
} step_source_t;

static inline void step_change(void *arg)
{
    step_source_t *source = (step_source_t *)arg;
    source->now = (unsigned char)~source->now;
    memset(source->at, source->now, source->bytes);
}

#endif
