/* SPDX-License-Identifier: Apache-2.0
 * cells.c - what is measured: each row with its sizes, its rounds and its unit.
 */
#include "bench.h"

#define LATENCY(size) {"latency", p2p_latency, size, {10000, 1000}, 0, 0.5e6, 0, "us"}
#define BANDWIDTH(size) {"bandwidth", p2p_window, size, {100, 20}, 0, 0, (double)(size) * WINDOW * 1e-9, "GB/s"}
#define ONE_SIDED(name, size) {#name, rma_##name, size, {10000, 1000}, 0, 1e6, 0, "us"}
#define SYNCHRONISATION(name) {#name, sync_##name, 0, {10000, 0}, 0, 1e6, 0, "us"}
#define COLLECTIVE(name, size) {#name, coll_##name, size, {1000, 100}, 1, 1e6, 0, "us"}

/* clang-format off */
static const cell_t two[] = {
    LATENCY(8), LATENCY(65536), LATENCY(1u << 20),
    {"rate", p2p_window, 8, {1000, 0}, 0, 0, WINDOW * 1e-6, "Mmsg/s"},
    BANDWIDTH(4096), BANDWIDTH(65536), BANDWIDTH(1u << 20),
    COLLECTIVE(allreduce, 8), COLLECTIVE(allreduce, 65536), COLLECTIVE(allreduce, 1u << 20),
    COLLECTIVE(bcast, 8), COLLECTIVE(bcast, 65536), COLLECTIVE(bcast, 1u << 20),
    COLLECTIVE(alltoall, 8), COLLECTIVE(alltoall, 65536),
    COLLECTIVE(barrier, 0),
};
/* clang-format on */
static const cell_t four[] = {COLLECTIVE(allreduce, 8), COLLECTIVE(barrier, 0)};
/* clang-format off */
static const cell_t rma[] = {
    ONE_SIDED(put, 8), ONE_SIDED(put, 65536), ONE_SIDED(put, 1u << 20),
    ONE_SIDED(get, 8), ONE_SIDED(get, 65536), ONE_SIDED(get, 1u << 20),
    ONE_SIDED(fetch_and_op, 8), ONE_SIDED(accumulate, 8),
    SYNCHRONISATION(flush), SYNCHRONISATION(lock), SYNCHRONISATION(fence), SYNCHRONISATION(pscw),
    ONE_SIDED(compare_and_swap, 8), /* last: it ends jobs of Open MPI 4.1.4 */
};
/* clang-format on */
static const cell_t counter[] = {{"counter", counter_add, 0, {1, 1}, 0, 1e6, 0, "us"}};

#define FORM(name, ranks, pinned) {#name, ranks, pinned, name, sizeof(name) / sizeof(name[0])}
const form_t forms[] = {FORM(two, 2, 1), FORM(four, 4, 0), FORM(rma, 2, 1), FORM(counter, 9, 0)};
const size_t form_count = sizeof(forms) / sizeof(forms[0]);
