// SPDX-License-Identifier: Apache-2.0
// test_reuse.cc - one vbn_op_t, zeroed once, for every kind of operation after every kind: with those that devices
// carry out.
#include "../multi/reuse.h"
#include "checks.h"

namespace {

class VerbsReused : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsReused, operations_of_every_kind_follow_every_kind_without_being_zeroed)
{
    int code = verbs::with_fabric(
        1,
        [] {
            setenv("VBN_LINK_RESUME_TIMEOUT", "10s", 1); /* a connection that may break is used for gets and puts */
            multi::Reuse r(GetParam());
            bool devices = std::strcmp(GetParam(), "ud") != 0;
            while (devices && verbs::counted(r.pair.a, "get.native.bytes") == 0)
                r.get(0, r.ours(), multi::REUSE_BYTES);
            multi::reuse_all(r);
            r.close();
        },
        300);
    ASSERT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, VerbsReused, ::testing::Values("rc", "ud", "rc,ud"),
                         [](const auto &test) { return multi::way_name(test.param); });

} // namespace
