// SPDX-License-Identifier: Apache-2.0
// test_steps.cc - clients that are killed or stand still at each step of their requests, by each carrier: others are served,
// nothing is left behind, and one that goes on gets right answers.
#include <functional>
#include <random>

#include "server.h"

using namespace client_test;

namespace {

constexpr uint64_t LONG_NS = 60000000000;
constexpr size_t LARGE = 400000, ONE_SIDED_MAX = 60000;
constexpr int END = 1000000; // turns: when the request has ended
constexpr int TURNS_MAX = 256;
constexpr unsigned REQUESTS = 6;

/* With VERBENA_TEST_FULL more of them. */
std::vector<int> places()
{
    if (getenv("VERBENA_TEST_FULL") != nullptr)
        return {0, 1, 2, 4, 8, 16, 32, 64, 128, TURNS_MAX, END};
    return {0, 1, 4, 32, END};
}

/* After so many turns of the library in a request, or at its end if that comes before. */
struct Place {
    unsigned request;
    int turns;
};

/* A client's requests one after the other; at the place it sends itself the signal. */
class Session {
public:
    Session(Client &client, Place place, int signal)
        : client_(client), place_(place), signal_(signal), key_(std::to_string(getpid()))
    {
    }
    bool right()
    {
        return set(0, "small", 'a', 10) && set(1, "large", 'b', LARGE) && get(2, "small", 'a', 10) &&
               get(3, "large", 'b', LARGE) && set(4, "large", 'c', LARGE) && get(5, "large", 'c', LARGE);
    }

private:
    void halt(unsigned number, int turns)
    {
        if (number != place_.request || turns < place_.turns)
            return;
        place_.request = REQUESTS;
        (void)raise(signal_);
    }
    vmc_status_t run(unsigned number, vmc_req_t *req)
    {
        for (int turns = 0; req->status == VMC_INPROGRESS && turns <= TURNS_MAX; turns++) {
            halt(number, turns);
            (void)vmc_test(client_.mc, req);
        }
        (void)vmc_wait(client_.mc, req, LONG_NS);
        halt(number, END);
        return req->status;
    }
    /* A server that has ended the connection meanwhile is found again. */
    bool repeat(unsigned number, const std::function<void(vmc_req_t *)> &begin,
                const std::function<bool(const vmc_req_t &)> &is_right)
    {
        for (int i = 0; i < 100; i++) {
            vmc_req_t req;
            begin(&req);
            if (run(number, &req) != VMC_ERR_SERVER_DEAD)
                return is_right(req);
        }
        return false;
    }
    bool set(unsigned number, const std::string &name, char byte, size_t length)
    {
        const std::string key = name + key_, value(length, byte);
        return repeat(
            number,
            [&](vmc_req_t *req) { vmc_iset(client_.mc, key.data(), key.size(), value.data(), length, 0, 0, req); },
            [](const vmc_req_t &req) { return req.status == VMC_OK; });
    }
    /* It may have been evicted. */
    bool get(unsigned number, const std::string &name, char byte, size_t length)
    {
        const std::string key = name + key_;
        std::string value(LARGE, '\0');
        return repeat(
            number,
            [&](vmc_req_t *req) { vmc_iget(client_.mc, key.data(), key.size(), value.data(), value.size(), req); },
            [&](const vmc_req_t &req) {
                return req.status == VMC_NOT_FOUND ||
                       (req.status == VMC_OK && value.substr(0, req.length) == std::string(length, byte));
            });
    }

    Client &client_;
    Place place_;
    int signal_;
    std::string key_;
};

pid_t start(const Server &server, const std::string &options, const std::function<bool(Client &)> &body)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Client client(server.name(options));
    _exit(body(client) ? 0 : 1);
}

/* More than the memory: whatever was pinned for ever would be missing now. */
void fill(const std::function<vmc_status_t(const std::string &, const std::string &)> &set)
{
    for (int i = 0; i < 120; i++)
        ASSERT_EQ(set("fill" + std::to_string(i), std::string(800000, 'f')), VMC_OK) << i;
}

