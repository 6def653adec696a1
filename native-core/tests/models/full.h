/* SPDX-License-Identifier: Apache-2.0
 * full.h - how often a test repeats what chance may find: fewer times as a rule than in the long form. */
#ifndef VBN_TESTS_MODELS_FULL_H
#define VBN_TESTS_MODELS_FULL_H

#include <stdbool.h>
#include <stdlib.h>

/* Whether the long form was asked for: ./verbena test --full says VERBENA_TEST_FULL=1. */
static inline bool test_is_full(void)
{
    const char *text = getenv("VERBENA_TEST_FULL");
    return text != NULL && text[0] != '\0';
}

static inline unsigned usual_or_full(unsigned usual, unsigned full)
{
    return test_is_full() ? full : usual;
}

#endif
