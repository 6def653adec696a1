/* SPDX-License-Identifier: Apache-2.0
 * cells.c - what is measured: each row with its sizes, its rounds and its unit.
 */
#include "bench.h"

#define OPERATION(name, loop, size) {name, loop, size, {10000, 1000}, 0, 1e9, 0, "ns"}
#define BANDWIDTH(name, loop, size) {name, loop, size, {1000, 200}, 0, 0, (double)(size) * 1e-9, "GB/s"}
#define COLLECTIVE(name, loop, size) {name, loop, size, {1000, 100}, 1, 1e6, 0, "us"}

static const cell_t two[] = {
    OPERATION("put", rma_put, 8),
    OPERATION("put_quiet", rma_put_quiet, 8),
    OPERATION("get", rma_get, 8),
    OPERATION("p", rma_p, 8),
    OPERATION("g", rma_g, 8),
    OPERATION("put_quiet", rma_put_quiet, 4096),
    OPERATION("get", rma_get, 4096),
    BANDWIDTH("put_bandwidth", rma_put_quiet, 65536),
    BANDWIDTH("put_bandwidth", rma_put_quiet, 1u << 20),
    BANDWIDTH("get_bandwidth", rma_get, 65536),
    BANDWIDTH("get_bandwidth", rma_get, 1u << 20),
    OPERATION("fetch_add", amo_fetch_add, 8),
    OPERATION("inc", amo_increment, 8),
    OPERATION("cswap", amo_compare_swap, 8),
    {"ping_pong", coll_ping_pong, 8, {10000, 1000}, 0, 0.5e6, 0, "us"},
    COLLECTIVE("barrier", coll_barrier, 0),
    COLLECTIVE("broadcast", coll_broadcast, 8),
    COLLECTIVE("broadcast", coll_broadcast, 1u << 20),
    COLLECTIVE("reduce", coll_reduce, 8),
    COLLECTIVE("reduce", coll_reduce, 1u << 20),
};
static const cell_t four[] = {COLLECTIVE("barrier", coll_barrier, 0), COLLECTIVE("reduce", coll_reduce, 8)};
const form_t forms[] = {{"two", 2, 1, two, sizeof(two) / sizeof(two[0])},
                        {"four", 4, 0, four, sizeof(four) / sizeof(four[0])}};
const size_t form_count = sizeof(forms) / sizeof(forms[0]);