class Steps : public ::testing::TestWithParam<std::pair<const char *, const char *>> {
protected:
    Steps()
        : server(OURS, {"-m", "64", "-o", "verbena_lease=100"}), other(server.name(";carrier=messages;onesided=off"))
    {
        EXPECT_EQ(other.set("other", "v"), VMC_OK);
    }
    /* One client for each place; what the others do meanwhile is looked at. */
    void at_each_place(int signal, const std::function<void(pid_t)> &then)
    {
        for (unsigned request = 0; request < REQUESTS; request++)
            for (int turns : places()) {
                SCOPED_TRACE(testing::Message() << "request " << request << ", turn " << turns);
                pid_t child = start(server, GetParam().second,
                                    [&](Client &client) { return Session(client, {request, turns}, signal).right(); });
                then(child);
                ASSERT_EQ(get_of_other("other"), "v");
            }
        server.await_stat("verbena", "messages_clients_shm", "1");
        fill([this](auto &key, auto &value) { return set_by_other(key, value); });
    }

    /* On a loaded machine this process, too, may not take an answer within the lease; then it connects again. */
    vmc_status_t set_by_other(const std::string &key, const std::string &value)
    {
        vmc_status_t status = VMC_ERR_SERVER_DEAD;
        for (int i = 0; i < 100 && status == VMC_ERR_SERVER_DEAD; i++)
            status = other.set(key, value);
        return status;
    }
    std::string get_of_other(const std::string &key)
    {
        std::string value = "(VMC_ERR_SERVER_DEAD)";
        for (int i = 0; i < 100 && value == "(VMC_ERR_SERVER_DEAD)"; i++)
            value = other.get(key);
        return value;
    }

    Server server;
    Client other;
};

TEST_P(Steps, a_client_killed_at_any_of_them_leaves_nothing_behind)
{
    at_each_place(SIGKILL, [](pid_t child) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    });
}

TEST_P(Steps, a_client_stopped_at_any_of_them_holds_up_nobody_and_goes_on)
{
    at_each_place(SIGSTOP, [this](pid_t child) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
        ASSERT_TRUE(WIFSTOPPED(status)) << status;
        EXPECT_EQ(set_by_other("other", "v"), VMC_OK);
        EXPECT_EQ(set_by_other("large", std::string(LARGE, 'x')), VMC_OK);
        EXPECT_EQ(get_of_other("large"), std::string(LARGE, 'x'));
        kill(child, SIGCONT);
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    });
}

INSTANTIATE_TEST_SUITE_P(Carriers, Steps,
                         ::testing::Values(std::pair{"messages", ";carrier=messages;onesided=off"},
                                           std::pair{"onesided", ";carrier=messages"},
                                           std::pair{"sockets", ";carrier=sockets"}),
                         [](const auto &each) { return std::string(each.param.first); });

std::string item(int number)
{
    return "item" + std::to_string(number);
}

/* Reads until it is killed; false: a value that nobody has stored. */
bool read_for_ever(Client &client)
{
    std::string buffer(ONE_SIDED_MAX, '\0');
    for (int i = 0;; i++) {
        vmc_value_t got{};
        const std::string key = item(i % 20);
        if (vmc_get(client.mc, key.data(), key.size(), buffer.data(), buffer.size(), &got) != VMC_OK)
            continue;
        if (buffer.substr(0, got.length) != std::string(got.length, buffer[0]))
            return false;
    }
}

/* A reader that does nothing else stands still somewhere in a get. */
TEST(OneSidedSteps, a_reader_stopped_anywhere_holds_up_no_writer_and_sees_no_torn_value)
{
    Server server(OURS, {"-m", "64"});
    Client other(server.name(";carrier=messages"));
    std::mt19937 random(20261124);
    for (int i = 0; i < 20; i++)
        ASSERT_EQ(other.set(item(i), std::string(ONE_SIDED_MAX, 'a')), VMC_OK);
    for (int reader = 0; reader < 5; reader++) {
        pid_t child = start(server, ";carrier=messages", read_for_ever);
        for (int round = 0; round < 40; round++) {
            int status = 0;
            usleep(static_cast<useconds_t>(random() % 3000));
            kill(child, SIGSTOP);
            ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
            ASSERT_TRUE(WIFSTOPPED(status)) << "a torn value: " << status;
            for (int i = 0; i < 20; i++)
                ASSERT_EQ(
                    other.set(item(i), std::string(random() % ONE_SIDED_MAX, static_cast<char>('a' + round % 26))),
                    VMC_OK);
            kill(child, SIGCONT);
        }
        kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFSIGNALED(status)) << "a torn value: " << status;
    }
    server.await_stat("verbena", "messages_clients_shm", "1");
    fill([&](auto &key, auto &value) { return other.set(key, value); });
}

} // namespace
