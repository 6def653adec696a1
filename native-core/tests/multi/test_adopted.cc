// SPDX-License-Identifier: Apache-2.0
// test_adopted.cc - a mapping of the caller's own that peers may map: copies without the kernel, pages that go at any time, what is
// refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pair.h"
#include "pin.h"
#include "reads.h"

namespace {

using multi::counter;
using multi::Node;
using multi::Pair;
using multi::Shared;

constexpr size_t BYTES = size_t{1} << 32, MESSAGE = 1 << 20;
constexpr unsigned BOTH = VBN_ACCESS_READ | VBN_ACCESS_WRITE;

/* Of the caller's own, as an allocator has it. */
struct Own {
    int fd = memfd_create("own", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    uint8_t *at = nullptr;

    explicit Own(size_t bytes, int seals = F_SEAL_SHRINK)
    {
        MUST(fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0);
        MUST(seals == 0 || fcntl(fd, F_ADD_SEALS, seals) == 0);
        void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        MUST(map != MAP_FAILED);
        at = static_cast<uint8_t *>(map);
    }
};

struct Sink {
    std::vector<uint8_t> room = std::vector<uint8_t>(MESSAGE);
    vbn_op_t op{};
    iovec iov{room.data(), MESSAGE};

    Node &node;

    explicit Sink(Node &to) : node(to) { MUST(vbn_am_handler(node.worker, 1, on_message, this) == VBN_OK); }
    void next()
    {
        node.until([&] { return op.complete == 1; });
        op.complete = 0;
        MUST(op.status == VBN_OK);
    }

    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Sink *>(arg);
        if (message->remote == nullptr)
            return;
        self->op = {};
        self->iov.iov_len = message->length;
        MUST(message->length <= MESSAGE && vbn_am_pull(message->remote, &self->iov, 1, &self->op) >= 0);
    }
};

void send_out_of(Node &node, uint8_t *data, size_t bytes = MESSAGE)
{
    iovec iov{data, bytes};
    vbn_op_t hello{}, op{};
    vbn_status_t status = vbn_am_send(node.peers[0], 1, nullptr, 0, nullptr, 0, 0, &hello);
    MUST(status >= 0);
    node.until([&] { return status == VBN_OK || hello.complete == 1; }); /* connected: else it goes in packets */
    MUST(vbn_am_send(node.peers[0], 1, nullptr, 0, &iov, 1, VBN_AM_PULL, &op) >= 0);
    node.until([&] { return op.complete == 1; });
    MUST(op.status == VBN_OK);
}

/* Rank 1 sends, writes and sends again, gives the pages back and sends the zeros. */
void sender(Node &node, Shared &shared)
{
    Own own(BYTES);
    vbn_mem_t *mem = nullptr;
    MUST(vbn_mem_adopt(node.context, own.fd, own.at, BYTES, &mem) == VBN_OK);
    MUST(close(own.fd) == 0 && vbn_mem_address(mem) == own.at && vbn_mem_size(mem) == BYTES);
    node.connect(shared, 0);
    for (int round = 1; round <= 3; round++) {
        if (round < 3)
            memset(own.at + BYTES / 2, round, MESSAGE);
        else
            MUST(madvise(own.at + BYTES / 2, MESSAGE, MADV_REMOVE) == 0);
        send_out_of(node, own.at + BYTES / 2);
        node.barrier(shared, round);
    }
    MUST(vbn_mem_free(mem) == VBN_OK);
    own.at[0] = 1; /* the mapping is still there */
    MUST(munmap(own.at, BYTES) == 0);
}

TEST(Adopted, a_message_out_of_adopted_memory_is_copied_without_the_kernel)
{
    auto codes = multi::launch(2, [](int rank, Shared &shared) {
        pin_model("far"); /* by which copies pay */
        MUST(setenv("VBN_TL_SHM_COPY", "false", 1) == 0);
        Node node(shared, rank, 2, "self,shm");
        Sink sink(node);
        if (rank == 1)
            sender(node, shared);
        for (int round = 1; rank == 0 && round <= 3; round++) {
            uint64_t mapped = counter(node, "get.mapped.bytes");
            sink.next();
            MUST(sink.room == std::vector<uint8_t>(MESSAGE, static_cast<uint8_t>(round % 3)));
            MUST(round == 1 || counter(node, "get.mapped.bytes") == mapped + MESSAGE);
            MUST(counter(node, "copy.read.bytes") == 0);
            node.barrier(shared, round);
        }
        node.barrier(shared, 4);
        node.close();
    });
    EXPECT_EQ(codes, (std::vector<int>{0, 0}));
}

constexpr size_t FIRST = 64 << 10; /* messages of another class, until the receiver has mapped the memory */
constexpr int TRIALS = 6;          /* two of each way */

void send_each_way(Node &node, Shared &shared)
{
    Own own(BYTES);
    vbn_mem_t *mem = nullptr;
    int stage = 1;
    MUST(vbn_mem_adopt(node.context, own.fd, own.at, BYTES, &mem) == VBN_OK);
    node.connect(shared, 0);
    for (; shared.key_length[0] == 0; node.barrier(shared, stage++))
        send_out_of(node, own.at, FIRST);
    for (int trial = 0; trial < TRIALS; node.barrier(shared, stage++), trial++) {
        memset(own.at, trial, MESSAGE);
        send_out_of(node, own.at);
    }
    MUST(vbn_mem_free(mem) == VBN_OK);
}

void hear_each_way(Node &node, Shared &shared, bool by_kernel)
{
    Sink sink(node);
    int stage = 1;
    for (; shared.key_length[0] == 0; node.barrier(shared, stage++)) {
        sink.next();
        shared.key_length[0] = counter(node, "get.mapped.bytes");
    }
    for (int trial = 0; trial < TRIALS; node.barrier(shared, stage++), trial++) {
        const uint64_t mapped = counter(node, "get.mapped.bytes"), streamed = counter(node, "get.stream.bytes");
        sink.next();
        MUST(sink.room == std::vector<uint8_t>(MESSAGE, static_cast<uint8_t>(trial)));
        if (trial < 2)
            MUST(counter(node, "get.stream.bytes") == streamed + MESSAGE);
        else if (trial < 4)
            MUST(counter(node, "get.mapped.bytes") == mapped + MESSAGE);
        else if (by_kernel) /* the sender may write a part */
            MUST(counter(node, "get.stream.bytes") == streamed);
    }
    MUST(counter(node, "copy.read.bytes") <= (by_kernel ? stage * FIRST : 0));
}

TEST(Adopted, each_way_is_measured_for_memory_that_is_mapped)
{
    const bool allowed = multi::reads_others();
    for (const char *by_kernel : {"true", "false"}) {
        auto codes = multi::launch(2, [&](int rank, Shared &shared) {
            MUST(setenv("VBN_PROTO_COST_FILE", "", 1) == 0 && setenv("VBN_TL_SHM_COPY", by_kernel, 1) == 0);
            Node node(shared, rank, 2, "self,shm");
            if (rank == 1)
                send_each_way(node, shared);
            else
                hear_each_way(node, shared, allowed && by_kernel[0] == 't');
            node.close();
        });
        EXPECT_EQ(codes, (std::vector<int>{0, 0})) << by_kernel;
    }
}

TEST(Adopted, what_others_may_shorten_is_refused_and_the_mapping_stays_the_callers)
{
    auto codes = multi::launch(1, [](int, Shared &) {
        Pair pair("self,shm");
        Own loose(MESSAGE, 0), sealed(MESSAGE);
        vbn_mem_t *mem = nullptr;
        vbn_context_t *context = pair.a.context;
        MUST(vbn_mem_adopt(context, loose.fd, loose.at, MESSAGE, &mem) == VBN_ERR_ACCESS);
        MUST(vbn_mem_adopt(context, sealed.fd, sealed.at, MESSAGE / 2, &mem) == VBN_ERR_RANGE);
        MUST(strstr(vbn_error_text(), "adopt all of it") != nullptr);
        MUST(vbn_mem_adopt(context, sealed.fd, nullptr, MESSAGE, &mem) == VBN_ERR_INVALID);
        MUST(vbn_mem_adopt(context, sealed.fd, sealed.at, 0, &mem) == VBN_ERR_INVALID);
        MUST(vbn_mem_adopt(nullptr, sealed.fd, sealed.at, MESSAGE, &mem) == VBN_ERR_INVALID);
        MUST(vbn_mem_adopt(context, sealed.fd, sealed.at, MESSAGE, &mem) == VBN_OK);
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_key_export(mem, 0, 4096, BOTH, blob, &length) == VBN_OK);
        MUST(vbn_mem_free(mem) == VBN_OK);
        loose.at[0] = sealed.at[MESSAGE - 1] = 1;
        MUST(vbn_mem_adopt(context, sealed.fd, sealed.at, MESSAGE, &mem) == VBN_OK); /* once more */
        MUST(vbn_mem_free(mem) == VBN_OK);
        pair.close();
    });
    EXPECT_EQ(codes, (std::vector<int>{0}));
}

} // namespace
