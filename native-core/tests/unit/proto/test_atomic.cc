// SPDX-License-Identifier: Apache-2.0
// test_atomic.cc - atomics, put with signal, fence and flush of all over the rig, by packets and on mapped memory.
#include <algorithm>
#include <atomic>
#include <functional>
#include <random>

#include "fixture.h"

namespace {

const vbn_atomic_kind_t KINDS[] = {VBN_ATOMIC_ADD, VBN_ATOMIC_AND,  VBN_ATOMIC_OR,
                                   VBN_ATOMIC_XOR, VBN_ATOMIC_SWAP, VBN_ATOMIC_CAS};

uint64_t model(vbn_atomic_kind_t kind, uint64_t old, uint64_t operand, uint64_t compare)
{
    switch (kind) {
    case VBN_ATOMIC_ADD: return old + operand;
    case VBN_ATOMIC_AND: return old & operand;
    case VBN_ATOMIC_OR: return old | operand;
    case VBN_ATOMIC_XOR: return old ^ operand;
    case VBN_ATOMIC_SWAP: return operand;
    default: return old == compare ? operand : old;
    }
}

class ProtoAtomic : public ProtoMemory {
protected:
    /* A key whose memory is mapped here, when the mode has imports; the fixture's key is not mapped. */
    vbn_key_t *mapped_key(size_t offset)
    {
        rig_imports_answer(rig);
        vbn_key_t *other = rig_import(rig, 0, mem, offset, SIZE - offset, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
        rig_imports_map(rig);
        return other;
    }
    uint64_t *word(size_t at) { return reinterpret_cast<uint64_t *>(base + at); }
    uint64_t value(size_t at) { return __atomic_load_n(word(at), __ATOMIC_ACQUIRE); }
    void random_operations(vbn_key_t *with, size_t range_start)
    {
        std::mt19937_64 random(7);
        for (int i = 0; i < 600; i++) {
            unsigned width = i % 2 == 0 ? 8 : 4;
            auto kind = KINDS[random() % 6];
            bool fetch = random() % 2 == 0;
            size_t at = (range_start + 63) / 64 * 64 + random() % 16 * 8 + (width == 4 ? random() % 2 * 4 : 0);
            uint64_t mask = width == 8 ? UINT64_MAX : UINT32_MAX, old = 0, around = value(at & ~7ul);
            std::memcpy(&old, base + at, width);
            uint64_t operand = random() & mask, compare = random() % 2 == 0 ? old : random() & mask, before = 0xEEEE;
            Op op;
            vbn_status_t r = proto_atomic(with, at - range_start, kind, width, operand, compare,
                                          fetch ? &before : nullptr, &op.op);
            run();
            op.expect(r, VBN_OK, width);
            uint64_t now = 0;
            std::memcpy(&now, base + at, width);
            ASSERT_EQ(now, model(kind, old, operand, compare) & mask) << kind << " width " << width;
            ASSERT_EQ(before, fetch ? old : 0xEEEE);
            if (width == 4) { /* the other half is untouched */
                unsigned shift = at % 8 == 0 ? 32 : 0;
                ASSERT_EQ((value(at & ~7ul) >> shift) & UINT32_MAX, (around >> shift) & UINT32_MAX);
            }
        }
    }
};

TEST_P(ProtoAtomic, every_kind_and_width_does_what_its_name_says)
{
    random_operations(key, 100);
    EXPECT_EQ(rig_counter(rig, 0, "atomic.operations"), 600u);
}

TEST_P(ProtoAtomic, wrong_arguments_are_refused_before_anything_is_sent)
{
    rig_imports_answer(rig);
    Op op;
    uint64_t old;
    vbn_key_t *writer = rig_import(rig, 0, mem, 0, 64, VBN_ACCESS_WRITE);
    vbn_key_t *reader = rig_import(rig, 0, mem, 0, 64, VBN_ACCESS_READ);
    EXPECT_EQ(proto_atomic(nullptr, 0, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_atomic(writer, 0, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, nullptr), VBN_ERR_INVALID);
    EXPECT_EQ(proto_atomic(writer, 0, static_cast<vbn_atomic_kind_t>(6), 8, 1, 0, nullptr, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_atomic(writer, 0, VBN_ATOMIC_ADD, 2, 1, 0, nullptr, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_atomic(writer, 0, VBN_ATOMIC_ADD, 4, UINT64_C(1) << 32, 0, nullptr, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_atomic(writer, 4, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_atomic(key, 0, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &op.op), VBN_ERR_INVALID) << "byte 100";
    EXPECT_EQ(proto_atomic(writer, 64, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &op.op), VBN_ERR_RANGE);
    EXPECT_EQ(proto_atomic(writer, SIZE_MAX - 7, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &op.op), VBN_ERR_RANGE);
    EXPECT_EQ(proto_atomic(writer, 0, VBN_ATOMIC_ADD, 8, 1, 0, &old, &op.op), VBN_ERR_ACCESS);
    EXPECT_EQ(proto_atomic(writer, 0, VBN_ATOMIC_CAS, 8, 1, 0, nullptr, &op.op), VBN_ERR_ACCESS);
    EXPECT_EQ(proto_atomic(reader, 0, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &op.op), VBN_ERR_ACCESS);
    vbn_signal_t signal{writer, 0, VBN_ATOMIC_XOR, 1};
    EXPECT_EQ(proto_put_signal(writer, 0, nullptr, 0, &signal, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_put_signal(writer, 0, nullptr, 0, nullptr, &op.op), VBN_ERR_INVALID);
    signal = {writer, 4, VBN_ATOMIC_ADD, 1};
    EXPECT_EQ(proto_put_signal(writer, 0, nullptr, 0, &signal, &op.op), VBN_ERR_INVALID);
    signal = {reader, 0, VBN_ATOMIC_ADD, 1};
    EXPECT_EQ(proto_put_signal(writer, 0, nullptr, 0, &signal, &op.op), VBN_ERR_ACCESS);
    signal = {nullptr, 0, VBN_ATOMIC_ADD, 1};
    EXPECT_EQ(proto_put_signal(writer, 0, nullptr, 0, &signal, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(op.calls, 0);
    EXPECT_FALSE(rig_deliver(rig, 1));
    proto_key_release(writer);
    proto_key_release(reader);
}

/* Packets as a lying peer may send them: the owner refuses them and touches nothing. */
TEST_P(ProtoAtomic, the_owner_checks_alignment_range_rights_and_generation)
{
    rig_imports_answer(rig);
    struct {
        uint64_t handle_add, offset;
    } const bad[] = {{0, 2}, {0, SIZE}, {0, UINT64_MAX - 3}, {1, 4}};
    Bytes before(base, base + SIZE);
    for (const auto &b : bad) {
        uint8_t bytes[320];
        rig_header_t h{ATOMIC, VBN_ATOMIC_SWAP | 8, 0, 1, 99, rig_key_handle(key) + b.handle_add, b.offset, 0, 0, 0};
        rig_inject(rig, 1, bytes, rig_encode(&h, bytes), nullptr, 0);
        EXPECT_EQ(std::memcmp(before.data(), base, SIZE), 0);
    }
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK) << "a refusal is an answer, not a broken rule";
    lie({ATOMIC, 7 | 8, 0, 1, 99, 1, 0, 0, 0, 0}, {}, 1);
}

TEST_P(ProtoAtomic, a_stale_key_fails_the_operation_and_signals_nothing)
{
    rig_imports_answer(rig);
    vbn_mem_t *words = rig_mem(rig, 1, 4096);
    auto *flag = static_cast<uint64_t *>(rig_mem_address(words));
    vbn_key_t *word_key = rig_import(rig, 0, words, 0, 4096, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
    rig_imports_answer(rig);
    Bytes data = pattern(20000);
    for (size_t size : {0u, 100u, 20000u}) {
        for (bool free_words : {false, true}) {
            if (free_words && size != 20000)
                continue;
            if (mem != nullptr && !free_words)
                rig_mem_free(mem);
            mem = nullptr;
            Op put, amo;
            iovec iov{data.data(), size};
            vbn_signal_t signal{word_key, 8, VBN_ATOMIC_ADD, 1};
            vbn_status_t r = proto_put_signal(key, 4, &iov, 1, &signal, &put.op);
            vbn_status_t q = proto_atomic(key, 4, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &amo.op);
            run();
            put.expect(r, VBN_ERR_STALE, 0);
            amo.expect(q, VBN_ERR_STALE, 0);
            EXPECT_EQ(flag[1], 0u);
        }
    }
    EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
    proto_key_release(word_key);
    rig_mem_free(words);
}

TEST_P(ProtoAtomic, a_signal_is_never_seen_before_its_data)
{
    for (size_t size : {0u, 8u, 5000u, 30000u}) {
        for (auto kind : {VBN_ATOMIC_ADD, VBN_ATOMIC_SWAP}) {
            *word(104) = 5;
            std::memset(base + 1000, 0, 32000);
            Bytes data = pattern(size);
            Op op;
            iovec iov{data.data(), size};
            vbn_signal_t signal{key, 4, kind, 10};
            uint64_t then = kind == VBN_ATOMIC_ADD ? 15 : 10;
            vbn_status_t r = proto_put_signal(key, 900, &iov, 1, &signal, &op.op);
            signal = {}; /* copied */
            rig_imports_answer(rig);
            while (value(104) == 5)
                ASSERT_TRUE(rig_deliver(rig, 1) || rig_deliver(rig, 0)) << "never signalled";
            EXPECT_EQ(value(104), then);
            EXPECT_TRUE(std::equal(data.begin(), data.end(), base + 1000));
            run();
            op.expect(r, VBN_OK, size);
        }
    }
}

/* A large put, perhaps a fence, then one word: does the word change before the data is complete? */
class ProtoFence : public ProtoAtomic {
protected:
    Bytes data = pattern(30000, 3);
    Op put, after;
    bool overtakes(bool fence, const std::function<vbn_status_t(vbn_op_t *)> &second)
    {
        std::memset(base, 0, SIZE);
        iovec iov{data.data(), data.size()};
        put.reset();
        after.reset();
        EXPECT_GE(proto_put(key, 900, &iov, 1, &put.op), 0);
        if (fence)
            proto_fence(rig_engine(rig, 0));
        EXPECT_GE(second(&after.op), 0) << vbn_error_text();
        if (value(104) == 0)
            rig_imports_answer(rig);
        bool early = false;
        do {
            if (value(104) != 0 && std::memcmp(base + 1000, data.data(), data.size()) != 0)
                early = true;
        } while (rig_deliver(rig, 1) || rig_deliver(rig, 0));
        run();
        EXPECT_EQ(put.op.complete, 1u);
        EXPECT_EQ(after.op.complete, 1u);
        EXPECT_EQ(after.op.status, VBN_OK);
        EXPECT_EQ(value(104), 1u);
        return early;
    }
};

TEST_P(ProtoFence, keeps_puts_and_atomics_in_order)
{
    uint64_t one = 1;
    iovec iov{&one, 8};
    auto put_word = [&](vbn_op_t *op) { return proto_put(key, 4, &iov, 1, op); };
    auto add = [&](vbn_op_t *op) { return proto_atomic(key, 4, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, op); };
    EXPECT_FALSE(overtakes(true, put_word));
    EXPECT_FALSE(overtakes(true, add));
    if (options.late_done && !options.not_ready) { /* the data does not fit in the link at once */
        EXPECT_TRUE(overtakes(false, put_word)) << "the test would not notice a missing fence";
        EXPECT_TRUE(overtakes(false, add));
    }
}

TEST_P(ProtoFence, a_get_after_it_sees_the_put_before_it)
{
    Bytes got(30000);
    iovec to{got.data(), got.size()}, from{data.data(), data.size()};
    Op get;
    ASSERT_GE(proto_put(key, 900, &from, 1, &put.op), 0);
    proto_fence(rig_engine(rig, 0));
    vbn_status_t r = proto_get(key, 900, &to, 1, &get.op);
    run();
    get.expect(r, VBN_OK, got.size());
    EXPECT_TRUE(got == data);
}

TEST_P(ProtoFence, many_fences_keep_a_chain_of_puts_in_order)
{
    std::vector<uint64_t> values(40);
    std::vector<iovec> iov(40);
    std::vector<Op> ops(40);
    std::memset(base, 0, SIZE);
    for (size_t i = 0; i < 40; i++) {
        values[i] = i + 1;
        iov[i] = {&values[i], 8};
        if (i % 5 == 0) { /* a large one among them */
            iovec big{data.data(), data.size()};
            put.reset();
            ASSERT_GE(proto_put(key, 900, &big, 1, &put.op), 0);
            proto_fence(rig_engine(rig, 0));
            ASSERT_GE(proto_put(key, 4, &iov[i], 1, &ops[i].op), 0);
            uint64_t last = 0;
            rig_imports_answer(rig);
            while (rig_deliver(rig, 1) || rig_deliver(rig, 0)) {
                EXPECT_GE(value(104), last);
                last = value(104);
            }
            run();
            EXPECT_EQ(put.op.complete, 1u);
            continue;
        }
        proto_fence(rig_engine(rig, 0));
        ASSERT_GE(proto_put(key, 4, &iov[i], 1, &ops[i].op), 0);
    }
    run();
    EXPECT_EQ(value(104), 40u);
    for (auto &op : ops)
        EXPECT_EQ(op.op.status, VBN_OK);
}

TEST_P(ProtoFence, flush_of_all_completes_after_puts_and_atomics)
{
    Op amo, flush;
    *word(104) = 0;
    iovec iov{data.data(), data.size()};
    ASSERT_EQ(proto_put(key, 900, &iov, 1, &put.op), VBN_INPROGRESS);
    ASSERT_EQ(proto_atomic(key, 4, VBN_ATOMIC_ADD, 8, 3, 0, nullptr, &amo.op), VBN_INPROGRESS);
    vbn_status_t r = proto_flush_all(rig_engine(rig, 0), &flush.op);
    ASSERT_EQ(r, VBN_INPROGRESS);
    rig_imports_answer(rig);
    while (flush.op.complete == 0)
        ASSERT_TRUE(rig_deliver(rig, 1) || rig_deliver(rig, 0));
    EXPECT_EQ(value(104), 3u);
    EXPECT_EQ(std::memcmp(base + 1000, data.data(), data.size()), 0);
    run();
    flush.expect(r, VBN_OK, 0);
    Op idle;
    EXPECT_EQ(proto_flush_all(rig_engine(rig, 0), &idle.op), VBN_OK);
    EXPECT_EQ(proto_flush_all(rig_engine(rig, 0), nullptr), VBN_ERR_INVALID);
}

TEST_P(ProtoFence, a_lost_peer_ends_everything_exactly_once_at_every_step)
{
    proto_key_release(key);
    rig_mem_free(mem);
    key = nullptr;
    mem = nullptr;
    for (int steps = 0; steps < 16; steps++) {
        Proto::open();
        vbn_mem_t *other = rig_mem(rig, 1, SIZE);
        vbn_key_t *k = rig_import(rig, 0, other, 0, SIZE, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
        iovec iov{data.data(), data.size()};
        vbn_signal_t signal{k, 0, VBN_ATOMIC_ADD, 1};
        uint64_t before;
        Op ops[6];
        vbn_status_t r[6];
        r[0] = proto_put_signal(k, 8, &iov, 1, &signal, &ops[0].op);
        r[1] = proto_atomic(k, 0, VBN_ATOMIC_ADD, 8, 1, 0, &before, &ops[1].op);
        proto_fence(rig_engine(rig, 0));
        r[2] = proto_put(k, 8, &iov, 1, &ops[2].op);
        proto_fence(rig_engine(rig, 0));
        r[3] = proto_atomic(k, 0, VBN_ATOMIC_CAS, 4, 1, 0, &before, &ops[3].op);
        r[4] = proto_get(k, 8, &iov, 1, &ops[4].op);
        r[5] = proto_flush_all(rig_engine(rig, 0), &ops[5].op);
        for (int i = 0; i < steps; i++) {
            if (i == 3)
                rig_imports_answer(rig);
            rig_deliver(rig, 1);
            rig_deliver(rig, 0);
        }
        rig_kill(rig, 0, VBN_ERR_PEER_LOST);
        rig_kill(rig, 1, VBN_ERR_PEER_LOST);
        for (int i = 0; i < 6; i++) {
            ASSERT_GE(r[i], 0);
            EXPECT_EQ(ops[i].op.complete, 1u) << steps << " op " << i;
            EXPECT_EQ(ops[i].calls, r[i] == VBN_OK ? 0 : 1) << steps << " op " << i;
        }
        proto_key_release(k);
        rig_mem_free(other);
    }
}

/* With memory that is mapped here. */
class ProtoMapped : public ProtoFence {};

TEST_P(ProtoMapped, mapped_memory_does_not_overtake_packets)
{
    vbn_key_t *other = mapped_key(8);
    auto add = [&](vbn_op_t *op) { return proto_atomic(other, 96, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, op); };
    EXPECT_FALSE(overtakes(true, add));
    EXPECT_TRUE(overtakes(false, add)) << "the test would not notice a missing fence";
    Op op;
    EXPECT_EQ(add(&op.op), VBN_OK) << "mapped again when nothing is under way";
    uint64_t one = 1;
    iovec iov{&one, 8};
    EXPECT_FALSE(overtakes(true, [&](vbn_op_t *op_) { return proto_put(other, 96, &iov, 1, op_); }));
    EXPECT_TRUE(overtakes(false, [&](vbn_op_t *op_) { return proto_put(other, 96, &iov, 1, op_); }));
    proto_key_release(other);
}

TEST_P(ProtoMapped, a_get_of_mapped_memory_after_a_fence_sees_what_was_put_by_packets_before)
{
    vbn_key_t *other = mapped_key(8);
    Bytes got(30000);
    iovec to{got.data(), got.size()}, from{data.data(), data.size()};
    Op get;
    ASSERT_GE(proto_put(key, 900, &from, 1, &put.op), 0);
    proto_fence(rig_engine(rig, 0));
    vbn_status_t r = proto_get(other, 992, &to, 1, &get.op);
    rig_imports_answer(rig);
    run();
    get.expect(r, VBN_OK, got.size());
    EXPECT_TRUE(got == data);
    proto_key_release(other);
}

TEST_P(ProtoMapped, mapped_memory_is_updated_without_a_packet)
{
    vbn_key_t *other = mapped_key(8);
    random_operations(other, 8);
    uint64_t before;
    Op op;
    EXPECT_EQ(proto_atomic(other, 0, VBN_ATOMIC_ADD, 8, 1, 0, &before, &op.op), VBN_OK);
    EXPECT_FALSE(rig_deliver(rig, 1));
    proto_key_release(other);
}

TEST_P(ProtoMapped, an_operation_issued_during_the_import_is_executed_once_it_is_mapped)
{
    *word(104) = 40;
    uint64_t before = 0;
    Op op;
    vbn_status_t r = proto_atomic(key, 4, VBN_ATOMIC_ADD, 8, 2, 0, &before, &op.op);
    EXPECT_EQ(r, VBN_INPROGRESS);
    rig_imports_map(rig);
    op.expect(r, VBN_OK, 8);
    EXPECT_EQ(before, 40u);
    EXPECT_EQ(*word(104), 42u);
    EXPECT_FALSE(rig_deliver(rig, 1));
}

INSTANTIATE_TEST_SUITE_P(Modes, ProtoAtomic, ::testing::ValuesIn(MODES), mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, ProtoMapped, ::testing::Values(MODES[4]), mode_name); // the one with imports
INSTANTIATE_TEST_SUITE_P(Modes, ProtoFence, ::testing::ValuesIn(MODES), mode_name);

} // namespace
