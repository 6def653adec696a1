// SPDX-License-Identifier: Apache-2.0
// test_words.cc - what others see of short puts and gets, after each machine instruction of whoever copies: whole words, each
// stored once. Mapped memory, memory that packets reach, and blocks at distances.
#include <gtest/gtest.h>

#include "../step.h"
#include "pair.h"

namespace {

constexpr size_t BYTES = 4096;

/* Memory of b, and a's key of it. */
struct Target {
    multi::Pair pair;
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    alignas(64) uint8_t own[BYTES] = {}; /* of b, where it is not shared */
    uint8_t *seen = nullptr;

    Target(const char *transports, bool shared) : pair(transports)
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        constexpr unsigned ACCESS = VBN_ACCESS_READ | VBN_ACCESS_WRITE;
        vbn_op_t op{};
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        if (shared)
            MUST(vbn_mem_alloc(pair.b.context, BYTES, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        else
            MUST(vbn_mem_register(pair.b.context, own, BYTES, ACCESS, &mem) == VBN_OK);
        seen = shared ? static_cast<uint8_t *>(vbn_mem_address(mem)) : own;
        MUST(vbn_key_export(mem, 0, BYTES, ACCESS, blob, &length) == VBN_OK);
        MUST(pair.finish(vbn_key_import_op(pair.a.peer, blob, length, &key, &op), op) == VBN_OK);
    }
    ~Target()
    {
        vbn_key_release(key);
        vbn_mem_free(mem);
        pair.close();
    }
};

struct Call {
    Target *target;
    bool is_get;
    size_t offset, width, count,
        distance; /* elements of width bytes, at `distance` bytes from each other in b's memory */
    uint8_t own[64];
    vbn_op_t op; /* from here on the core's until the operation ends */
    vbn_status_t status;
    vbn_strided_t blocks;
    iovec iov;
};

void begin(void *arg)
{
    auto *call = static_cast<Call *>(arg);
    vbn_op_t &op = call->op;
    vbn_strided_t &blocks = call->blocks = {call->own, call->width, call->count, static_cast<ptrdiff_t>(call->width),
                                            call->distance};
    iovec &iov = call->iov = {call->own, call->width * call->count};
    vbn_key_t *key = call->target->key;
    vbn_status_t &status = call->status;
    if (call->distance != call->width)
        status = call->is_get ? vbn_get_strided(key, call->offset, &blocks, &op)
                              : vbn_put_strided(key, call->offset, &blocks, &op);
    else
        status = call->is_get ? vbn_get(key, call->offset, &iov, 1, &op) : vbn_put(key, call->offset, &iov, 1, &op);
}

void progress(void *worker)
{
    (void)vbn_progress(static_cast<vbn_worker_t *>(worker));
}

/* The call, and what b does for it, one instruction after the other. */
unsigned long run(Call &call, step_func_t look, void *arg)
{
    multi::Pair &pair = call.target->pair;
    unsigned long steps = step_through(begin, &call, look, arg);
    MUST(call.status >= 0);
    while (call.status == VBN_INPROGRESS && call.op.complete == 0) {
        (void)vbn_progress(pair.a.worker);
        step_through(progress, pair.b.worker, look, arg);
    }
    return steps;
}

bool put(Target &target, size_t width, size_t count)
{
    Call call{&target, false, 72, width, count, width, {}, {}, VBN_OK, {}, {}};
    memset(target.seen, 0x11, BYTES);
    memset(call.own, 0x22, sizeof(call.own));
    step_words_t words{target.seen + call.offset, width, count, 0x11, 0x22, 0, {}};
    if (run(call, step_watch, &words) == 0)
        return false;
    EXPECT_TRUE(step_each_once(&words)) << count << " of " << width << " bytes: torn " << words.torn
                                        << ", first stored " << words.stored[0];
    return true;
}

void get(Target &target, size_t width, size_t count)
{
    Call call{&target, true, 72, width, count, width, {}, {}, VBN_OK, {}, {}};
    memset(target.seen, 0x0F, BYTES);
    step_source_t source{target.seen + call.offset, width * count, 0x0F};
    run(call, step_change, &source);
    for (size_t i = 0; i < width * count; i++)
        ASSERT_EQ(call.own[i], call.own[i / width * width]) << count << " of " << width << " bytes";
}

/* Each column of a matrix is a word: watched one after the other, since they do not lie side by side. */
void put_column(Target &target, size_t width)
{
    for (size_t watched = 0; watched < 3; watched += 2) {
        Call call{&target, false, 72, width, 3, 24, {}, {}, VBN_OK, {}, {}};
        memset(target.seen, 0x11, BYTES);
        memset(call.own, 0x22, sizeof(call.own));
        step_words_t words{target.seen + call.offset + watched * 24, width, 1, 0x11, 0x22, 0, {}};
        run(call, step_watch, &words);
        EXPECT_TRUE(step_each_once(&words)) << "block " << watched << " of " << width << " bytes, torn " << words.torn;
    }
}

void all(const char *transports, bool shared)
{
    Target target(transports, shared);
    if (!put(target, 4, 1))
        GTEST_SKIP()
            << "no single steps here: they need x86-64 and its trap flag; run the tests on such a host, not in an emulator";
    put(target, 2, 3);
    get(target, 4, 3);
    put_column(target, 4);
}

TEST(Words, MappedMemory)
{
    all("self,shm", true);
}

TEST(Words, PacketsOverSharedMemory)
{
    all("self,shm", false);
}

TEST(Words, PacketsOverTcp)
{
    all("self,tcp", false);
}

} // namespace
