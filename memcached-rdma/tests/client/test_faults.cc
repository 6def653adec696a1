// SPDX-License-Identifier: Apache-2.0
// test_faults.cc - servers that die, stand still or are replaced by another kind; clients that do; requests that end early; fork.
#include <fstream>
#include <functional>
#include <random>
#include <sys/resource.h>
#include <thread>

#include "server.h"

using namespace client_test;

namespace {

constexpr uint64_t SHORT_NS = 50000000, LONG_NS = 60000000000;

/* Sets until the client has found its way. */
void set_until_stored(Client &client, const std::string &key, const std::string &value)
{
    vmc_status_t status = VMC_ERR_SERVER_DEAD;
    for (int i = 0; i < 6000 && (status = client.set(key, value)) != VMC_OK; i++)
        usleep(10000);
    ASSERT_EQ(status, VMC_OK) << client.explain();
}

TEST(Replaced, a_client_goes_on_over_sockets_when_debian_s_memcached_takes_the_port)
{
    Server ours(OURS);
    Client client(ours.name());
    ASSERT_EQ(client.set("k", "of ours"), VMC_OK);
    EXPECT_NE(client.explain().find("messages through the core (gets are one-sided); shm"), std::string::npos)
        << client.explain();
    ours.end(SIGKILL);
    EXPECT_EQ(client.get("k"), "(VMC_ERR_SERVER_DEAD)");
    Server stock(STOCK, {}, ours.held());
    set_until_stored(client, "k", "of stock");
    EXPECT_EQ(client.get("k"), "of stock");
    EXPECT_NE(client.explain().find("TCP socket; no messages: the server is not verbena-memcached"), std::string::npos)
        << client.explain();
}

TEST(Replaced, a_restarted_server_is_found_again_and_has_no_old_values)
{
    auto first = std::make_unique<Server>(OURS);
    auto port = first->held();
    Client client(first->name());
    ASSERT_EQ(client.set("k", "old"), VMC_OK);
    first->end(SIGTERM);
    Server second(OURS, {}, port);
    set_until_stored(client, "other", "new");
    EXPECT_EQ(client.get("k"), "(VMC_NOT_FOUND)");
    EXPECT_NE(client.explain().find("messages"), std::string::npos) << client.explain();
}

/* As a server that is killed between the kernel's accept and its answer: the connection ends, nobody listens any more. */
void end_at_the_hello(int listener)
{
    char line[256];
    int fd = accept(listener, nullptr, nullptr);
    close(listener);
    (void)!read(fd, line, sizeof(line));
    close(fd);
}

/* In a child: at most `more` descriptors beyond those open now; 0 when the set ended so and the text says why. */
int set_with_few_descriptors(const Server &server, const std::string &options, int more, vmc_status_t expected)
{
    Client client(server.name(options));
    int next = dup(0);
    rlimit limit = {static_cast<rlim_t>(next + more), static_cast<rlim_t>(next + more)};
    close(next);
    if (next < 0 || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 2;
    vmc_status_t status = client.set("k", "v");
    std::string why = client.explain();
    bool right = status == expected && why.find("raise ulimit -n") != std::string::npos;
    if (!right)
        fprintf(stderr, "%s: %s\n", vmc_status_name(status), why.c_str());
    return right ? 0 : 1;
}

int in_child(const std::function<int()> &function)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(function());
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(WaitAny, one_of_a_stopped_server_does_not_hold_up_another_and_goes_on_after_the_time)
{
    Server here(OURS), still(OURS);
    Client client("127.0.0.1:" + std::to_string(still.port()) + "," + here.name());
    std::string keys[2];
    for (int i = 0; keys[1].empty() || keys[0].empty(); i++) {
        std::string key = "key" + std::to_string(i);
        keys[vmc_server_of(client.mc, key.data(), key.size())] = key;
    }
    ASSERT_EQ(client.set(keys[1], "v"), VMC_OK);
    ASSERT_EQ(client.set(keys[0], "v"), VMC_OK);
    vmc_req_t reqs[2]; // the first is the stopped server's
    vmc_req_t *waits[] = {&reqs[0], &reqs[1]};
    size_t at = 7;
    still.stop();
    for (int i = 0; i < 2; i++)
        ASSERT_EQ(vmc_iset(client.mc, keys[i].data(), keys[i].size(), "w", 1, 0, 0, &reqs[i]), VMC_INPROGRESS);
    EXPECT_EQ(vmc_wait_any(client.mc, waits, 2, LONG_NS, &at), VMC_OK);
    EXPECT_EQ(at, 1u);
    waits[1] = nullptr;
    EXPECT_EQ(vmc_wait_any(client.mc, waits, 2, SHORT_NS, &at), VMC_INPROGRESS);
    EXPECT_EQ(at, 1u);
    still.resume();
    EXPECT_EQ(vmc_wait_any(client.mc, waits, 2, LONG_NS, &at), VMC_OK);
    EXPECT_EQ(at, 0u);
    EXPECT_EQ(client.get(keys[0]), "w");
}

TEST(Descriptors, a_client_without_any_left_says_what_to_do)
{
    Server server(OURS);
    EXPECT_EQ(in_child([&] { return set_with_few_descriptors(server, "", 0, VMC_ERR_SERVER_DEAD); }), 0);
}

TEST(Descriptors, a_client_with_too_few_for_messages_goes_by_the_socket_and_says_why)
{
    Server server(OURS);
    EXPECT_EQ(in_child([&] { return set_with_few_descriptors(server, "", 4, VMC_OK); }), 0);
    EXPECT_EQ(in_child([&] { return set_with_few_descriptors(server, ";carrier=messages", 4, VMC_ERR_SERVER_DEAD); }),
              0);
}

TEST(Replaced, a_server_that_ended_before_its_hello_is_asked_for_messages_again)
{
    auto port = std::make_shared<HeldPort>();
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port->number()));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    std::thread ending(end_at_the_hello, listener);
    runtime_folder();
    Client client("127.0.0.1:" + std::to_string(port->number()) + ";connect=60000;timeout=60000");
    EXPECT_EQ(client.get("k"), "(VMC_ERR_SERVER_DEAD)");
    ending.join();
    Server next(OURS, {}, port);
    set_until_stored(client, "k", "v");
    EXPECT_NE(client.explain().find("messages through the core"), std::string::npos) << client.explain();
}

