// SPDX-License-Identifier: Apache-2.0
// test_joined.cc - memory that one process reserves and others join: connections, copies, holes, the end of the first owner,
// wrong arguments, keys that lie.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pair.h"
#include "pin.h"

namespace {

using multi::counter;
using multi::Node;
using multi::Pair;
using multi::Shared;

constexpr size_t PART = size_t{1} << 30, BYTES = 8 * PART, MESSAGE = 1 << 20, MIB = 1 << 20;
constexpr unsigned BOTH = VBN_ACCESS_READ | VBN_ACCESS_WRITE;

void expect_all_well(const std::vector<int> &codes)
{
    for (int code : codes)
        EXPECT_EQ(code, 0);
}

/* This process's share of memory that rank 0 has reserved. */
struct Share {
    Node &node;
    vbn_mem_t *mem = nullptr;

    Share(Node &n, Shared &shared) : node(n)
    {
        if (node.rank == 0)
            reserve(shared);
        else
            join(shared);
    }
    void reserve(Shared &shared)
    {
        size_t length = VBN_KEY_MAX;
        MUST(vbn_mem_reserve(node.context, BYTES, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, 4096, BOTH, shared.key[0], &length) == VBN_OK);
        shared.key_length[0] = length;
    }
    void join(Shared &shared)
    {
        node.until([&] { return shared.key_length[0] != 0; });
        vbn_key_t *key = nullptr;
        vbn_op_t op{};
        node.connect(shared, 0);
        vbn_status_t status = vbn_key_import_op(node.peers[0], shared.key[0], shared.key_length[0], &key, &op);
        MUST(status >= 0);
        if (status == VBN_INPROGRESS)
            MUST(vbn_mem_join(key, &mem) == VBN_ERR_INVALID); /* not decided yet */
        node.until([&] { return op.complete == 1; });
        MUST(op.status == VBN_OK && op.length == 4096);
        MUST(vbn_mem_join(key, &mem) == VBN_OK);
        MUST(vbn_mem_size(mem) == BYTES && vbn_mem_address(mem) == vbn_key_pointer(key));
        vbn_key_release(key);
    }
    uint8_t *part(int rank) const
    {
        return static_cast<uint8_t *>(vbn_mem_address(mem)) + static_cast<size_t>(rank) * PART;
    }
    void commit(size_t bytes) { MUST(vbn_mem_commit(mem, static_cast<size_t>(node.rank) * PART, bytes) == VBN_OK); }
    void close() { MUST(vbn_mem_free(mem) == VBN_OK); }
};

TEST(Joined, everybody_joins_by_one_connection_and_sees_what_the_others_write)
{
    expect_all_well(multi::launch(6, [](int rank, Shared &shared) {
        Node node(shared, rank, 6, "self,shm");
        Share share(node, shared);
        share.commit(8192);
        memset(share.part(rank), 'a' + rank, 8192);
        node.barrier(shared, 1);
        for (int other = 0; other < 6; other++)
            MUST(share.part(other)[0] == 'a' + other && share.part(other)[8191] == 'a' + other);
        MUST(counter(node, "mem.bytes") == 8192); /* its own commit: the rest is address space */
        for (int other = 1; other < 6; other++)
            MUST(node.peers[other] == nullptr);
        node.barrier(shared, 2);
        share.close();
        node.close();
    }));
}

/* Neither packets nor copies between processes: the receiver has to read the sender's data where it lies. */
void only_mapped()
{
    pin_model("far"); /* by which copies pay */
    MUST(setenv("VBN_TL_SHM_COPY", "false", 1) == 0);
}

/* Takes one message into memory of its own. */
struct Sink {
    std::vector<uint8_t> room = std::vector<uint8_t>(MESSAGE);
    vbn_op_t op{};
    iovec iov{room.data(), MESSAGE};
    unsigned small = 0;

    explicit Sink(Node &node) { MUST(vbn_am_handler(node.worker, 1, on_message, this) == VBN_OK); }

    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Sink *>(arg);
        if (message->remote == nullptr) {
            self->small++;
            return;
        }
        MUST(message->length == MESSAGE && vbn_am_pull(message->remote, &self->iov, 1, &self->op) >= 0);
    }
};

