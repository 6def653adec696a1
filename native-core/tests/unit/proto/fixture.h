// SPDX-License-Identifier: Apache-2.0
// fixture.h - what the protocol tests share: operations that count their completions, an inbox, the rig in every mode.
#ifndef VBN_TESTS_PROTO_FIXTURE_H
#define VBN_TESTS_PROTO_FIXTURE_H

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "pin.h"
#include "rig.h"

using Bytes = std::vector<uint8_t>;

inline Bytes pattern(size_t length, unsigned seed = 1)
{
    Bytes data(length);
    for (size_t i = 0; i < length; i++)
        data[i] = static_cast<uint8_t>((i * 131 + seed * 17 + (i >> 8) * 7) & 0xff);
    return data;
}

struct Op {
    vbn_op_t op{};
    int calls = 0;
    std::string text; /* vbn_error_text() in done */
    static void on_done(vbn_op_t *op, vbn_status_t status, size_t length)
    {
        auto *self = static_cast<Op *>(op->user);
        self->calls++;
        EXPECT_EQ(op->complete, 1u);
        EXPECT_EQ(op->status, status);
        EXPECT_EQ(op->length, length);
        self->text = vbn_error_text();
    }
    Op() { reset(); }
    Op(const Op &) = delete; /* the core and `user` point to it */
    Op &operator=(const Op &) = delete;
    ~Op() { EXPECT_FALSE(rig_op_pending(&op)) << "the core still has it, and would write where it was"; }
    void reset()
    {
        EXPECT_FALSE(rig_op_pending(&op));
        op = vbn_op_t{};
        op.done = on_done;
        op.user = this;
        calls = 0;
    }
    /* Complete exactly once, either by return value or by callback. */
    void expect(vbn_status_t returned, vbn_status_t status, size_t length)
    {
        ASSERT_GE(returned, 0) << vbn_error_text();
        EXPECT_EQ(calls, returned == VBN_OK ? 0 : 1);
        EXPECT_EQ(op.complete, 1u);
        EXPECT_EQ(op.status, status);
        EXPECT_EQ(op.length, length);
    }
};

struct Inbox {
    struct Item {
        Bytes header, data;
        size_t length;
        vbn_am_remote_t *remote;
    };
    std::vector<Item> items;
    static void handle(void *arg, const vbn_am_message_t *m)
    {
        auto *h = static_cast<const uint8_t *>(m->header);
        auto *d = static_cast<const uint8_t *>(m->data);
        Item item{Bytes(h, h + m->header_length), {}, m->length, m->remote};
        if (m->remote == nullptr && m->length > 0)
            item.data.assign(d, d + m->length);
        static_cast<Inbox *>(arg)->items.push_back(item);
    }
};

/* With the cost model that this run is pinned to. */
inline rig_options_t pinned_options()
{
    rig_options_t options = rig_defaults();
    options.host = pinned_model();
    return options;
}

struct Mode {
    const char *name;
    bool late_done, use_sink, not_ready, import_fails;
};

class Proto : public ::testing::TestWithParam<Mode> {
protected:
    rig_options_t options = pinned_options();
    rig_t *rig = nullptr;
    Inbox inbox;
    void open()
    {
        if (rig != nullptr)
            rig_close(rig);
        rig = rig_open(&options);
        ASSERT_EQ(rig_handler(rig, 1, 5, Inbox::handle, &inbox), VBN_OK);
    }
    void SetUp() override
    {
        options.late_done = GetParam().late_done;
        options.use_sink = GetParam().use_sink;
        options.not_ready = GetParam().not_ready;
        options.import_fails = GetParam().import_fails;
        open();
    }
    void TearDown() override { rig_close(rig); }
    void run()
    {
        rig_imports_answer(rig);
        rig_run(rig);
        rig_imports_answer(rig);
        rig_run(rig);
    }
    void message_arrives(const Bytes &header, const Bytes &data, unsigned flags)
    {
        inbox.items.clear();
        Op send, pull;
        iovec iov{const_cast<uint8_t *>(data.data()), data.size()};
        vbn_status_t sent = proto_am_send(rig_peer(rig, 0), 5, header.data(), header.size(), &iov, 1, flags, &send.op);
        ASSERT_GE(sent, 0) << vbn_error_text();
        run();
        ASSERT_EQ(inbox.items.size(), 1u);
        EXPECT_EQ(inbox.items[0].header, header);
        ASSERT_EQ(inbox.items[0].length, data.size());
        if (data.size() <= options.am_small_max && (flags & (VBN_AM_PULL | VBN_SEND_CHECKSUM)) == 0) {
            EXPECT_EQ(inbox.items[0].remote, nullptr);
            EXPECT_EQ(inbox.items[0].data, data);
        } else {
            ASSERT_NE(inbox.items[0].remote, nullptr);
            EXPECT_EQ(send.op.complete, 0u) << "must wait for the pull";
            Bytes got(data.size() + 1, 0xEE);
            iovec to{got.data(), data.size()};
            vbn_status_t pulled = proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op);
            run();
            pull.expect(pulled, VBN_OK, data.size());
            EXPECT_EQ(got[data.size()], 0xEE);
            got.pop_back();
            EXPECT_TRUE(got == data);
        }
        send.expect(sent, VBN_OK, data.size());
    }
    void lie(const rig_header_t &h, const Bytes &payload = {}, int to = 0)
    {
        uint8_t bytes[320];
        uint64_t before = rig_counter(rig, to, "rx.bad_frames");
        uint32_t count = rig_encode(&h, bytes);
        rig_inject(rig, to, bytes, count, payload.data(), static_cast<uint32_t>(payload.size()));
        EXPECT_EQ(rig_failure(rig, to), VBN_ERR_PROTOCOL);
        EXPECT_EQ(rig_counter(rig, to, "rx.bad_frames"), before + 1);
    }
};

/* clang-format off */
enum { AM = 1, RTS, PULL, DATA, STATUS, GET, PUT, ATOMIC, PUT_SIGNAL, TAG, TAG_RTS, TAG_CREDIT_BACK, PUT_BLOCKS, GET_BLOCKS,
       DATA_STAGED, RTS_AT, TAG_RTS_AT, PULL_AT, HELPED };
/* clang-format on */

class ProtoMemory : public Proto {
protected:
    static constexpr size_t SIZE = 40000;
    vbn_mem_t *mem = nullptr;
    uint8_t *base = nullptr;
    vbn_key_t *key = nullptr;
    void SetUp() override
    {
        Proto::SetUp();
        mem = rig_mem(rig, 1, SIZE);
        base = static_cast<uint8_t *>(rig_mem_address(mem));
        Bytes p = pattern(SIZE, 9);
        std::memcpy(base, p.data(), SIZE);
        key = rig_import(rig, 0, mem, 100, SIZE - 100, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
        ASSERT_NE(key, nullptr) << vbn_error_text();
    }
    void TearDown() override
    {
        proto_key_release(key);
        if (mem != nullptr)
            rig_mem_free(mem);
        Proto::TearDown();
    }
};

inline const Mode MODES[] = {{"early", false, true, false, false},
                             {"late", true, true, false, false},
                             {"nosink", true, false, false, false},
                             {"unready", true, true, true, false},
                             {"importing", false, true, true, true}};
inline std::string mode_name(const ::testing::TestParamInfo<Mode> &info)
{
    return info.param.name;
}

#endif
