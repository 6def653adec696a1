// SPDX-License-Identifier: Apache-2.0
// test_close_flush.cc - a peer closed with VBN_CLOSE_FLUSH is served until what was announced to it has been pulled.
#include <gtest/gtest.h>

#include "launch.h"

namespace {

using multi::Node;
using multi::Shared;

constexpr size_t BYTES = 3 << 20;

struct Puller {
    std::vector<uint8_t> data = std::vector<uint8_t>(BYTES);
    vbn_op_t op{};
    vbn_am_remote_t *remote = nullptr;
    static void handle(void *arg, const vbn_am_message_t *m) { static_cast<Puller *>(arg)->remote = m->remote; }
};

void send_and_close(Node &node, Shared &shared)
{
    std::vector<uint8_t> data(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = static_cast<uint8_t>(i * 31 + i / 997);
    vbn_op_t op{};
    iovec iov{data.data(), data.size()};
    node.connect(shared, 1);
    MUST(vbn_am_send(node.peers[1], 1, nullptr, 0, &iov, 1, 0, &op) == VBN_INPROGRESS);
    vbn_disconnect(node.peers[1], VBN_CLOSE_FLUSH); /* before the other side knows of the message */
    node.peers[1] = nullptr;
    node.until([&] { return op.complete != 0; });
    MUST(op.status == VBN_OK && op.length == BYTES);
    node.barrier(shared, 1);
}

void pull_late(Node &node, Shared &shared)
{
    Puller puller;
    MUST(vbn_am_handler(node.worker, 1, Puller::handle, &puller) == VBN_OK);
    node.until([&] { return puller.remote != nullptr; });
    for (int i = 0; i < 200; i++) /* what the sender had to say is acknowledged, only the announcement is open */
        node.step(1);
    iovec iov{puller.data.data(), puller.data.size()};
    MUST(vbn_am_pull(puller.remote, &iov, 1, &puller.op) >= 0);
    node.until([&] { return puller.op.complete != 0; });
    MUST(puller.op.status == VBN_OK && puller.op.length == BYTES);
    for (size_t i = 0; i < BYTES; i++)
        MUST(puller.data[i] == static_cast<uint8_t>(i * 31 + i / 997));
    node.barrier(shared, 1);
}

void check(const char *transport)
{
    auto codes = multi::launch(2, [transport](int rank, Shared &shared) {
        Node node(shared, rank, 2, transport);
        rank == 0 ? send_and_close(node, shared) : pull_late(node, shared);
        node.close();
    });
    EXPECT_EQ(codes[0], 0) << transport;
    EXPECT_EQ(codes[1], 0) << transport;
}

TEST(CloseFlush, an_announced_message_is_delivered_before_a_shm_peer_goes)
{
    check("shm");
}

TEST(CloseFlush, an_announced_message_is_delivered_before_a_tcp_peer_goes)
{
    check("tcp");
}

} // namespace