TEST(Replaced, a_dead_server_is_told_from_a_missing_item)
{
    HeldPort nobody;
    Client client("127.0.0.1:" + std::to_string(nobody.number()));
    EXPECT_EQ(client.get("k"), "(VMC_ERR_SERVER_DEAD)");
    EXPECT_NE(client.explain().find("Connection refused"), std::string::npos) << client.explain();
}

TEST(Keys, a_client_with_another_key_or_none_uses_sockets_and_says_why)
{
    Server server(OURS);
    std::string wrong = runtime_folder() + "/wrong.key", open = runtime_folder() + "/open.key";
    std::ofstream(wrong) << std::string(64, 'a') << "\n";
    chmod(wrong.c_str(), 0600);
    std::ofstream(open) << std::string(64, 'a') << "\n";
    chmod(open.c_str(), 0644);
    for (auto &[file, why] : {std::pair<std::string, std::string>{wrong, "the core cannot connect"},
                              {open, "is mode 0644: others can read the key; run: chmod 600 " + open},
                              {"/nowhere/key", "No such file"}}) {
        Client client(server.name(";key=" + file));
        EXPECT_EQ(client.set("k", "v"), VMC_OK);
        EXPECT_EQ(client.get("k"), "v");
        EXPECT_NE(client.explain().find(why), std::string::npos) << client.explain();
        EXPECT_EQ(client.counts().messages, 0u);
        Client strict(server.name(";carrier=messages;key=" + file));
        EXPECT_EQ(strict.set("k", "v"), VMC_ERR_SERVER_DEAD);
        EXPECT_NE(strict.explain().find(why), std::string::npos) << strict.explain();
    }
}

class Stopped : public ::testing::TestWithParam<const char *> {};

/* The server stands still; what was asked before must never answer what is asked later. */
TEST_P(Stopped, a_late_answer_is_never_taken_for_another_one)
{
    Server server(OURS);
    Client client(server.name(GetParam()));
    ASSERT_EQ(client.set("a", "1"), VMC_OK);
    ASSERT_EQ(client.set("b", "2"), VMC_OK);
    ASSERT_EQ(client.set("n", "0"), VMC_OK);
    for (int round = 0; round < 5; round++) {
        char a[8], b[8];
        vmc_req_t get_a, get_b;
        server.stop();
        ASSERT_EQ(vmc_iget(client.mc, "a", 1, a, sizeof(a), &get_a), VMC_INPROGRESS);
        ASSERT_EQ(vmc_iget(client.mc, "b", 1, b, sizeof(b), &get_b), VMC_INPROGRESS);
        EXPECT_EQ(vmc_wait(client.mc, &get_a, SHORT_NS), VMC_ERR_TIMEOUT);
        vmc_cancel(client.mc, &get_b);
        EXPECT_EQ(get_b.status, VMC_ERR_CANCELLED);
        server.resume();
        EXPECT_EQ(client.get("b"), "2");
        EXPECT_EQ(client.get("missing"), "(VMC_NOT_FOUND)");
        uint64_t number = 0;
        EXPECT_EQ(vmc_incr(client.mc, "n", 1, 1, &number), VMC_OK);
        EXPECT_EQ(number, static_cast<uint64_t>(round) + 1);
        EXPECT_EQ(client.get("a"), "1");
    }
    EXPECT_EQ(client.counts().connects, 1u);
}