void send_out_of(Node &node, int to, uint8_t *data)
{
    iovec iov{data, MESSAGE};
    vbn_op_t hello{}, op{};
    vbn_status_t status = vbn_am_send(node.peers[to], 1, nullptr, 0, nullptr, 0, 0, &hello);
    MUST(status >= 0);
    node.until(
        [&] { return status == VBN_OK || hello.complete == 1; }); /* connected: else the first one goes in packets */
    MUST(vbn_am_send(node.peers[to], 1, nullptr, 0, &iov, 1, VBN_AM_PULL, &op) >= 0);
    node.until([&] { return op.complete == 1; });
    MUST(op.status == VBN_OK);
}

TEST(Joined, a_message_out_of_joined_memory_is_copied_once_also_the_first_one)
{
    /* rank 1 has joined and sends to rank 2, which has joined, and to rank 0, whose memory it was */
    expect_all_well(multi::launch(3, [](int rank, Shared &shared) {
        only_mapped();
        Node node(shared, rank, 3, "self,shm");
        Sink sink(node);
        Share share(node, shared);
        share.commit(MESSAGE);
        node.barrier(shared, 1);
        uint64_t imported = counter(node, "mem.imported.bytes");
        if (rank == 1) {
            memset(share.part(1), 0x5a, MESSAGE);
            node.connect(shared, 2);
            send_out_of(node, 2, share.part(1));
            send_out_of(node, 0, share.part(1));
        } else {
            node.until([&] { return sink.op.complete == 1; });
            MUST(sink.op.status == VBN_OK && sink.room == std::vector<uint8_t>(MESSAGE, 0x5a));
            MUST(counter(node, "get.mapped.bytes") == MESSAGE && counter(node, "copy.read.bytes") == 0);
            MUST(counter(node, "mem.imported.bytes") == imported); /* nothing was mapped for it */
        }
        node.barrier(shared, 2);
        share.close();
        node.close();
    }));
}

TEST(Joined, keys_of_joined_memory_lead_a_peer_that_has_not_joined_to_it)
{
    expect_all_well(multi::launch(3, [](int rank, Shared &shared) {
        Node node(shared, rank, 3, "self,shm");
        if (rank == 2) {
            node.until([&] { return shared.key_length[1] != 0; });
            vbn_key_t *key = nullptr;
            uint64_t word = 0, next = 8;
            iovec in{&word, 8}, out{&next, 8};
            vbn_op_t get{}, put{};
            node.connect(shared, 1);
            MUST(vbn_key_import(node.peers[1], shared.key[1], shared.key_length[1], &key) == VBN_OK);
            MUST(vbn_get(key, 0, &in, 1, &get) >= 0);
            node.until([&] { return get.complete == 1; });
            MUST(get.status == VBN_OK && word == 7);
            MUST(vbn_put(key, 0, &out, 1, &put) >= 0);
            node.until([&] { return put.complete == 1; });
            vbn_key_release(key);
            node.barrier(shared, 1);
        } else {
            Share share(node, shared);
            if (rank == 1) {
                size_t length = VBN_KEY_MAX;
                share.commit(4096);
                *reinterpret_cast<uint64_t *>(share.part(1)) = 7;
                MUST(vbn_key_export(share.mem, PART, 4096, BOTH, shared.key[1], &length) == VBN_OK);
                shared.key_length[1] = length;
            }
            node.barrier(shared, 1);
            MUST(*reinterpret_cast<uint64_t *>(share.part(1)) == 8);
            share.close();
        }
        node.close();
    }));
}

TEST(Joined, joined_memory_outlives_its_first_owner)
{
    auto codes = multi::launch(3, [](int rank, Shared &shared) {
        only_mapped();
        Node node(shared, rank, 3, "self,shm");
        Sink sink(node);
        Share share(node, shared);
        share.commit(4096);
        share.part(rank)[0] = 'a';
        node.barrier(shared, 1);
        if (rank == 0)
            raise(SIGKILL);
        node.until([&] { return node.lost[0] != 0; });
        MUST(share.part(0)[0] == 'a');
        share.commit(MESSAGE);
        memset(share.part(rank), 'b', MESSAGE);
        if (rank == 1) {
            node.connect(shared, 2);
            send_out_of(node, 2, share.part(1));
        } else {
            node.until([&] { return sink.op.complete == 1; });
            MUST(sink.room == std::vector<uint8_t>(MESSAGE, 'b') && counter(node, "copy.read.bytes") == 0);
        }
        shared.stage[rank] = 2;
        node.until([&] { return shared.stage[3 - rank] == 2; });
        share.close();
        node.close();
    });
    EXPECT_EQ(codes, (std::vector<int>{-SIGKILL, 0, 0}));
}

