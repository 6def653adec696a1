// SPDX-License-Identifier: Apache-2.0
// test_traffic.cc - each operation is counted once, by class and size, and one of 256 is timed.
#include "fixture.h"

namespace {

enum { CLASS_AM, CLASS_TAG, CLASS_PUT, CLASS_GET, CLASS_ATOMIC, CLASSES };
enum { OPERATIONS, BYTES, TIMED, NS };

class ProtoTraffic : public ProtoMemory {
protected:
    uint64_t all(unsigned what)
    {
        uint64_t sum = 0;
        for (unsigned kind = 0; kind < CLASSES; kind++)
            for (uint64_t size = 64; size <= 64ull << 18; size *= 4)
                sum += rig_traffic(rig, 0, kind, size, what);
        return sum;
    }
    /* The call is the only new operation, of this class and size. */
    template <typename Call> void counts(unsigned kind, uint64_t size, Call call)
    {
        uint64_t before = rig_traffic(rig, 0, kind, size, OPERATIONS), every = all(OPERATIONS), bytes = all(BYTES);
        Op op;
        vbn_status_t status = call(&op.op);
        ASSERT_GE(status, 0) << vbn_error_text();
        run();
        EXPECT_EQ(rig_traffic(rig, 0, kind, size, OPERATIONS), before + 1);
        EXPECT_EQ(all(OPERATIONS), every + 1);
        EXPECT_EQ(all(BYTES), bytes + size);
        rest.push_back(op.op.complete);
    }
    std::vector<uint32_t> rest;
    Bytes data = pattern(30000), got = pattern(30000);
    iovec of(size_t size) { return {data.data(), size}; }
};

TEST_P(ProtoTraffic, each_call_counts_once_under_its_class_and_size)
{
    vbn_peer_t *peer = rig_peer(rig, 0);
    vbn_strided_t blocks{data.data(), 8, 100, 16, 24};
    vbn_signal_t signal{key, 4, VBN_ATOMIC_ADD, 1};
    for (size_t size : {0u, 8u, 64u, 65u, 1000u}) {
        iovec iov = of(size);
        counts(CLASS_AM, size, [&](vbn_op_t *op) { return proto_am_send(peer, 5, nullptr, 0, &iov, 1, 0, op); });
        counts(CLASS_TAG, size, [&](vbn_op_t *op) { return proto_tag_send(peer, 1, &iov, 1, 0, op); });
    }
    for (size_t size : {0u, 8u, 1000u, 30000u}) {
        iovec iov = of(size);
        counts(CLASS_PUT, size, [&](vbn_op_t *op) { return proto_put(key, 0, &iov, 1, op); });
        counts(CLASS_GET, size, [&](vbn_op_t *op) { return proto_get(key, 0, &iov, 1, op); });
        counts(CLASS_PUT, size, [&](vbn_op_t *op) { return proto_put_signal(key, 0, &iov, 1, &signal, op); });
    }
    counts(CLASS_PUT, 800, [&](vbn_op_t *op) { return proto_put_strided(key, 0, &blocks, op); });
    counts(CLASS_GET, 800, [&](vbn_op_t *op) { return proto_get_strided(key, 0, &blocks, op); });
    for (unsigned width : {4u, 8u})
        counts(CLASS_ATOMIC, width,
               [&](vbn_op_t *op) { return proto_atomic(key, 4, VBN_ATOMIC_ADD, width, 1, 0, nullptr, op); });
    for (uint32_t complete : rest)
        EXPECT_EQ(complete, 1u);
}

TEST_P(ProtoTraffic, a_refused_call_is_not_counted)
{
    iovec iov = of(100);
    Op op;
    EXPECT_LT(proto_get(key, SIZE, &iov, 1, &op.op), 0);
    EXPECT_LT(proto_put(key, SIZE, &iov, 1, &op.op), 0);
    EXPECT_LT(proto_atomic(key, 1, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &op.op), 0);
    EXPECT_LT(proto_am_send(rig_peer(rig, 0), 999, nullptr, 0, &iov, 1, 0, &op.op), 0);
    EXPECT_LT(proto_tag_send(rig_peer(rig, 0), 1, &iov, 1, 77, &op.op), 0);
    EXPECT_EQ(all(OPERATIONS), 0u);
}

TEST_P(ProtoTraffic, one_of_256_operations_is_timed_until_it_is_complete)
{
    iovec iov = of(8), to{got.data(), 500};
    for (int i = 0; i < 256 * 5; i++) {
        Op message, get;
        ASSERT_GE(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, 0, &message.op), 0);
        ASSERT_GE(proto_get(key, 0, &to, 1, &get.op), 0);
        run();
        ASSERT_EQ(message.op.complete + get.op.complete, 2u);
    }
    uint64_t timed = all(TIMED);
    EXPECT_GE(timed, 8u); /* of 2560 operations */
    EXPECT_LE(timed, 13u);
    EXPECT_GE(all(NS), timed) << "no operation takes less than a nanosecond";
}

TEST_P(ProtoTraffic, an_operation_that_ends_in_an_error_is_not_timed)
{
    Bytes large(20000);
    iovec iov{large.data(), large.size()};
    Op op;
    ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, VBN_AM_PULL, &op.op), VBN_INPROGRESS);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    EXPECT_EQ(op.op.complete, 1u);
    EXPECT_EQ(all(OPERATIONS), 1u);
    EXPECT_EQ(all(TIMED), 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, ProtoTraffic, ::testing::ValuesIn(MODES), mode_name);

} // namespace
