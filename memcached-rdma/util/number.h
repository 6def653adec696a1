/* SPDX-License-Identifier: Apache-2.0
 * number.h - decimal numbers as the protocols and stored values write them. */
#ifndef MC_UTIL_NUMBER_H
#define MC_UTIL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads an unsigned decimal number that fills the text, but for blanks before and anything after a blank. A plus sign is
 * allowed, a minus sign is not. False: not a number, or too large; nothing is written. */
bool number_u64(const char *text, size_t length, uint64_t *value_p);
/* The same with a minus sign allowed. */
bool number_i64(const char *text, size_t length, int64_t *value_p);

#endif