void in_child(const std::function<void()> &role)
{
    expect_all_well(multi::launch(1, [&](int, Shared &) { role(); }));
}

TEST(Joined, only_what_is_committed_is_allocated)
{
    in_child([] {
        Pair pair("self,shm");
        vbn_mem_t *mem = nullptr;
        MUST(vbn_mem_reserve(pair.a.context, BYTES, &mem) == VBN_OK && vbn_mem_size(mem) == BYTES);
        auto *bytes = static_cast<const uint8_t *>(vbn_mem_address(mem));
        auto allocated = [&] {
            vbn_counter_t all[256];
            size_t count = vbn_counters(pair.a.context, all, 256);
            for (size_t i = 0; i < count && i < 256; i++)
                if (strcmp(all[i].name, "mem.bytes") == 0)
                    return all[i].value;
            abort();
        };
        MUST(allocated() == 0);
        MUST(vbn_mem_commit(mem, MIB + 1, 4096) == VBN_OK && allocated() == 8192);
        MUST(vbn_mem_commit(mem, MIB, 3 * 4096) == VBN_OK && allocated() == 3 * 4096);
        MUST(vbn_mem_commit(mem, 5, 0) == VBN_OK && allocated() == 3 * 4096);
        MUST(bytes[MIB] == 0 && bytes[BYTES - 1] == 0); /* a hole reads as zeros */
        MUST(vbn_mem_free(mem) == VBN_OK && allocated() == 0);
        pair.close();
    });
}

TEST(Joined, more_than_the_host_has_is_an_error_and_no_signal)
{
    in_child([] {
        Pair pair("self,shm");
        vbn_mem_t *mem = nullptr;
        MUST(vbn_mem_reserve(pair.a.context, size_t{1} << 44, &mem) == VBN_OK); /* 16 TiB of addresses */
        MUST(vbn_mem_commit(mem, 0, size_t{1} << 44) == VBN_ERR_NO_MEMORY);
        MUST(strstr(vbn_error_text(), "ask for less") != nullptr);
        MUST(vbn_mem_free(mem) == VBN_OK);
        rlimit limit{size_t{1} << 34, RLIM_INFINITY};
        MUST(setrlimit(RLIMIT_AS, &limit) == 0);
        MUST(vbn_mem_reserve(pair.a.context, size_t{1} << 44, &mem) < 0);
        pair.close();
    });
}

/* Memory of b's and a key of it at a, mapped. */
struct Window {
    Pair &pair;
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    uint8_t blob[VBN_KEY_MAX];
    size_t length = sizeof(blob);

    Window(Pair &p, unsigned access) : pair(p)
    {
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        MUST(vbn_mem_reserve(pair.b.context, MIB, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, 4096, access, blob, &length) == VBN_OK);
        key = import(blob, length);
    }
    vbn_key_t *import(const uint8_t *bytes, size_t size)
    {
        vbn_key_t *made = nullptr;
        vbn_op_t op{};
        (void)pair.finish(vbn_key_import_op(pair.a.peer, bytes, size, &made, &op), op);
        return made;
    }
    void close()
    {
        vbn_key_release(key);
        MUST(vbn_mem_free(mem) == VBN_OK);
    }
};

