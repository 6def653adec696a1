/* SPDX-License-Identifier: Apache-2.0
 * stats.h - lines of the stats command. */
#ifndef MC_SERVER_STATS_H
#define MC_SERVER_STATS_H

#include "server/exec.h"

/* stats_line.c */
void stats_u64(reply_t *reply, const char *name, uint64_t value);
void stats_text(reply_t *reply, const char *name, const char *value);
/* Names that memcached reports and that have no meaning here: 0. The list ends with NULL. */
void stats_zero(reply_t *reply, const char *const *names);

void stats_general(exec_t *exec);
void stats_settings(exec_t *exec);
void stats_messages(exec_t *exec);
void stats_clients(exec_t *exec); /* a part of it, stats_general.c */
/* conns.c. False: there are more, from *resume_p on. */
bool stats_conns(exec_t *exec, uint64_t *resume_p);

/* Of items on disk: among those of gets, at the end of the general ones, of `stats verbena`, by page (stats_disk.c). */
void stats_disk_gets(exec_t *exec, const store_counters_t *counters);
void stats_disk(exec_t *exec);
void stats_disk_verbena(exec_t *exec, const store_stats_t *stats);
void stats_pages(exec_t *exec);

#endif
