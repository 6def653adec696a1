/* SPDX-License-Identifier: Apache-2.0
 * load.h - values on disk that a request waits for.
 *
 * A request that needs such a value ends with STORE_ON_DISK, and nothing has happened. Its loads have noted what it needs. When all
 * of that was read, the same request runs again, and finds the values there. Where an item has changed meanwhile, it is read again.
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

/* As store_get_t has it; arg: the loads. Notes what is not there. */
const char *loads_fetch(void *arg, store_key_t key, const place_t *place);
/* More can be noted. */
bool loads_have_place(const loads_t *loads);
/* The item of a key is to come back to memory. STORE_ON_DISK: when it was read; STORE_NO_MEMORY: it cannot. */
store_status_t loads_promote(loads_t *loads, store_key_t key);
/* Reads what was noted. True: all of it was at hand, the request may run again. False: `ready` will be called. */
bool loads_begin(loads_t *loads);
/* Nothing is needed any more, also of what is being read. */
void loads_clear(loads_t *loads);

#endif