TEST(Joined, wrong_arguments_are_errors)
{
    in_child([] {
        Pair pair("self,shm");
        Window window(pair, BOTH);
        vbn_mem_t *joined = nullptr, *again = nullptr, *plain = nullptr;
        MUST(vbn_mem_reserve(nullptr, 1, &plain) == VBN_ERR_INVALID &&
             vbn_mem_reserve(pair.a.context, 0, &plain) == VBN_ERR_INVALID);
        MUST(vbn_mem_reserve(pair.a.context, SIZE_MAX, &plain) == VBN_ERR_INVALID);
        MUST(vbn_mem_join(nullptr, &joined) == VBN_ERR_INVALID && vbn_mem_join(window.key, nullptr) == VBN_ERR_INVALID);
        MUST(vbn_mem_commit(nullptr, 0, 1) == VBN_ERR_INVALID);
        MUST(vbn_mem_join(window.key, &joined) == VBN_OK);
        MUST(vbn_mem_join(window.key, &again) == VBN_ERR_INVALID); /* shared already */
        MUST(vbn_mem_commit(joined, MIB, 1) == VBN_ERR_RANGE && vbn_mem_commit(joined, 1, SIZE_MAX) == VBN_ERR_RANGE);
        MUST(vbn_mem_alloc(pair.a.context, 4096, VBN_BACKING_MEMFD, nullptr, &plain) == VBN_OK);
        MUST(vbn_mem_commit(plain, 0, 4096) == VBN_ERR_INVALID);
        MUST(vbn_mem_free(plain) == VBN_OK && vbn_mem_free(joined) == VBN_OK);
        MUST(vbn_mem_join(window.key, &joined) == VBN_OK && vbn_mem_free(joined) == VBN_OK); /* once more */
        window.close();
        pair.close();
    });
}

TEST(Joined, a_key_for_reading_or_over_the_network_joins_nothing)
{
    in_child([] {
        for (const char *transport : {"self,shm", "self,tcp"}) {
            Pair pair(transport);
            bool maps = strcmp(transport, "self,shm") == 0;
            Window window(pair, maps ? VBN_ACCESS_READ : BOTH);
            vbn_mem_t *joined = nullptr;
            MUST(vbn_mem_join(window.key, &joined) == (maps ? VBN_ERR_ACCESS : VBN_ERR_UNSUPPORTED));
            window.close();
            pair.close();
        }
    });
}

TEST(Joined, a_key_that_lies_reaches_no_memory_that_its_sender_has_not)
{
    /* a has joined b's memory. c, which has not, names that in a key of other memory: puts by it must go to the other memory,
     * whose descriptor c has, and not to what the ids say. */
    in_child([] {
        Pair pair("self,shm");
        Window window(pair, BOTH);
        multi::Half c;
        vbn_peer_t *to_b = pair.a.peer, *to_c = nullptr;
        vbn_mem_t *joined = nullptr, *other = nullptr, *second = nullptr;
        vbn_key_t *liar = nullptr;
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_mem_join(window.key, &joined) == VBN_OK && vbn_mem_commit(joined, 0, MIB) == VBN_OK);
        MUST(c.open("self,shm") == VBN_OK && pair.a.connect(c) == VBN_OK);
        std::swap(pair.a.peer, to_c);
        pair.a.peer = to_b;
        MUST(vbn_mem_alloc(c.context, MIB, VBN_BACKING_MEMFD, nullptr, &other) == VBN_OK);
        MUST(vbn_key_export(other, 0, 4096, BOTH, blob, &length) == VBN_OK);
        memcpy(blob + 16, window.blob + 16, 16); /* owner id, handle of the memory */
        vbn_op_t op{}, put{};
        vbn_status_t status = vbn_key_import_op(to_c, blob, length, &liar, &op);
        MUST(status >= 0);
        auto finish = [&](const vbn_op_t &one) {
            MUST(pair.until([&] { return vbn_progress(c.worker), one.complete == 1; }));
            return one.status == VBN_OK;
        };
        MUST(status == VBN_INPROGRESS && finish(op));
        uint64_t word = 0x1122334455667788;
        iovec iov{&word, 8};
        status = vbn_put(liar, 0, &iov, 1, &put);
        MUST(status == VBN_OK || (status == VBN_INPROGRESS && finish(put)));
        MUST(*static_cast<uint64_t *>(vbn_mem_address(joined)) == 0 &&
             *static_cast<uint64_t *>(vbn_mem_address(other)) == word);
        MUST(vbn_mem_join(liar, &second) == VBN_OK && vbn_mem_address(second) != vbn_mem_address(joined));
        MUST(vbn_mem_free(second) == VBN_OK);
        vbn_key_release(liar);
        MUST(vbn_mem_free(joined) == VBN_OK && vbn_mem_free(other) == VBN_OK);
        vbn_disconnect(to_c, VBN_CLOSE_NOW);
        c.close();
        window.close();
        pair.close();
    });
}

