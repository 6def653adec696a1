/* SPDX-License-Identifier: Apache-2.0
 * detail.h - stats detail: commands by the prefix of their key, in front of a delimiter. A bounded number of prefixes. Any
 * thread; the lock is a leaf. While it is off, a command costs a load. */
#ifndef MC_SERVER_DETAIL_H
#define MC_SERVER_DETAIL_H

#include "base/atomics.h"
#include "proto/reply.h"

typedef enum detail_kind { DETAIL_GET, DETAIL_SET, DETAIL_DELETE } detail_kind_t;

typedef struct detail detail_t;

/* NULL: no memory. */
detail_t *detail_open(char delimiter, bool on);
bool detail_is_on(const detail_t *detail);
void detail_switch(detail_t *detail, bool on);
/* Nothing happens while it is off, and for a key without a delimiter. hit: of a get. */
void detail_count(detail_t *detail, text_t key, detail_kind_t kind, bool hit);
void detail_dump(detail_t *detail, reply_t *reply);
/* Forgets all prefixes. */
void detail_reset(detail_t *detail);

#endif
