// SPDX-License-Identifier: Apache-2.0
// test_core_md.cc - the examples of docs/core.md, compiled and run by two processes over shm and tcp. Each example stands
// here between marks, word for word; tests/unit/docs/test_core_md.py compares.
#include <gtest/gtest.h>

#include <string>

#include "launch.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* the examples are C */

using multi::Node;
using multi::Shared;

namespace {

constexpr size_t BLOCK = 100000;

struct inbox {
    char data[BLOCK];
    struct iovec to;
    vbn_op_t pull;
    int arrived;
};

// example
static void on_message(void *arg, const vbn_am_message_t *message)
{
    struct inbox *inbox = (struct inbox *)arg;
    inbox->to = (struct iovec){inbox->data, sizeof(inbox->data)}; /* stays where it is until the pull has completed */
    if (message->remote == NULL)
        memcpy(inbox->data, message->data, message->length);
    else if (vbn_am_pull(message->remote, &inbox->to, 1, &inbox->pull) < 0)
        vbn_am_drop(message->remote);
    inbox->arrived = 1;
}
// end

void wait_for(vbn_worker_t *worker, vbn_op_t &op)
{
    // example
    while (op.complete == 0) {
        if (vbn_progress(worker) > 0 || vbn_arm(worker) != VBN_OK)
            continue;
        struct pollfd fd = {vbn_event_fd(worker), POLLIN, 0};
        poll(&fd, 1, 1000);
    }
    // end
    MUST(op.status == VBN_OK);
}

/* A message, a tagged message and a block with its signal to the other process. */
void giver(Shared &shared, const char *transport)
{
    Node node(shared, 1, 2, transport);
    node.connect_all(shared);
    while (shared.key_length[0] == 0)
        node.step(1);
    vbn_worker_t *worker = node.worker;
    vbn_peer_t *peer = node.peers[0];
    vbn_key_t *key;
    MUST(vbn_key_import(peer, shared.key[0], shared.key_length[0], &key) == VBN_OK);
    static char text[BLOCK];
    std::memset(text, 'x', sizeof(text));
    // example
    struct iovec data = {text, sizeof(text)};
    vbn_op_t op = {0};
    vbn_status_t status = vbn_am_send(peer, 3, "greeting", 8, &data, 1, 0, &op);
    if (status < 0)
        fprintf(stderr, "cannot send: %s\n", vbn_error_text());
    // end
    MUST(status >= 0);
    wait_for(worker, op);
    vbn_op_t tagged{};
    MUST(vbn_tag_send(peer, 0x742, &data, 1, 0, &tagged) >= 0);
    wait_for(worker, tagged);
    // example
    vbn_signal_t signal = {key, 0, VBN_ATOMIC_ADD, 1};
    vbn_op_t put = {0};
    status = vbn_put_signal(key, 4096, &data, 1, &signal, &put); /* the word at 0 counts the blocks that have arrived */
    // end
    MUST(status >= 0);
    wait_for(worker, put);
    char why[1000];
    for (auto call : {VBN_CALL_AM, VBN_CALL_TAG, VBN_CALL_PUT, VBN_CALL_GET, VBN_CALL_ATOMIC}) {
        MUST(vbn_explain_call(peer, call, BLOCK, why, sizeof(why)) > 0);
        MUST(std::strstr(why, transport) != nullptr);
    }
    node.barrier(shared, 1);
    vbn_key_release(key);
    node.close();
}

void taker(Shared &shared, const char *transport)
{
    Node node(shared, 0, 2, transport);
    vbn_worker_t *worker = node.worker;
    static struct inbox inbox;
    MUST(vbn_am_handler(worker, 3, on_message, &inbox) == VBN_OK);
    vbn_mem_t *mem;
    size_t length = VBN_KEY_MAX;
    MUST(vbn_mem_alloc(node.context, 1 << 20, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
    MUST(vbn_key_export(mem, 0, 1 << 20, VBN_ACCESS_READ | VBN_ACCESS_WRITE, shared.key[0], &length) == VBN_OK);
    shared.key_length[0] = length;
    node.connect_all(shared);
    static char buffer[BLOCK];
    vbn_status_t status;
    // example
    vbn_tag_info_t info;
    struct iovec room = {buffer, sizeof(buffer)};
    vbn_op_t receive = {0};
    status = vbn_tag_recv(worker, NULL, 0x700, ~(uint64_t)0xff, &room, 1, &info, &receive); /* tags 0x700 to 0x7ff */
    // end
    MUST(status >= 0);
    wait_for(worker, receive);
    MUST(info.tag == 0x742 && info.length == BLOCK && buffer[BLOCK - 1] == 'x');
    MUST(inbox.arrived == 1); /* sent before */
    wait_for(worker, inbox.pull);
    MUST(inbox.data[0] == 'x' && inbox.data[BLOCK - 1] == 'x');
    auto *base = static_cast<char *>(vbn_mem_address(mem));
    auto *counter = reinterpret_cast<uint64_t *>(base);
    // example
    while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) == 0)
        vbn_progress(worker); /* the block is complete when the counter has moved */
    // end
    MUST(std::memcmp(base + 4096, buffer, BLOCK) == 0);
    node.barrier(shared, 1);
    MUST(vbn_mem_free(mem) == VBN_OK);
    node.close();
}

class CorePage : public ::testing::TestWithParam<const char *> {};

TEST_P(CorePage, its_examples_do_what_it_says)
{
    auto codes = multi::launch(
        2, [](int rank, Shared &shared) { rank == 0 ? taker(shared, GetParam()) : giver(shared, GetParam()); });
    EXPECT_EQ(codes[0], 0);
    EXPECT_EQ(codes[1], 0);
}

INSTANTIATE_TEST_SUITE_P(Over, CorePage, ::testing::Values("shm", "tcp"),
                         [](const auto &each) { return std::string(each.param); });

} // namespace
