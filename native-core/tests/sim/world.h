/* SPDX-License-Identifier: Apache-2.0
 * world.h - a few workers (protocol and link engines) on a simulated net, driven by a seed: random operations under random
 * faults, and the properties that must hold whatever happens. Plain C types only, so that C++ tests can include it. */
#ifndef VBN_TESTS_SIM_WORLD_H
#define VBN_TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct world_totals {
    uint64_t operations, messages, flushes, transfers, failed, peers_lost;
    uint64_t retransmits, duplicates, reordered, connected, resumes, lanes_added, lanes_lost, lanes_dropped;
    uint64_t virtual_ms;
} world_totals_t;

#define WORLD_KINDS 21u
/* What kind of run a seed is, e.g. "datagrams, heavy loss". */
const char *world_kind(uint64_t seed);
/* Runs one seed to its end and adds to the totals. false: a property is violated, `problem` says which. */
bool world_run(uint64_t seed, world_totals_t *totals, char *problem, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
