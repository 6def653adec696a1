// SPDX-License-Identifier: Apache-2.0
// test_copied.cc - registered memory that peers of the host copy by the kernel: while its owner does nothing; words and
// other data that go by packets; rights, forged keys, the end of the registration and of the owner; kernels that refuse.
#include <gtest/gtest.h>

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "deny.h"
#include "pair.h"
#include "reads.h"
#include "users.h"

using multi::counter;
using multi::Node;
using multi::Pair;
using multi::Shared;
using Bytes = std::vector<uint8_t>;

namespace {

constexpr size_t LENGTH = (3 << 20) + 77;
constexpr unsigned RW = VBN_ACCESS_READ | VBN_ACCESS_WRITE, ALL = RW | VBN_ACCESS_COPY;

Bytes pattern(size_t length, unsigned seed)
{
    Bytes bytes(length);
    for (size_t i = 0; i < length; i++)
        bytes[i] = static_cast<uint8_t>(i * 131 + seed * 17 + (i >> 8) * 7);
    return bytes;
}

/* With its buffer, which stays until it is complete. */
struct Op : vbn_op_t {
    iovec iov{};

    Op() : vbn_op_t{} {}
    void begin(const void *data, size_t size)
    {
        *static_cast<vbn_op_t *>(this) = vbn_op_t{};
        iov = {const_cast<void *>(data), size};
    }
};

/* Memory of half b, used by half a. Nobody moves b but turn() and finish(). */
struct Window {
    Pair &pair;
    Bytes bytes = pattern(LENGTH, 1);
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    uint8_t blob[VBN_KEY_MAX] = {};
    size_t length = sizeof(blob);

