// SPDX-License-Identifier: Apache-2.0
// test_many.cc - many clients by messages at once: each is served, and what one costs the server is printed and bounded.
#include <cstdio>
#include <fstream>
#include <sys/resource.h>

#include "server.h"

using namespace client_test;

namespace {

constexpr size_t BYTES_MOST = 200000; // of a client at the server; the rings are 22 KiB, the rest is the core's and the kernel's share

size_t resident(pid_t pid)
{
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    size_t bytes = 0;
    for (std::string line; std::getline(status, line);)
        if (line.rfind("RssAnon:", 0) == 0 || line.rfind("RssShmem:", 0) == 0)
            bytes += strtoull(line.c_str() + line.find(':') + 1, nullptr, 10) * 1024;
    return bytes;
}

TEST(Many, clients_by_messages_are_served_and_cost_little)
{
    const size_t count = getenv("VERBENA_TEST_FULL") != nullptr ? 1000 : 100;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    Server server(OURS, {"-c", "4096", "-m", "64"});
    std::vector<std::unique_ptr<Client>> clients;
    clients.push_back(std::make_unique<Client>(server.name(";carrier=messages")));
    ASSERT_EQ(clients[0]->set("k", "v"), VMC_OK) << clients[0]->explain();
    size_t before = resident(server.pid());
    for (size_t i = 1; i <= count; i++) {
        clients.push_back(std::make_unique<Client>(server.name(";carrier=messages")));
        ASSERT_EQ(clients[i]->set("key" + std::to_string(i), std::to_string(i)), VMC_OK) << i << clients[i]->explain();
    }
    for (size_t i = 1; i <= count; i++)
        ASSERT_EQ(clients[count + 1 - i]->get("key" + std::to_string(i)), std::to_string(i)) << i;
    EXPECT_EQ(server.stat("verbena", "messages_clients_shm"), std::to_string(count + 1));
    size_t each = (resident(server.pid()) - before) / count;
    printf("%zu clients by messages, %zu bytes of the server's memory each\n", count, each);
    EXPECT_LT(each, BYTES_MOST);
    clients.resize(1);
    server.await_stat("verbena", "messages_clients_shm", "1");
    EXPECT_EQ(clients[0]->get("k"), "v");
}

} // namespace
