/* SPDX-License-Identifier: Apache-2.0
 * stats_line.c - lines of the stats command. */
#include "server/stats.h"

void stats_u64(reply_t *reply, const char *name, uint64_t value)
{
    reply_format(reply, "STAT %s %llu\r\n", name, (unsigned long long)value);
}

void stats_text(reply_t *reply, const char *name, const char *value)
{
    reply_format(reply, "STAT %s %s\r\n", name, value);
}

void stats_zero(reply_t *reply, const char *const *names)
{
    for (; *names != NULL; names++)
        stats_u64(reply, *names, 0);
}
