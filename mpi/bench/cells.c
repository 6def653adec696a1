/* SPDX-License-Identifier: Apache-2.0
 * cells.c - what is measured: each row with its sizes, its rounds and its unit.
 */
#include "bench.h"

#define LATENCY(size) {"latency", p2p_latency, size, {10000, 1000}, 0, 0.5e6, 0, "us"}
#define BANDWIDTH(size) {"bandwidth", p2p_window, size, {100, 20}, 0, 0, (double)(size) * WINDOW * 1e-9, "GB/s"}
#define COLLECTIVE(name, size) {#name, coll_##name, size, {1000, 100}, 1, 1e6, 0, "us"}

/* clang-format off */
const cell_t cells_two[] = {
    LATENCY(8), LATENCY(65536), LATENCY(1u << 20),
    {"rate", p2p_window, 8, {1000, 0}, 0, 0, WINDOW * 1e-6, "Mmsg/s"},
    BANDWIDTH(4096), BANDWIDTH(65536), BANDWIDTH(1u << 20),
    COLLECTIVE(allreduce, 8), COLLECTIVE(allreduce, 65536), COLLECTIVE(allreduce, 1u << 20),
    COLLECTIVE(bcast, 8), COLLECTIVE(bcast, 65536), COLLECTIVE(bcast, 1u << 20),
    COLLECTIVE(alltoall, 8), COLLECTIVE(alltoall, 65536),
    COLLECTIVE(barrier, 0),
};
/* clang-format on */
const cell_t cells_four[] = {COLLECTIVE(allreduce, 8), COLLECTIVE(barrier, 0)};
const size_t cells_two_count = sizeof(cells_two) / sizeof(cells_two[0]);
const size_t cells_four_count = sizeof(cells_four) / sizeof(cells_four[0]);
