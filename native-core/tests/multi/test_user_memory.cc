// SPDX-License-Identifier: Apache-2.0
// test_user_memory.cc - get and put on memory of the owner's own (vbn_mem_register), between real processes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launch.h"

using multi::Node;
using multi::Shared;
using Bytes = std::vector<uint8_t>;

namespace {

constexpr size_t LENGTH = (3 << 20) + 77;
constexpr size_t OFFSET = 123; // of the registered range in its mapping
constexpr size_t MAPPED = LENGTH + 8192;

uint8_t byte_at(size_t i, unsigned seed)
{
    return static_cast<uint8_t>(i * 131 + seed * 17 + (i >> 8) * 7);
}

class UserMemory : public ::testing::TestWithParam<const char *> {};

void export_key(Shared &shared, vbn_mem_t *mem)
{
    size_t length = VBN_KEY_MAX;
    MUST(vbn_key_export(mem, 0, LENGTH, VBN_ACCESS_READ | VBN_ACCESS_WRITE, shared.key[0], &length) == VBN_OK);
    shared.key_length[0] = length;
}

void owner(Shared &shared, const char *transport)
{
    Node node(shared, 0, 2, transport);
    void *map = mmap(nullptr, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(map != MAP_FAILED);
    auto *base = static_cast<uint8_t *>(map) + OFFSET;
    for (size_t i = 0; i < LENGTH; i++)
        base[i] = byte_at(i, 1);
    vbn_mem_t *mem = nullptr;
    MUST(vbn_mem_register(node.context, base, LENGTH, VBN_ACCESS_READ | VBN_ACCESS_WRITE, &mem) == VBN_OK);
    export_key(shared, mem);
    node.connect_all(shared);
    node.barrier(shared, 1); // the other side has got and put
    for (size_t i = 0; i < LENGTH; i++)
        MUST(base[i] == byte_at(i, i < 1000 ? 1 : 2));
    MUST(base[-1] == 0 && base[LENGTH] == 0);
    MUST(munmap(map, MAPPED) == 0);                                 // against the rules: the registration still lives
    MUST(vbn_mem_invalidate(node.context, base, LENGTH) == VBN_OK); // for hosts that cannot watch
    node.barrier(shared, 2);
    node.barrier(shared, 3);
    MUST(counter(node, "key.refused") >= 2);
    MUST(vbn_mem_free(mem) == VBN_OK);
    node.close();
}

/* Waits for the op, gives its status. */
vbn_status_t wait(Node &node, vbn_op_t &op, vbn_status_t started)
{
    if (started != VBN_INPROGRESS)
        return started;
    node.until([&] { return op.complete != 0; });
    return static_cast<vbn_status_t>(op.status);
}

void user(Shared &shared, const char *transport)
{
    Node node(shared, 1, 2, transport);
    node.connect_all(shared);
    node.until([&] { return shared.key_length[0] != 0; });
    vbn_key_t *key;
    MUST(vbn_key_import(node.peers[0], shared.key[0], shared.key_length[0], &key) == VBN_OK);
    Bytes data(LENGTH);
    vbn_op_t op{};
    iovec iov{data.data(), LENGTH};
    MUST(wait(node, op, vbn_get(key, 0, &iov, 1, &op)) == VBN_OK);
    MUST(vbn_key_pointer(key) == nullptr); // never mapped, though this may be the owner's host
    for (size_t i = 0; i < LENGTH; i++)
        MUST(data[i] == byte_at(i, 1));
    for (size_t i = 0; i < LENGTH; i++)
        data[i] = byte_at(i, 2);
    op = vbn_op_t{};
    iov = {data.data() + 1000, LENGTH - 1000};
    MUST(wait(node, op, vbn_put(key, 1000, &iov, 1, &op)) == VBN_OK);
    MUST(counter(node, "get.mapped.bytes") == 0 && counter(node, "put.mapped.bytes") == 0);
    node.barrier(shared, 1);
    node.barrier(shared, 2); // the owner has unmapped its memory
    iov = {data.data(), LENGTH};
    op = vbn_op_t{};
    MUST(wait(node, op, vbn_get(key, 0, &iov, 1, &op)) == VBN_ERR_STALE);
    op = vbn_op_t{};
    MUST(wait(node, op, vbn_put(key, 0, &iov, 1, &op)) == VBN_ERR_STALE);
    MUST(node.lost[0] == 0);
    node.barrier(shared, 3);
    vbn_key_release(key);
    node.close();
}

TEST_P(UserMemory, is_read_and_written_by_key_until_it_is_unmapped)
{
    std::vector<int> codes = multi::launch(2, [&](int rank, Shared &shared) {
        if (rank == 0)
            owner(shared, GetParam());
        else
            user(shared, GetParam());
    });
    EXPECT_EQ(codes[0], 0) << "owner";
    EXPECT_EQ(codes[1], 0) << "user";
}

INSTANTIATE_TEST_SUITE_P(Transports, UserMemory, ::testing::ValuesIn(multi::ways({"shm", "tcp"})),
                         [](const auto &test) { return multi::way_name(test.param); });

} // namespace
