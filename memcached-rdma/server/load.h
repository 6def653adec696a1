/* SPDX-License-Identifier: Apache-2.0
 * load.h - values on disk that a request waits for.
 *
 * A request that needs such a value ends with STORE_ON_DISK, and has changed nothing. Its loads have noted the missing values. When
 * all of them were read, the same request runs again, and finds them. A value whose item has changed meanwhile is read again.
 * So a request never waits, and shows what the store has at the moment of its answer. */
#ifndef MC_SERVER_LOAD_H
#define MC_SERVER_LOAD_H

#include "ssd/disk.h"
#include "store/store.h"

typedef struct load load_t;
struct worker;

/* Of one client or call, on the thread of its worker. All zero but `worker` and `ready`: nothing is needed. */
typedef struct loads {
    struct worker *worker;
    load_t *first;
    unsigned count, waiting; /* waiting: being read */
    size_t bytes;
    bool no_memory;                     /* a value that was read has no place in memory */
    void (*ready)(struct loads *loads); /* all that loads_begin has begun is here */
} loads_t;

/* The function of store_get_t; arg: the loads. Notes the values that are not in memory. */
const char *loads_fetch(void *arg, store_key_t key, const place_t *place);
/* More can be noted. */
bool loads_have_place(const loads_t *loads);
/* The item of a key is to come back to memory. STORE_ON_DISK: when it was read; STORE_NO_MEMORY: it cannot. */
store_status_t loads_promote(loads_t *loads, store_key_t key);
/* Reads the noted values, before the worker sleeps. True: all were in memory, and the request may run again. False: `ready` will
 * be called. */
bool loads_begin(loads_t *loads);
/* The request needs no value any more; reads under way end without it. */
void loads_clear(loads_t *loads);

#endif
