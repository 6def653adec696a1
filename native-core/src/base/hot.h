/* SPDX-License-Identifier: Apache-2.0
 * hot.h - compiler hints for the few functions that every small message passes. */
#ifndef VBN_BASE_HOT_H
#define VBN_BASE_HOT_H

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define COLD __attribute__((noinline, cold))

/* The line at this address will be written soon: this processor gets it for itself, while the program goes on. */
static ALWAYS_INLINE void prefetch_to_write(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0"
                     :
                     : "m"(*(const char *)address)); /* the builtin only reads, without a flag of the target */
#else
    __builtin_prefetch(address, 1);
#endif
}

/* No stack canary: only for functions whose frame is written with constant lengths alone. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define NO_CANARY __attribute__((no_stack_protector))
#endif
#endif
#ifndef NO_CANARY
#define NO_CANARY
#endif

#endif