/* Memory of a request that ended is the caller's: it goes at once, and the sanitizer watches. */
TEST_P(Stopped, memory_of_cancelled_requests_may_be_freed)
{
    Server server(OURS);
    Client client(server.name(GetParam()));
    ASSERT_EQ(client.set("large", std::string(900000, 'x')), VMC_OK);
    for (int round = 0; round < 3; round++) {
        auto value = std::make_unique<std::string>(800000, 'y');
        auto buffer = std::make_unique<std::vector<char>>(1000000);
        auto reqs = std::make_unique<vmc_req_t[]>(2);
        server.stop();
        ASSERT_EQ(vmc_iset(client.mc, "other", 5, value->data(), value->size(), 0, 0, &reqs[0]), VMC_INPROGRESS);
        ASSERT_EQ(vmc_iget(client.mc, "large", 5, buffer->data(), buffer->size(), &reqs[1]), VMC_INPROGRESS);
        EXPECT_EQ(vmc_wait(client.mc, &reqs[0], SHORT_NS), VMC_ERR_TIMEOUT);
        if (reqs[1].status == VMC_INPROGRESS)
            vmc_cancel(client.mc, &reqs[1]);
        value.reset();
        buffer.reset();
        reqs.reset();
        server.resume();
        set_until_stored(client, "k", "v" + std::to_string(round));
        EXPECT_EQ(client.get("k"), "v" + std::to_string(round));
        EXPECT_EQ(client.get("large"), std::string(900000, 'x'));
    }
}

TEST_P(Stopped, a_child_of_fork_has_connections_of_its_own)
{
    Server server(OURS);
    Client client(server.name(GetParam()));
    char buffer[8];
    vmc_req_t req;
    ASSERT_EQ(client.set("k", "v"), VMC_OK);
    ASSERT_EQ(vmc_iget(client.mc, "k", 1, buffer, sizeof(buffer), &req), VMC_INPROGRESS);
    pid_t child = fork();
    if (child == 0) {
        bool right = vmc_test(client.mc, &req) == VMC_ERR_CANCELLED && client.get("k") == "v" &&
                     client.set("of_child", "c") == VMC_OK;
        vmc_close(client.mc);
        _exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(vmc_wait(client.mc, &req, LONG_NS), VMC_OK);
    EXPECT_EQ(client.get("of_child"), "c");
}

INSTANTIATE_TEST_SUITE_P(Carriers, Stopped, ::testing::Values(";carrier=messages;onesided=off", ";carrier=sockets"),
                         [](const auto &each) { return std::string(each.index == 0 ? "messages" : "sockets"); });

/* A process that runs `body` with a client of its own. */
template <class Body> pid_t run_client(const Server &server, Body body)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Client client(server.name(";carrier=messages"));
    body(client);
    _exit(0);
}

