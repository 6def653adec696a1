// SPDX-License-Identifier: Apache-2.0
// test_many.cc - many clients by messages and many idle sockets at once: each is served, what one costs the server is printed and
// bounded, and nothing of them stays behind.
#include <cstdio>
#include <dirent.h>
#include <fstream>
#include <sys/resource.h>

#include "server.h"

using namespace client_test;

namespace {

constexpr size_t CLIENT_MOST = 200000, SOCKET_MOST = 40000; // bytes each, also with sanitizers
constexpr size_t CLIENT_DESCRIPTORS = 2, SOCKET_DESCRIPTORS = 1;
constexpr size_t HERE_DESCRIPTORS = 15; // of a client, in this process
constexpr size_t LEFT_MOST = 1000;      // bytes of each that a second crowd may take beyond the first one's

struct Usage {
    size_t rss = 0, pss = 0, descriptors = 0;
};

size_t descriptors_of(pid_t pid)
{
    size_t count = 0;
    DIR *folder = opendir(("/proc/" + std::to_string(pid) + "/fd").c_str());
    for (const dirent *entry; folder != nullptr && (entry = readdir(folder)) != nullptr;)
        count += entry->d_name[0] != '.';
    if (folder != nullptr)
        closedir(folder);
    return count;
}

Usage usage_of(pid_t pid)
{
    Usage usage;
    std::ifstream sums("/proc/" + std::to_string(pid) + "/smaps_rollup");
    for (std::string line; std::getline(sums, line);) {
        size_t bytes = strtoull(line.c_str() + line.find(':') + 1, nullptr, 10) * 1024;
        if (line.rfind("Rss:", 0) == 0)
            usage.rss = bytes;
        else if (line.rfind("Pss:", 0) == 0)
            usage.pss = bytes;
    }
    usage.descriptors = descriptors_of(pid);
    return usage;
}

/* What `count` of them cost; negative where memory went back meanwhile. */
struct Each {
    double rss, pss, descriptors;
    Each(const Usage &before, const Usage &after, size_t count)
        : rss(share(before.rss, after.rss, count)), pss(share(before.pss, after.pss, count)),
          descriptors(share(before.descriptors, after.descriptors, count))
    {
    }
    static double share(size_t before, size_t after, size_t count)
    {
        return (static_cast<double>(after) - static_cast<double>(before)) / static_cast<double>(count);
    }
};

/* False: this process may not have so many descriptors. */
bool raise_limit(rlim_t descriptors)
{
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= descriptors;
}

std::string ask(int fd, const std::string &line)
{
    char answer[100];
    if (send(fd, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
        return "";
    ssize_t got = recv(fd, answer, sizeof(answer), 0);
    return got < 0 ? "" : std::string(answer, static_cast<size_t>(got));
}

std::string size_line(size_t i)
{
    return "HD s" + std::to_string(std::to_string(i).size()) + "\r\n";
}

/* Sockets in a process of their own, which has as many descriptors as this one. Gone with the object. */
class Sockets {
public:
    Sockets(int port, size_t count, size_t keys) : port_(port), count_(count), keys_(keys)
    {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
            abort();
        pid_ = fork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(pair[0]);
            obey(pair[1]);
            _exit(0);
        }
        close(pair[1]);
        control_ = pair[0];
    }
    ~Sockets()
    {
        close(control_);
        waitpid(pid_, nullptr, 0);
    }
    Sockets(const Sockets &) = delete;
    Sockets &operator=(const Sockets &) = delete;

    /* False: one of them was not answered as it should be. */
    bool open() { return ask(control_, "o") == "y"; }
    bool use() { return ask(control_, "u") == "y"; }

private:
    void obey(int control)
    {
        std::vector<int> fds;
        for (char what; read(control, &what, 1) == 1;) {
            bool right = true;
            for (size_t i = 0; i < count_; i++) {
                if (what == 'o')
                    fds.push_back(open_port(port_));
                right = right && (what == 'o' ? ask(fds[i], "mn\r\n") == "MN\r\n"
                                              : ask(fds[i], "mg key" + std::to_string(i % keys_) + " s\r\n") ==
                                                    size_line(i % keys_));
            }
            (void)!write(control, right ? "y" : "n", 1);
        }
    }

    int port_, control_ = -1;
    size_t count_, keys_;
    pid_t pid_ = 0;
};

/* Clients by messages, and sockets. Gone with the object. */
class Crowd {
public:
    Crowd(const Server &server, size_t clients, size_t sockets)
        : server_(server), count_(clients), sockets_(server.port(), sockets, clients)
    {
    }
    void add_clients()
    {
        for (size_t i = 0; i < count_; i++) {
            clients_.push_back(std::make_unique<Client>(server_.name(";carrier=messages")));
            ASSERT_EQ(clients_[i]->set("key" + std::to_string(i), std::to_string(i)), VMC_OK)
                << i << clients_[i]->explain();
        }
    }
    void add_sockets() { ASSERT_TRUE(sockets_.open()); }
    /* All of them are answered, and by the item that is asked for. */
    void use()
    {
        for (size_t i = count_; i-- > 0;)
            ASSERT_EQ(clients_[i]->get("key" + std::to_string(i)), std::to_string(i)) << clients_[i]->explain();
        ASSERT_TRUE(sockets_.use());
    }

private:
    const Server &server_;
    size_t count_;
    Sockets sockets_;
    std::vector<std::unique_ptr<Client>> clients_;
};

void print(const char *what, size_t count, const Each &each)
{
    printf("%zu %s: %.0f bytes of the server's memory each (%.0f with the shared ones counted by half), %.2f "
           "descriptors\n",
           count, what, each.rss, each.pss, each.descriptors);
}

/* A crowd comes, is served and leaves; returns what the server had with all of it. */
Usage serve(const Server &server, size_t clients, size_t sockets, const Usage &before)
{
    Crowd crowd(server, clients, sockets);
    size_t here = descriptors_of(getpid());
    crowd.add_clients();
    Usage with_clients = usage_of(server.pid());
    here = descriptors_of(getpid()) - here;
    crowd.add_sockets();
    Usage with_all = usage_of(server.pid());
    Each client(before, with_clients, clients), socket(with_clients, with_all, sockets);
    print("clients by messages", clients, client);
    printf("%.2f descriptors of a client's process each\n", static_cast<double>(here) / static_cast<double>(clients));
    print("idle sockets", sockets, socket);
    EXPECT_LE(here, clients * HERE_DESCRIPTORS);
    EXPECT_LT(client.rss, CLIENT_MOST);
    EXPECT_LT(socket.rss, SOCKET_MOST);
    EXPECT_LE(client.descriptors, CLIENT_DESCRIPTORS);
    EXPECT_LE(socket.descriptors, SOCKET_DESCRIPTORS);
    EXPECT_EQ(server.stat("verbena", "messages_clients_shm"), std::to_string(clients + 1));
    crowd.use();
    return with_all;
}

/* Until the server has no more descriptors than before. */
void await_end(const Server &server, const Usage &before)
{
    server.await_stat("verbena", "messages_clients_shm", "1");
    for (int i = 0; i < 6000 && descriptors_of(server.pid()) > before.descriptors; i++)
        usleep(10000);
    EXPECT_EQ(descriptors_of(server.pid()), before.descriptors);
}

constexpr size_t EARLY = 64; // sockets, many times the server's threads

TEST(Many, clients_and_idle_sockets_are_served_cost_little_and_leave_nothing)
{
    const bool full = getenv("VERBENA_TEST_FULL") != nullptr;
    const size_t clients = full ? 1000 : 200, sockets = full ? 10000 : 1000;
    const size_t descriptors = clients * HERE_DESCRIPTORS + 1000;
    if (!raise_limit(descriptors))
        GTEST_SKIP() << "needs more descriptors: raise ulimit -Hn to " << descriptors;
    const char *options = getenv("ASAN_OPTIONS");
    std::string asan = options == nullptr ? "" : options;
    setenv("ASAN_OPTIONS", (asan + ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0").c_str(),
           1); // freed is free
    Server server(OURS, {"-c", "16000", "-m", "64"});
    setenv("ASAN_OPTIONS", asan.c_str(), 1);
    Client first(server.name(";carrier=messages"));
    ASSERT_EQ(first.set("k", "v"), VMC_OK) << first.explain();
    Sockets early(server.port(), EARLY, 1); // dealt out in turn: each thread that answers has opened what it needs
    ASSERT_TRUE(early.open());
    Usage before = usage_of(server.pid());
    Usage crowded = serve(server, clients, sockets, before);
    await_end(server, before);
    Usage again = serve(server, clients, sockets, usage_of(server.pid()));
    await_end(server, before);
    EXPECT_LT(again.rss, crowded.rss + LEFT_MOST * (clients + sockets));
    EXPECT_EQ(first.get("k"), "v");
}

} // namespace
