// SPDX-License-Identifier: Apache-2.0
// test_turns.cc - what a client by messages may do before sockets and other clients get their turn: counted by the server.
#include <algorithm>

#include "server.h"

using namespace client_test;

namespace {

constexpr int MESSAGES_MOST = 64; // of a turn (server/native.c)
constexpr int RING = 64;          // and what may have come in one client's ring beyond it
constexpr size_t KEYS = 5000;     // of a list: in portions of 512 (server/budget.h)
constexpr uint64_t LONG_NS = 60000000000;

TEST(Turns, a_client_with_many_requests_by_message_is_served_in_turns)
{
    Server server(OURS, {"-t", "1", "-m", "64"});
    Client client(server.name(";carrier=messages;onesided=off"));
    ASSERT_EQ(client.set("key", "value"), VMC_OK);
    std::vector<vmc_req_t> requests(3000);
    std::vector<std::string> buffers(requests.size(), std::string(16, '\0'));
    for (size_t i = 0; i < requests.size(); i++)
        vmc_iget(client.mc, "key", 3, buffers[i].data(), buffers[i].size(), &requests[i]);
    for (size_t i = 0; i < requests.size(); i++) {
        ASSERT_EQ(vmc_wait(client.mc, &requests[i], LONG_NS), VMC_OK) << i;
        ASSERT_EQ(buffers[i].substr(0, requests[i].length), "value") << i;
    }
    int most = std::stoi(server.stat("verbena", "turn_messages_most"));
    EXPECT_GE(most, 1);
    EXPECT_LE(most, MESSAGES_MOST + RING);
}

TEST(Turns, a_long_list_of_keys_by_message_is_answered_in_portions)
{
    Server server(OURS, {"-t", "1", "-m", "64"});
    Client client(server.name(";carrier=messages;onesided=off"));
    ASSERT_EQ(client.set("k7", "seven"), VMC_OK);
    ASSERT_EQ(client.set("k4999", "last"), VMC_OK);
    std::vector<std::string> names;
    for (size_t i = 0; i < KEYS; i++)
        names.push_back("k" + std::to_string(i));
    std::vector<vmc_key_t> keys;
    for (const std::string &name : names)
        keys.push_back({name.data(), name.size()});
    std::vector<size_t> found;
    uint64_t before = std::stoul(server.stat("verbena", "messages_requests"));
    auto take = [](void *arg, size_t index, const void *, const vmc_value_t *) {
        static_cast<std::vector<size_t> *>(arg)->push_back(index);
    };
    ASSERT_EQ(vmc_mget(client.mc, keys.data(), keys.size(), take, &found), VMC_OK);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, (std::vector<size_t>{7, 4999}));
    EXPECT_GE(std::stoul(server.stat("verbena", "messages_requests")) - before, KEYS / 512);
}

} // namespace
