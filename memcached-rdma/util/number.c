/* SPDX-License-Identifier: Apache-2.0
 * number.c - decimal numbers. */
#include "util/number.h"

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool number_u64(const char *text, size_t length, uint64_t *value_p)
{
    size_t at = 0;
    uint64_t value = 0;
    while (at < length && is_blank(text[at]))
        at++;
    if (at < length && text[at] == '+')
        at++;
    size_t first = at;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++) {
        uint64_t digit = (uint64_t)(text[at] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (at == first || (at < length && !is_blank(text[at])))
        return false;
    *value_p = value;
    return true;
}

bool number_i64(const char *text, size_t length, int64_t *value_p)
{
    uint64_t value;
    size_t at = 0;
    while (at < length && is_blank(text[at]))
        at++;
    bool negative = at < length && text[at] == '-';
    if (negative && (at + 1 == length || text[at + 1] < '0' || text[at + 1] > '9'))
        return false;
    at += negative;
    if (!number_u64(text + at, length - at, &value) || value > (uint64_t)INT64_MAX)
        return false;
    *value_p = negative ? -(int64_t)value : (int64_t)value;
    return true;
}