TEST(Joined, changed_bytes_of_a_key_are_an_error_or_lead_to_the_same_memory)
{
    in_child([] {
        Pair pair("self,shm");
        Window window(pair, BOTH);
        vbn_mem_t *joined = nullptr;
        MUST(vbn_mem_join(window.key, &joined) == VBN_OK && vbn_mem_commit(joined, 0, MIB) == VBN_OK);
        for (size_t at = 0; at < window.length; at++) {
            uint8_t blob[VBN_KEY_MAX];
            memcpy(blob, window.blob, window.length);
            blob[at] ^= 1;
            vbn_key_t *key = window.import(blob, window.length);
            auto *address = static_cast<uint8_t *>(vbn_key_pointer(key));
            MUST(address == nullptr || (address >= static_cast<uint8_t *>(vbn_mem_address(joined)) &&
                                        address < static_cast<uint8_t *>(vbn_mem_address(joined)) + MIB));
            vbn_mem_t *more = nullptr;
            MUST(key == nullptr || vbn_mem_join(key, &more) < 0);
            vbn_key_release(key);
        }
        MUST(vbn_mem_free(joined) == VBN_OK);
        window.close();
        pair.close();
    });
}

TEST(Joined, pages_that_were_given_back_are_zeros_for_all_and_can_be_committed_again)
{
    in_child([] {
        Pair pair("self,shm");
        Window window(pair, BOTH);
        vbn_mem_t *joined = nullptr, *plain = nullptr;
        MUST(vbn_mem_join(window.key, &joined) == VBN_OK && vbn_mem_commit(joined, 0, MIB) == VBN_OK);
        MUST(counter(pair.a.context, "mem.bytes") == MIB);
        auto *ours = static_cast<uint8_t *>(vbn_mem_address(joined));
        auto *theirs = static_cast<uint8_t *>(vbn_mem_address(window.mem));
        memset(ours, 7, MIB);
        MUST(vbn_mem_uncommit(joined, 4097, MIB - 3 * 4096) ==
             VBN_OK); /* whole pages only: the third to the last but two */
        MUST(counter(pair.a.context, "mem.bytes") == MIB - (MIB - 4 * 4096) && theirs[8191] == 7 &&
             theirs[MIB - 8192] == 7);
        MUST(vbn_mem_commit(joined, 0, MIB) == VBN_OK && counter(pair.a.context, "mem.bytes") == MIB);
        for (size_t i = 8192; i < MIB - 8192; i++)
            MUST(ours[i] == 0 && theirs[i] == 0);
        MUST(vbn_mem_uncommit(joined, 4095, 2) == VBN_OK && theirs[4095] == 7); /* no whole page */
        MUST(vbn_mem_uncommit(joined, 0, SIZE_MAX) == VBN_ERR_RANGE &&
             vbn_mem_uncommit(nullptr, 0, 1) == VBN_ERR_INVALID);
        MUST(vbn_mem_alloc(pair.a.context, 4096, VBN_BACKING_MEMFD, nullptr, &plain) == VBN_OK);
        MUST(vbn_mem_uncommit(plain, 0, 4096) == VBN_ERR_INVALID && vbn_mem_free(plain) == VBN_OK);
        MUST(vbn_mem_free(joined) == VBN_OK);
        window.close();
        pair.close();
    });
}

TEST(Joined, memory_may_be_freed_while_a_peer_still_reads_it)
{
    in_child([] {
        Pair pair("self,shm");
        Window window(pair, BOTH);
        auto *bytes = static_cast<uint8_t *>(vbn_mem_address(window.mem));
        MUST(vbn_mem_commit(window.mem, 0, 4096) == VBN_OK);
        bytes[0] = 9;
        void *address = nullptr;
        size_t length = 0;
        vbn_mapping_t *mapping = vbn_key_map(window.key, &address, &length);
        MUST(mapping != nullptr);
        window.close();
        MUST(*static_cast<uint8_t *>(address) == 9);
        vbn_key_unmap(mapping);
        pair.close();
    });
}

} // namespace