TEST(Leases, a_client_that_does_not_take_its_answer_is_disconnected)
{
    Server server(OURS, {"-t", "1", "-o", "verbena_lease=100"});
    Client other(server.name(";carrier=messages"));
    set_until_stored(other, "large",
                     std::string(900000, 'x')); /* the server may not have fetched it within the lease */
    const int before = std::stoi(server.stat("verbena", "messages_leases_ended"));
    pid_t child = run_client(server, [](Client &client) {
        std::vector<char> buffer(1000000);
        vmc_req_t req;
        client.set("mine", "is connected");
        (void)vmc_iget(client.mc, "large", 5, buffer.data(), buffer.size(), &req);
        (void)raise(SIGSTOP); /* the request is on its way, the answer will not be taken */
        vmc_status_t status = vmc_wait(client.mc, &req, LONG_NS);
        _exit(status == VMC_ERR_SERVER_DEAD && client.get("mine") == "is connected" ? 0 : 1);
    });
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    server.await_stat("verbena", "messages_leases_ended", std::to_string(before + 1));
    EXPECT_EQ(other.get("mine"), "is connected");
    kill(child, SIGCONT);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(Leases, time_in_which_the_server_stands_still_does_not_count)
{
    Server server(OURS, {"-t", "1", "-o", "verbena_core=tl.enable=tcp", "-o", "verbena_lease=2000"});
    Client client(server.name(";carrier=messages;onesided=off"));
    const std::string value(900000, 'x');
    vmc_req_t req;
    int status = 0;
    ASSERT_EQ(client.set("client", "is connected"), VMC_OK);
    auto begin = [&] { vmc_iset(client.mc, "large", 5, value.data(), value.size(), 0, 0, &req); };
    auto is_announced = [&] { /* the server waits for the value, which this thread sends */
                              for (int i = 0; i < 100 && server.stat("verbena", "drafts_bytes") == "0"; i++)
                                  usleep(10000);
                              return server.stat("verbena", "drafts_bytes") != "0";
    };
    begin();
    while (!is_announced())
        if (vmc_test(client.mc, &req) != VMC_INPROGRESS)
            begin(); /* that was too quick */
    kill(server.pid(), SIGSTOP);
    ASSERT_EQ(waitpid(server.pid(), &status, WUNTRACED), server.pid());
    usleep(2500000); /* the lease, and more */
    kill(server.pid(), SIGCONT);
    for (int i = 0; i < 3; i++) /* turns of the server, each with a look at the leases */
        EXPECT_EQ(server.stat("verbena", "messages_leases_ended"), "0");
    EXPECT_EQ(vmc_wait(client.mc, &req, LONG_NS), VMC_OK);
    EXPECT_TRUE(client.get("large") == value); /* not shown: it is long */
}

TEST(Leases, clients_killed_at_any_moment_leave_nothing_behind)
{
    Server server(OURS, {"-m", "64"});
    Client other(server.name(";carrier=messages"));
    std::mt19937 random(20261123);
    for (int round = 0; round < 20; round++) {
        pid_t child = run_client(server, [](Client &client) {
            std::string large(400000, 'z');
            for (int i = 0;; i++) {
                client.set("key" + std::to_string(i % 50), i % 3 == 0 ? large : "small");
                client.get("key" + std::to_string((i + 7) % 50));
            }
        });
        usleep(static_cast<useconds_t>(random() % 60000));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        ASSERT_EQ(other.set("alive", std::to_string(round)), VMC_OK);
    }
    server.await_stat("verbena", "messages_clients_shm", "1");
    for (int i = 0; i < 300; i++) /* more than the memory: whatever was pinned for ever would be missing now */
        ASSERT_EQ(other.set("fill" + std::to_string(i), std::string(800000, 'f')), VMC_OK) << i;
}

/* A server with -v, and what it has logged. */
class Logged {
public:
    explicit Logged(std::vector<std::string> flags)
    {
        char name[] = "/tmp/mc-log-XXXXXX";
        int file = mkstemp(name), kept = dup(STDERR_FILENO);
        path_ = name;
        dup2(file, STDERR_FILENO);
        flags.push_back("-v");
        server = std::make_unique<Server>(OURS, std::move(flags));
        dup2(kept, STDERR_FILENO);
        close(kept);
        close(file);
    }
    ~Logged() { unlink(path_.c_str()); }
    /* Ends the server first. */
    std::string text()
    {
        server.reset();
        std::ifstream file(path_);
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }

    std::unique_ptr<Server> server;

private:
    std::string path_;
};

class Leaving : public ::testing::TestWithParam<const char *> {};

TEST_P(Leaving, a_client_that_closes_is_no_loss_and_one_that_is_killed_is)
{
    std::string clients = std::string("messages_clients_") + GetParam();
    std::string core = std::string("verbena_core=tl.enable=") + GetParam();
    Logged closing({"-o", core}), killed({"-o", core});
    for (int i = 0; i < 3; i++) {
        Client client(closing.server->name(";carrier=messages"));
        ASSERT_EQ(client.set("large", std::string(400000, 'l')), VMC_OK) << client.explain();
        ASSERT_EQ(client.get("large").size(), 400000u);
        ASSERT_EQ(client.set("k", "v"), VMC_OK);
        ASSERT_EQ(client.get("k"), "v");
    }
    pid_t child = run_client(*killed.server, [](Client &client) {
        client.set("k", "v");
        raise(SIGKILL);
    });
    waitpid(child, nullptr, 0);
    closing.server->await_stat("verbena", clients, "0");
    killed.server->await_stat("verbena", clients, "0");
    std::string closed = closing.text(), lost = killed.text();
    EXPECT_NE(closed.find("a client by messages over"), std::string::npos) << closed;
    EXPECT_EQ(closed.find("lost"), std::string::npos) << closed;
    EXPECT_NE(lost.find("lost"), std::string::npos) << lost;
}

INSTANTIATE_TEST_SUITE_P(Transports, Leaving, ::testing::Values("shm", "tcp"),
                         [](const auto &each) { return std::string(each.param); });

} // namespace