    explicit Window(Pair &p, unsigned access = ALL) : pair(p)
    {
        MUST(vbn_mem_register(pair.b.context, bytes.data(), LENGTH, ALL, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, LENGTH, access, blob, &length) == VBN_OK);
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        MUST(import(blob, &key) == VBN_OK);
    }
    vbn_status_t import(const uint8_t *from, vbn_key_t **key_p) const
    {
        return vbn_key_import(pair.a.peer, from, length, key_p);
    }
    static vbn_status_t get(vbn_key_t *from, size_t offset, void *to, size_t length, Op &op)
    {
        op.begin(to, length);
        return vbn_get(from, offset, &op.iov, 1, &op);
    }
    static vbn_status_t put(vbn_key_t *to, size_t offset, const void *from, size_t length, Op &op)
    {
        op.begin(from, length);
        return vbn_put(to, offset, &op.iov, 1, &op);
    }
    bool has(size_t offset, const Bytes &data) const
    {
        return std::memcmp(bytes.data() + offset, data.data(), data.size()) == 0;
    }
    uint64_t count(const char *name) const { return counter(pair.a.context, name); }
    uint64_t copied() const { return count("get.copied.bytes") + count("put.copied.bytes"); }
    void close()
    {
        vbn_key_release(key);
        MUST(vbn_mem_free(mem) == VBN_OK);
        pair.close();
    }
};

int code_of(const std::function<void()> &body)
{
    return multi::launch(1, [&](int, Shared &) { body(); })[0];
}

void in_child(const std::function<void()> &body)
{
    int code = code_of(body);
    if (code == multi::NO_SECCOMP)
        GTEST_SKIP() << "no seccomp filter may be installed here";
    EXPECT_EQ(code, 0);
}

/* What expects copies by the kernel. */
void where_copies_work(const std::function<void()> &body)
{
    if (!multi::reads_itself())
        GTEST_SKIP() << "process_vm_readv is forbidden here: allow it in the container profile";
    in_child(body);
}

TEST(Copied, gets_and_puts_of_all_sizes_are_done_at_once_while_the_owner_is_silent)
{
    where_copies_work([] {
        Pair pair("self,shm");
        Window window(pair);
        unsigned seed = 2;
        uint64_t sum = 0;
        for (size_t size : {size_t{65}, size_t{100}, size_t{4096}, size_t{65537}, size_t{(1 << 20) + 1}, LENGTH - 13}) {
            Op op;
            Bytes data = pattern(size, seed++), got(size);
            MUST(window.put(window.key, 7, data.data(), size, op) == VBN_OK && op.complete == 1 && op.length == size);
            MUST(window.has(7, data));
            MUST(window.get(window.key, 7, got.data(), size, op) == VBN_OK && got == data);
            sum += 2 * size;
        }
        MUST(window.copied() == sum && window.count("put.stream.bytes") == 0);
        MUST(vbn_key_pointer(window.key) == nullptr);
        window.close();
    });
}

TEST(Copied, a_list_of_long_pieces_is_copied_and_one_of_short_pieces_packed_data_and_strides_go_by_packets)
{
    where_copies_work([] {
        Pair pair("self,shm");
        Window window(pair);
        vbn_op_t op{};
        Bytes data = pattern(8192, 5);
        iovec pieces[] = {{data.data(), 5000}, {nullptr, 0}, {data.data() + 5000, 3192}};
        MUST(vbn_put(window.key, 3, pieces, 3, &op) == VBN_OK && window.has(3, data));
        Bytes more = pattern(90, 6);
        iovec shorts[] = {{more.data(), 45}, {more.data() + 45, 45}};
        op = vbn_op_t{};
        MUST(pair.finish(vbn_put(window.key, 9001, shorts, 2, &op), op) == VBN_OK && window.has(9001, more));
        vbn_strided_t blocks{data.data(), 2048, 4, 2048, 4096};
        op = vbn_op_t{};
        MUST(pair.finish(vbn_put_strided(window.key, 100001, &blocks, &op), op) == VBN_OK);
        MUST(window.has(100001 + 3 * 4096, Bytes(data.begin() + 3 * 2048, data.end())));
        MUST(window.copied() == 8192);
        window.close();
    });
}

TEST(Copied, words_go_by_packets_because_the_kernel_does_not_keep_them_whole)
{
    in_child([] {
        Pair pair("self,shm");
        Window window(pair);
        for (size_t size : {1u, 2u, 4u, 8u, 64u}) {
            Op op;
            Bytes data = pattern(size, 9), got(size), before(window.bytes.begin() + 64, window.bytes.begin() + 128);
            vbn_status_t status = window.put(window.key, 64, data.data(), size, op);
            MUST(status == VBN_INPROGRESS && window.has(64, before)); /* the owner stores them */
            MUST(pair.finish(status, op) == VBN_OK && window.has(64, data));
            MUST(pair.finish(window.get(window.key, 64, got.data(), size, op), op) == VBN_OK && got == data);
        }
        MUST(window.copied() == 0);
        window.close();
    });
}

TEST(Copied, a_get_behind_a_fence_sees_the_put_by_packets_before_it)
{
    where_copies_work([] {
        Pair pair("self,shm");
        Window window(pair);
        Op put, get;
        const uint64_t word = 0x1122334455667788;
        Bytes got(4096);
        vbn_status_t first = window.put(window.key, 128, &word, sizeof(word), put);
        MUST(first == VBN_INPROGRESS && vbn_fence(pair.a.worker) == VBN_OK);
        vbn_status_t second = window.get(window.key, 128, got.data(), got.size(), get);
        MUST(second == VBN_INPROGRESS); /* a copy at once would overtake it */
        MUST(pair.finish(first, put) == VBN_OK && pair.finish(second, get) == VBN_OK);
        MUST(std::memcmp(got.data(), &word, sizeof(word)) == 0);
        MUST(window.get(window.key, 128, got.data(), got.size(), get) == VBN_OK); /* nothing is before this one */
        window.close();
    });
}

TEST(Copied, nothing_is_copied_without_the_right)
{
    in_child([] {
        Pair pair("self,shm");
        Window window(pair, RW);
        Op op;
        Bytes got(4096);
        vbn_status_t status = window.get(window.key, 0, got.data(), got.size(), op);
        MUST(status == VBN_INPROGRESS && pair.finish(status, op) == VBN_OK && window.copied() == 0);
        uint8_t forged[VBN_KEY_MAX];
        vbn_key_t *key = nullptr;
        memcpy(forged, window.blob, window.length);
        forged[2] |= VBN_ACCESS_COPY; /* the owner has not given it */
        MUST(window.import(forged, &key) == VBN_OK);
        status = window.get(key, 0, got.data(), got.size(), op);
        MUST(status == VBN_INPROGRESS && pair.finish(status, op) == VBN_OK && window.copied() == 0);
        vbn_key_release(key);
        window.close();
    });
}

TEST(Copied, a_key_cannot_have_more_rights_than_the_registration_and_mapped_memory_has_no_such_right)
{
    where_copies_work([] {
        Pair pair("self,shm");
        Bytes bytes(10000);
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        vbn_mem_t *plain = nullptr, *reading = nullptr, *core = nullptr;
        MUST(vbn_mem_register(pair.b.context, bytes.data(), bytes.size(), RW, &plain) == VBN_OK);
        MUST(vbn_key_export(plain, 0, 100, ALL, blob, &length) == VBN_ERR_ACCESS);
        MUST(vbn_mem_alloc(pair.b.context, 4096, VBN_BACKING_MEMFD, nullptr, &core) == VBN_OK);
        MUST(vbn_key_export(core, 0, 100, ALL, blob, &length) == VBN_ERR_ACCESS);
        MUST(vbn_mem_register(pair.b.context, bytes.data(), 1, VBN_ACCESS_COPY, &reading) == VBN_ERR_INVALID);
        MUST(vbn_mem_register(pair.b.context, bytes.data(), bytes.size(), VBN_ACCESS_READ | VBN_ACCESS_COPY,
                              &reading) == VBN_OK);
        MUST(vbn_key_export(reading, 0, 4096, VBN_ACCESS_READ | VBN_ACCESS_COPY, blob, &length) == VBN_OK);
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        vbn_key_t *key = nullptr;
        Op op;
        Bytes data(4096);
        MUST(vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
        MUST(Window::get(key, 0, data.data(), 4096, op) == VBN_OK);
        MUST(Window::put(key, 0, data.data(), 4096, op) == VBN_ERR_ACCESS);
        MUST(Window::get(key, 1, data.data(), 4096, op) == VBN_ERR_RANGE);
        vbn_key_release(key);
        MUST(vbn_mem_free(plain) == VBN_OK && vbn_mem_free(reading) == VBN_OK && vbn_mem_free(core) == VBN_OK);
        pair.close();
    });
}

TEST(Copied, changed_bytes_of_a_key_never_lead_outside_its_memory)
{
    in_child([] {
        Pair pair("self,shm");
        Window window(pair);
        Bytes data(4096, 0xee);
        const Bytes all = pattern(LENGTH, 1), part(all.begin() + (1 << 20), all.begin() + (1 << 20) + 4096);
        for (size_t bit = 0; bit < window.length * 8; bit++) {
            uint8_t forged[VBN_KEY_MAX];
            vbn_key_t *key = nullptr;
            Op op;
            memcpy(forged, window.blob, window.length);
            forged[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
            if (window.import(forged, &key) != VBN_OK)
                continue;
            vbn_status_t status = pair.finish(window.put(key, 1 << 20, data.data(), data.size(), op), op);
            MUST(status != VBN_OK || window.has(1 << 20, data)); /* where the true key leads, or nowhere */
            MUST(pair.a.lost == VBN_OK);
            vbn_key_release(key);
            std::copy(part.begin(), part.end(), window.bytes.begin() + (1 << 20));
        }
        MUST(window.has(0, all));
        window.close();
    });
}

enum class End { Free, Revoke, Invalidate };

void stale_after(End end)
{
    Pair pair("self,shm");
    Window window(pair);
    Op op;
    Bytes data = pattern(70000, 3);
    MUST(window.put(window.key, 0, data.data(), data.size(), op) == VBN_OK);
    if (end == End::Free)
        MUST(vbn_mem_free(window.mem) == VBN_OK);
    else if (end == End::Revoke)
        MUST(vbn_mem_revoke(window.mem) == VBN_OK);
    else
        MUST(vbn_mem_invalidate(pair.b.context, window.bytes.data(), 1) == VBN_OK);
    Bytes other = pattern(70000, 4);
    MUST(window.put(window.key, 0, other.data(), other.size(), op) == VBN_ERR_STALE && window.has(0, data));
    MUST(window.get(window.key, 0, other.data(), other.size(), op) == VBN_ERR_STALE);
    if (end == End::Free)
        window.mem = nullptr;
    window.close();
}

TEST(Copied, nothing_is_written_after_the_registration_has_ended_though_the_owner_is_silent)
{
    where_copies_work([] { stale_after(End::Free); });
    where_copies_work([] { stale_after(End::Revoke); });
    where_copies_work([] { stale_after(End::Invalidate); });
}

TEST(Copied, memory_that_was_registered_again_is_not_that_of_the_old_key)
{
    where_copies_work([] {
        Pair pair("self,shm");
        Window window(pair);
        Op op;
        Bytes data = pattern(5000, 3);
        MUST(window.put(window.key, 0, data.data(), data.size(), op) == VBN_OK);
        MUST(vbn_mem_free(window.mem) == VBN_OK);
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_mem_register(pair.b.context, window.bytes.data(), LENGTH, ALL, &window.mem) == VBN_OK);
        MUST(vbn_key_export(window.mem, 0, LENGTH, ALL, blob, &length) == VBN_OK);
        MUST(window.put(window.key, 0, data.data(), data.size(), op) == VBN_ERR_STALE);
        vbn_key_t *key = nullptr;
        MUST(window.import(blob, &key) == VBN_OK);
        MUST(window.put(key, 0, data.data(), data.size(), op) == VBN_OK);
        vbn_key_release(key);
        window.close();
    });
}

TEST(Copied, memory_that_its_owner_unmapped_against_the_rules_is_an_error_and_no_crash)
{
    where_copies_work([] {
        Pair pair("self,shm");
        Window window(pair);
        size_t length = VBN_KEY_MAX;
        void *map = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        vbn_mem_t *mem = nullptr;
        vbn_key_t *key = nullptr;
        uint8_t blob[VBN_KEY_MAX];
        MUST(map != MAP_FAILED && vbn_mem_register(pair.b.context, map, 1 << 20, ALL, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, 1 << 20, ALL, blob, &length) == VBN_OK);
        MUST(window.import(blob, &key) == VBN_OK);
        MUST(mprotect(map, 1 << 20, PROT_NONE) == 0); /* a hole where nothing else can come to lie */
        Op op;
        Bytes data(4096);
        vbn_status_t status = window.put(key, 0, data.data(), data.size(), op);
        MUST(status == VBN_INPROGRESS); /* the owner decides */
        MUST(pair.a.log.find("fall back to packets") != std::string::npos);
        MUST(vbn_mem_invalidate(pair.b.context, map, 1 << 20) == VBN_OK);
        MUST(pair.finish(status, op) == VBN_ERR_STALE && window.copied() == 0);
        vbn_key_release(key);
        MUST(vbn_mem_free(mem) == VBN_OK && munmap(map, 1 << 20) == 0);
        window.close();
    });
}

void by_packets(const char *transports)
{
    Pair pair(transports);
    Window window(pair);
    Op op;
    Bytes data = pattern(100000, 3), got(100000);
    MUST(pair.finish(window.put(window.key, 11, data.data(), data.size(), op), op) == VBN_OK && window.has(11, data));
    MUST(pair.finish(window.get(window.key, 11, got.data(), got.size(), op), op) == VBN_OK && got == data);
    MUST(window.copied() == 0);
    window.close();
}

TEST(Copied, packets_replace_the_copies_where_they_are_forbidden_or_impossible)
{
    in_child([] {
        MUST(setenv("VBN_TL_SHM_COPY", "false", 1) == 0);
        by_packets("self,shm");
    });
    in_child([] { by_packets("self,tcp"); });
    in_child([] {
        if (!multi::deny({SYS_process_vm_readv, SYS_process_vm_writev}, EPERM))
            _exit(multi::NO_SECCOMP);
        by_packets("self,shm");
    });
}

TEST(Copied, packets_replace_the_copies_when_the_kernel_refuses_later)
{
    where_copies_work([] {
        Pair pair("self,shm");
        Window window(pair);
        Op op;
        Bytes data = pattern(100000, 3), more = pattern(100000, 4);
        MUST(window.put(window.key, 0, data.data(), data.size(), op) == VBN_OK);
        if (!multi::deny({SYS_process_vm_writev}, EPERM))
            _exit(multi::NO_SECCOMP);
        vbn_status_t status = window.put(window.key, 0, more.data(), more.size(), op);
        MUST(status == VBN_INPROGRESS && pair.finish(status, op) == VBN_OK && window.has(0, more));
        MUST(window.copied() == data.size());
        window.close();
    });
}

/* Two processes: what one process cannot show. */
void export_all(Shared &shared, Node &node, Bytes &bytes, vbn_mem_t **mem_p)
{
    size_t length = VBN_KEY_MAX;
    MUST(vbn_mem_register(node.context, bytes.data(), bytes.size(), ALL, mem_p) == VBN_OK);
    MUST(vbn_key_export(*mem_p, 0, bytes.size(), ALL, shared.key[0], &length) == VBN_OK);
    shared.key_length[0] = length;
    node.connect_all(shared);
}

vbn_key_t *import_all(Shared &shared, Node &node)
{
    vbn_key_t *key = nullptr;
    vbn_op_t op{};
    node.connect_all(shared);
    node.until([&] { return shared.key_length[0] != 0; });
    MUST(vbn_key_import(node.peers[0], shared.key[0], shared.key_length[0], &key) == VBN_OK);
    MUST(vbn_flush(node.peers[0], &op) >= 0);
    node.until([&] { return op.complete == 1 || node.lost[0] != 0; }); /* connected */
    return key;
}

/* Nobody of them copies where this host forbids it: Yama, a container. */
bool expects_copies(Node &node)
{
    char why[2000];
    MUST(vbn_explain_call(node.peers[0], VBN_CALL_GET, 4096, why, sizeof(why)) > 0);
    return std::strstr(why, "one copy by the kernel") != nullptr;
}

TEST(Copied, another_process_is_read_and_written_while_it_is_stopped)
{
    auto codes = multi::launch(2, [](int rank, Shared &shared) {
        Node node(shared, rank, 2, "self,shm");
        Bytes bytes = pattern(LENGTH, 1), data = pattern(300000, 2), got(300000);
        vbn_mem_t *mem = nullptr;
        if (rank == 0) {
            export_all(shared, node, bytes, &mem);
            shared.length[2] = static_cast<size_t>(getpid());
            node.barrier(shared, 1);
            node.barrier(shared, 2);
            MUST(std::memcmp(bytes.data() + 77, data.data(), data.size()) == 0 && vbn_mem_free(mem) == VBN_OK);
            node.close();
            return;
        }
        vbn_key_t *key = import_all(shared, node);
        node.barrier(shared, 1);
        bool copies = expects_copies(node);
        Op put, get;
        if (copies)
            MUST(kill(static_cast<pid_t>(shared.length[2]), SIGSTOP) == 0);
        vbn_status_t first = Window::put(key, 77, data.data(), data.size(), put);
        vbn_status_t second = Window::get(key, 77, got.data(), got.size(), get);
        if (copies) {
            MUST(first == VBN_OK && second == VBN_OK && got == data);
            MUST(kill(static_cast<pid_t>(shared.length[2]), SIGCONT) == 0);
        }
        node.until([&] { return put.complete == 1 && get.complete == 1; });
        node.barrier(shared, 2);
        vbn_key_release(key);
        node.close();
    });
    EXPECT_EQ(codes, std::vector<int>(2, 0));
}

TEST(Copied, an_owner_that_was_killed_is_a_lost_peer)
{
    auto codes = multi::launch(2, [](int rank, Shared &shared) {
        Node node(shared, rank, 2, "self,shm");
        Bytes bytes = pattern(LENGTH, 1), got(LENGTH);
        vbn_mem_t *mem = nullptr;
        if (rank == 0) {
            export_all(shared, node, bytes, &mem);
            shared.length[2] = static_cast<size_t>(getpid());
            node.barrier(shared, 1);
            node.until([] { return false; });
        }
        vbn_key_t *key = import_all(shared, node);
        node.barrier(shared, 1);
        MUST(kill(static_cast<pid_t>(shared.length[2]), SIGKILL) == 0);
        Op op;
        vbn_status_t status = VBN_OK;
        while (status == VBN_OK) { /* until the kernel says that it is gone */
            status = Window::get(key, 0, got.data(), got.size(), op);
            MUST(status != VBN_OK || got == bytes);
        }
        if (status == VBN_INPROGRESS) {
            node.until([&] { return op.complete == 1; });
            status = static_cast<vbn_status_t>(op.status);
        }
        node.until([&] { return node.lost[0] != 0; });
        MUST(status == node.lost[0]);
        MUST(Window::put(key, 0, got.data(), got.size(), op) == VBN_ERR_PEER_LOST);
        vbn_key_release(key);
        node.close();
    });
    EXPECT_EQ(codes[0], -SIGKILL);
    EXPECT_EQ(codes[1], 0);
}

TEST(Copied, a_process_of_another_user_is_refused_by_the_kernel_and_served_by_packets)
{
    if (!can_become(60001) || !can_become(60002))
        GTEST_SKIP() << CANNOT_BECOME;
    auto codes = multi::launch(2, [](int rank, Shared &shared) {
        MUST(setenv("VBN_SECURITY_SAME_USER", "false", 1) == 0);
        MUST(setgid(60001) == 0 && setuid(static_cast<uid_t>(60001 + rank)) == 0);
        Node node(shared, rank, 2, "self,shm");
        Bytes bytes = pattern(100000, 1), got(100000);
        vbn_mem_t *mem = nullptr;
        if (rank == 0) {
            export_all(shared, node, bytes, &mem);
            node.barrier(shared, 1);
            MUST(vbn_mem_free(mem) == VBN_OK);
            node.close();
            return;
        }
        vbn_key_t *key = import_all(shared, node);
        MUST(!expects_copies(node));
        Op op;
        vbn_status_t status = Window::get(key, 0, got.data(), got.size(), op);
        MUST(status == VBN_INPROGRESS);
        node.until([&] { return op.complete == 1; });
        MUST(op.status == VBN_OK && got == bytes && counter(node, "get.copied.bytes") == 0);
        node.barrier(shared, 1);
        vbn_key_release(key);
        node.close();
    });
    EXPECT_EQ(codes, std::vector<int>(2, 0));
}

} // namespace
