/* SPDX-License-Identifier: Apache-2.0
 * measure.h - what the cost model assumes of this host: measured at start-up, read from a file, or built in. */
#ifndef VBN_PROTO_MEASURE_H
#define VBN_PROTO_MEASURE_H

#include "base/log.h"
#include "base/settings.h"
#include "proto/model.h"

/* Steps that measure_host may take, whatever the host does: with them it stays below 2 ms. */
#define MEASURE_COPIES 3u /* of MEASURE_COPY_BYTES */
#define MEASURE_COPY_BYTES (512u << 10)
#define MEASURE_PACKS 2u    /* of a chunk (stage.h) */
#define MEASURE_CALLS 96u   /* system calls */
#define MEASURE_ROUNDS 128u /* of a cache line, there and back */
#define MEASURE_SPINS 8192u /* looks at a line that has not come, in all rounds together */

/* What a measurement did; tests hold it against the bounds. */
typedef struct measure_steps {
    uint32_t copies, packs, calls, rounds, spins;
} measure_steps_t;

/* Any thread; starts one thread for a moment where there are two processors. steps_p may be NULL. */
void measure_host(model_host_t *host, measure_steps_t *steps_p);

/* Reads the file: of our user and nobody else's, of this boot of this host, whole, and of possible values. */
vbn_status_t measure_read(const char *path, model_host_t *host);
/* Writes it anew, so that readers see the old or the new one. The directory must be of mode 0700 and ours. */
vbn_status_t measure_write(const char *path, const model_host_t *host);

/* As the setting proto.cost_file says. Never fails: says in one line of log what it could not use. */
void measure_load(const settings_t *settings, const log_sink_t *log, model_host_t *host);

#endif
