/* SPDX-License-Identifier: Apache-2.0
 * api_private.h - what the public objects are made of. A context may be used from any thread (its own state is locked);
 * a worker belongs to one thread, except vbn_worker_wake. */
#ifndef VBN_API_PRIVATE_H
#define VBN_API_PRIVATE_H

#include <pthread.h>

#include "base/counters.h"
#include "base/log.h"
#include "base/settings.h"
#include "link/link.h"
#include "mem/mem.h"
#include "proto/proto.h"

struct vbn_config {
    settings_t settings;
    log_sink_t log;
    uint8_t job_key[VBN_JOB_KEY_BYTES];
    bool has_key;
    bool chosen[SETTINGS_COUNT]; /* by the environment or vbn_config_set */
    char foreign[256]; /* VBN_* variables of the environment that are no settings; told when the context opens */
};

struct vbn_context {
    struct vbn_config config; /* never changed after vbn_open */
    stats_page_t *stats;
    counters_t *counters; /* of what is not a worker's: memory */
    mem_registry_t *memory;
    model_host_t host; /* never changed after vbn_open */
    uint64_t fork_generation;
    pthread_mutex_t lock; /* guards workers */
    unsigned workers;
};

/* First line of a call that belongs to the worker's thread. */
#ifdef NDEBUG
#define API_BY_ONE_THREAD(engine) ((void)0)
#else
#define API_BY_ONE_THREAD(engine)                                                                                      \
    __attribute__((cleanup(proto_unuse), unused)) proto_engine_t *api_used = proto_use(engine)
#endif

struct vbn_worker {
    vbn_context_t *context;
    counters_t *counters;
    link_engine_t *link;
    struct proto_engine *proto;
};

#endif
