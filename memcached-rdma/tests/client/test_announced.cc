// SPDX-License-Identifier: Apache-2.0
// test_announced.cc - clients that announce large values by message and never let them be fetched: what they take is bounded,
// others go on, and their leases end it.
#include "server.h"

using namespace client_test;

namespace {

constexpr size_t LARGE = 900000, COUNT = 60;
constexpr size_t MEMORY = 32, SHARE = MEMORY << 18; // a quarter of -m for values on their way, and one thread
const char *const OVER_TCP =
    "verbena_core=tl.enable=tcp"; // over shared memory the kernel could fetch them without the client

/* Announces values, so many turns of the library, and stands still. */
pid_t announcer(const Server &server, int turns)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Client client(server.name(";carrier=messages;onesided=off"));
    std::vector<std::string> keys;
    std::vector<vmc_req_t> requests(COUNT);
    const std::string value(LARGE, 'a');
    if (client.set("announcer", "is there") != VMC_OK)
        _exit(1);
    for (size_t i = 0; i < COUNT; i++)
        keys.push_back("announced" + std::to_string(i));
    for (size_t i = 0; i < COUNT; i++)
        vmc_iset(client.mc, keys[i].data(), keys[i].size(), value.data(), LARGE, 0, 0, &requests[i]);
    for (int i = 0; i < turns; i++)
        (void)vmc_test(client.mc, &requests[COUNT - 1]);
    (void)raise(SIGSTOP);
    _exit(0);
}

void await_stopped(pid_t child)
{
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status)) << status;
}

void end(pid_t child)
{
    int status = 0;
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, &status, 0), child);
}

unsigned long number(const Server &server, const char *name)
{
    return std::stoul(server.stat("verbena", name));
}

TEST(Announced, values_that_never_come_take_a_bounded_share_and_others_go_on)
{
    Server server(OURS, {"-m", std::to_string(MEMORY), "-t", "1", "-o", OVER_TCP, "-o", "verbena_lease=60000"});
    std::vector<pid_t> children;
    for (int turns : {0, 3, 20}) {
        children.push_back(announcer(server, turns));
        await_stopped(children.back());
    }
    for (int i = 0; i < 6000 && number(server, "drafts_lost") == 0; i++)
        usleep(10000); // the server may not have seen all of it yet
    EXPECT_GT(number(server, "drafts_lost"), 0u);
    EXPECT_GT(number(server, "drafts_bytes"), 0u);
    Client other(server.name(";carrier=messages;onesided=off")), socket(server.name(";carrier=sockets"));
    for (int i = 0; i < 40; i++) {
        ASSERT_EQ(other.set("small" + std::to_string(i), "v"), VMC_OK) << i;
        ASSERT_EQ(socket.set("large" + std::to_string(i), std::string(LARGE, 's')), VMC_OK) << i;
    }
    EXPECT_EQ(socket.get("large39"), std::string(LARGE, 's'));
    EXPECT_LE(number(server, "drafts_bytes_most"), SHARE + LARGE + 4096); // and one by the socket
    for (pid_t child : children)
        end(child);
    server.await_stat("verbena", "drafts_bytes", "0");
    EXPECT_EQ(other.set("after", std::string(LARGE, 'l')), VMC_OK); // the share is free again
}

TEST(Announced, a_lease_ends_what_is_announced_and_never_comes)
{
    Server server(OURS, {"-m", std::to_string(MEMORY), "-t", "1", "-o", OVER_TCP, "-o", "verbena_lease=100"});
    pid_t child = announcer(server, 20);
    await_stopped(child);
    server.await_stat("verbena", "messages_clients_tcp", "0");
    server.await_stat("verbena", "drafts_bytes", "0");
    EXPECT_EQ(server.stat("verbena", "messages_leases_ended"), "1");
    end(child);
}

} // namespace
