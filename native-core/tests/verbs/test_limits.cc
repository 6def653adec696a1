// SPDX-License-Identifier: Apache-2.0
// test_limits.cc - devices that take less than others do: what would be too much for them is done in smaller parts.
#include "native.h"

using verbs::in_fabric;
using verbs::Native;
using verbs::pattern;

namespace {

TEST(VerbsLimits, a_get_into_many_places_fills_as_many_at_a_time_as_the_device_can)
{
    constexpr size_t PIECES = 64, PIECE = 1000;
    for (unsigned places : {0u, 3u, 1u})
        in_fabric(1, [&] {
            verbs::may_break();
            fabric_script.read_pieces = places;
            Native n("rc");
            n.warm();
            std::vector<iovec> pieces;
            for (size_t i = 0; i < PIECES; i++)
                pieces.push_back({n.ours() + 2 * i * PIECE, PIECE});
            for (size_t i = 0; i < PIECES * PIECE; i++)
                n.theirs()[i] = pattern(i, places);
            uint64_t before = n.counted("get.native.bytes"), reads = fabric_counts.reads;
            vbn_op_t op{};
            MUST(n.pair.finish(vbn_get(n.key, 0, pieces.data(), PIECES, &op), op) == VBN_OK &&
                 op.length == PIECES * PIECE);
            for (size_t i = 0; i < PIECES * PIECE; i++)
                MUST(n.ours()[i / PIECE * 2 * PIECE + i % PIECE] == pattern(i, places));
            MUST(n.counted("get.native.bytes") - before == PIECES * PIECE && n.counted("native.redone") == 0);
            MUST(fabric_counts.reads - reads == (places == 0 ? 16 : (PIECES + places - 1) / places));
            op = {};
            MUST(n.pair.finish(vbn_put(n.key, 0, pieces.data(), PIECES, &op), op) == VBN_OK);
            n.close();
        });
}

} // namespace
