/* SPDX-License-Identifier: Apache-2.0
 * world_kinds.c - the kinds of runs; a seed's kind is seed % WORLD_KINDS. */
#include "world_private.h"

/* clang-format off */
const world_kind_t world_kinds[WORLD_KINDS] = {
    {.name = "datagrams, some loss", .datagram = 3, .disconnects = true},
    {.name = "datagrams, heavy loss, doubles and lateness", .datagram = 3, .heavy = true, .disconnects = true},
    {.name = "datagrams, short partitions", .datagram = 3, .cuts = 1, .disconnects = true},
    {.name = "datagrams, long partitions and crashes", .datagram = 3, .cuts = 1, .cut_ms = 90000, .crashes = true,
     .loses_peers = true, .disconnects = true},
    {.name = "connections, busy", .disconnects = true},
    {.name = "connections that break", .kills = 1, .loses_peers = true, .disconnects = true},
    {.name = "datagrams, endpoints that break", .datagram = 3, .kills = 1, .loses_peers = true, .disconnects = true},
    {.name = "datagrams, few buffers and small windows", .datagram = 3, .small = true, .disconnects = true},
    {.name = "connections that break and are resumed", .kills = 1, .resumes = true},
    {.name = "datagram endpoints that break and are resumed", .datagram = 3, .kills = 1, .resumes = true},
    {.name = "connections and datagrams, resumed over the other", .datagram = 2, .nets = 2, .kills = 3, .cuts = 1,
     .cut_ms = 40000, .prompt = true, .resumes = true},
    {.name = "datagrams, resumed after long partitions", .datagram = 3, .kills = 1, .cuts = 1, .cut_ms = 40000,
     .prompt = true, .resumes = true},
    {.name = "rails over two nets, busy", .nets = 2, .rails = 4, .disconnects = true},
    {.name = "rails that break, one of them at a time or all", .nets = 2, .rails = 4, .kills = 3, .loses_peers = true,
     .disconnects = true},
    {.name = "rails that break, resumed when the last is gone", .nets = 2, .rails = 3, .kills = 3, .resumes = true},
    {.name = "rails, one net cut for long", .nets = 2, .rails = 3, .kills = 2, .cuts = 1, .cut_ms = 40000, .prompt = true,
     .resumes = true},
    {.name = "rails over connections and datagrams", .datagram = 2, .nets = 2, .rails = 3, .kills = 3, .resumes = true},
    {.name = "peers promoted from datagrams to few connections", .datagram = 1, .nets = 2, .promoted = 1},
    {.name = "promoted connections break, datagrams stay", .datagram = 1, .nets = 2, .promoted = 2, .kills = 2},
    {.name = "promoted connections and datagrams break and are resumed", .datagram = 1, .nets = 2, .promoted = 2, .kills = 3,
     .resumes = true},
    {.name = "peers promoted from connections to few connections of another net", .nets = 2, .promoted = 1, .kills = 2},
};
/* clang-format on */

const char *world_kind(uint64_t seed)
{
    return world_kinds[seed % WORLD_KINDS].name;
}
