// SPDX-License-Identifier: Apache-2.0
// test_fork.cc - a process ends, or lets go of a peer, while a child that it forked lives on: the peer notices it then, and
// not when the child ends.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "launch.h"

using multi::Node;
using multi::Shared;

namespace {

class ForkOver : public testing::TestWithParam<const char *> {};

constexpr int CHILD = multi::MAX - 1; /* index in stage[]: the child's number */

void stay(Shared &shared, pid_t child)
{
    if (child != 0) {
        MUST(child > 0);
        shared.stage[CHILD] = child;
        return;
    }
    alarm(230); /* an emulated machine with RDMA needs minutes to notice the end, and to give up dialling */
    for (;;)
        pause();
}

void end_child(Shared &shared)
{
    pid_t child = shared.stage[CHILD];
    MUST(kill(child, 0) == 0); /* it lived until now */
    MUST(kill(child, SIGKILL) == 0);
}

void say_hello(Node &node, int to)
{
    vbn_op_t op{};
    vbn_status_t status = vbn_am_send(node.peers[to], 1, "hello", 5, nullptr, 0, 0, &op);
    MUST(status >= 0);
    node.until([&] { return status == VBN_OK || op.complete != 0; });
}

/* One is told of the end of the other, `ends`, which connected to it. */
void expect_noticed(const char *way, int code, const std::function<void(Node &, Shared &)> &ends,
                    const std::function<void(Node &, Shared &)> &then)
{
    auto codes = multi::launch(2, [&](int rank, Shared &shared) {
        setenv("VBN_LINK_WIREUP_TIMEOUT", "10s", 1); /* that long a dead worker is dialled over devices */
        Node node(shared, rank, 2, way);
        node.connect_all(shared);
        say_hello(node, 1 - rank);
        node.barrier(shared, 1);
        if (rank == 1) {
            ends(node, shared);
            return;
        }
        node.until([&] { return node.lost[1] != 0; });
        then(node, shared);
        end_child(shared);
        node.close();
    });
    EXPECT_EQ(codes[0], 0);
    EXPECT_EQ(codes[1], code);
}

TEST_P(ForkOver, a_killed_process_is_noticed_and_cannot_be_dialled_although_its_child_lives)
{
    expect_noticed(
        GetParam(), -SIGKILL,
        [](Node &, Shared &shared) {
            stay(shared, fork());
            (void)kill(getpid(), SIGKILL);
        },
        [](Node &node, Shared &shared) {
            vbn_disconnect(node.peers[1], VBN_CLOSE_NOW);
            node.peers[1] = nullptr;
            node.lost[1] = 0;
            vbn_status_t status = vbn_connect(node.worker, shared.blob[1], shared.length[1], Node::on_lost,
                                              &node.lost[1], &node.peers[1]);
            bool told = std::string(GetParam()) == "tcp" || std::string(GetParam()) == "shm";
            if (status == VBN_OK) {
                node.until([&] { return node.lost[1] != 0; });
                status = static_cast<vbn_status_t>(node.lost[1]);
            }
            MUST(!told || status == VBN_ERR_UNREACHABLE); /* devices say nothing: a time-out finds out */
        });
}

/* The bare system call runs no handlers of fork, so this child keeps its copies of the descriptors. */
TEST_P(ForkOver, a_closed_connection_ends_although_a_child_has_a_copy_of_it)
{
    expect_noticed(
        GetParam(), 0,
        [](Node &node, Shared &shared) {
            stay(shared, static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)));
            vbn_disconnect(node.peers[0], VBN_CLOSE_NOW);
            node.peers[0] = nullptr;
            while (kill(shared.stage[CHILD], 0) == 0 && waitpid(shared.stage[CHILD], nullptr, WNOHANG) == 0)
                node.step(10);
            node.close();
        },
        [](Node &, Shared &) {});
}

INSTANTIATE_TEST_SUITE_P(Ways, ForkOver, testing::ValuesIn(multi::ways({"tcp", "shm"})),
                         [](const auto &way) { return multi::way_name(way.param); });

} // namespace
