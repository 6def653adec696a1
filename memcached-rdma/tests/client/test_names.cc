// SPDX-License-Identifier: Apache-2.0
// test_names.cc - servers by name: names with several addresses, and name servers that do not answer. This program's getaddrinfo
// stands before the C library's and knows names of its own.
#include <condition_variable>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <netdb.h>

#include "server.h"

using namespace client_test;

namespace {

/* Guarded by lock: addresses of names that end in ".test"; whether their questions stay without an answer; how many came. */
std::mutex lock;
std::condition_variable answered;
std::map<std::string, std::vector<std::string>> addresses_of;
bool silent;
unsigned questions, waiting;

void be_silent()
{
    std::lock_guard<std::mutex> guard(lock);
    silent = true;
}

/* A name with these addresses. */
void add_name(const std::string &name, const std::vector<std::string> &addresses)
{
    std::lock_guard<std::mutex> guard(lock);
    addresses_of[name] = addresses;
    questions = 0;
}

unsigned asked()
{
    std::lock_guard<std::mutex> guard(lock);
    return questions;
}

std::vector<std::string> answer(const std::string &name)
{
    std::unique_lock<std::mutex> guard(lock);
    questions++;
    waiting++;
    answered.wait(guard, [] { return !silent; });
    waiting--;
    answered.notify_all();
    return addresses_of[name];
}

/* Lets the name servers answer; the thread that asks has got its answer then. */
void await_answer()
{
    std::unique_lock<std::mutex> guard(lock);
    silent = false;
    answered.notify_all();
    answered.wait(guard, [] { return questions > 0 && waiting == 0; });
}

size_t threads()
{
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

using getaddrinfo_t = int (*)(const char *, const char *, const addrinfo *, addrinfo **);

int real(const char *host, const char *port, const addrinfo *hints, addrinfo **infos)
{
    static const auto function = reinterpret_cast<getaddrinfo_t>(dlsym(RTLD_NEXT, "getaddrinfo"));
    return function(host, port, hints, infos);
}

bool is_ours(const std::string &host)
{
    return host.size() > 5 && host.compare(host.size() - 5, 5, ".test") == 0;
}

/* A socket of loopback with this address and port, which does not listen: connections to it are refused. */
int refuse(const char *host, int port)
{
    sockaddr_in address{};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, host, &address.sin_addr);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
    return fd;
}

/* One that listens and has no place left: connections to it get no answer. Fills more with those that take the places. */
int swallow(const char *host, int port, std::vector<int> *more)
{
    sockaddr_in address{};
    socklen_t length = sizeof(address);
    int fd = refuse(host, port);
    EXPECT_EQ(listen(fd, 0), 0);
    EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length), 0);
    for (int i = 0; i < 4; i++) {
        more->push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        (void)!connect(more->back(), reinterpret_cast<sockaddr *>(&address), length);
    }
    return fd;
}

vmc_status_t set_until(Client &client, vmc_status_t wanted)
{
    vmc_status_t status = VMC_ERR_INVALID;
    for (int i = 0; i < 6000 && (status = client.set("k", "v")) != wanted; i++)
        usleep(10000);
    return status;
}

std::string config(const std::string &name, int port, const std::string &options)
{
    return name + ":" + std::to_string(port) + options;
}

TEST(Names, an_address_that_refuses_is_followed_by_the_next_one)
{
    Server server(STOCK);
    int fd = refuse("127.0.0.2", server.port());
    add_name("two.test", {"127.0.0.2", "127.0.0.1"});
    Client client(config("two.test", server.port(), ";connect=60000;timeout=60000"));
    EXPECT_EQ(client.set("k", "v"), VMC_OK) << client.explain();
    EXPECT_EQ(client.get("k"), "v");
    EXPECT_EQ(client.counts().connects, 1u);
    close(fd);
}

TEST(Names, an_address_that_does_not_answer_has_its_share_of_the_time)
{
    Server server(STOCK);
    std::vector<int> fds;
    fds.push_back(swallow("127.0.0.2", server.port(), &fds));
    add_name("still.test", {"127.0.0.2", "127.0.0.1"});
    Client client(config("still.test", server.port(), ";connect=2000;timeout=60000"));
    EXPECT_EQ(set_until(client, VMC_OK), VMC_OK) << client.explain();
    for (int fd : fds)
        close(fd);
}

TEST(Names, none_of_several_addresses_is_told_with_the_last_reason)
{
    HeldPort port;
    int fd = refuse("127.0.0.2", port.number());
    add_name("none.test", {"127.0.0.2", "127.0.0.1"});
    Client client(config("none.test", port.number(), ";connect=60000;timeout=60000"));
    EXPECT_EQ(client.set("k", "v"), VMC_ERR_SERVER_DEAD);
    EXPECT_NE(client.explain().find("cannot connect to any of 2 addresses, the last one: Connection refused"),
              std::string::npos)
        << client.explain();
    close(fd);
}

TEST(Names, a_name_server_that_does_not_answer_holds_up_nobody_and_is_asked_once)
{
    Server server(STOCK);
    add_name("slow.test", {"127.0.0.1"});
    be_silent();
    Client client(config("slow.test", server.port(), ";connect=100;timeout=60000"));
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(set_until(client, VMC_ERR_SERVER_DEAD), VMC_ERR_SERVER_DEAD);
    EXPECT_NE(client.explain().find("cannot resolve 'slow.test': no answer within the time of connect="),
              std::string::npos)
        << client.explain();
    await_answer();
    EXPECT_EQ(set_until(client, VMC_OK), VMC_OK) << client.explain();
    EXPECT_EQ(asked(), 1u);
}

TEST(Names, a_name_that_had_no_address_when_nobody_waited_any_more_is_asked_for_again)
{
    Server server(STOCK);
    add_name("late.test", {});
    be_silent();
    Client client(config("late.test", server.port(), ";connect=100;timeout=60000"));
    EXPECT_EQ(set_until(client, VMC_ERR_SERVER_DEAD), VMC_ERR_SERVER_DEAD);
    const size_t before = threads();
    await_answer();
    while (threads() == before) /* the one that asked ends behind its answer */
        usleep(1000);
    add_name("late.test", {"127.0.0.1"});
    const std::string old = std::string("cannot resolve 'late.test': ") + gai_strerror(EAI_NONAME);
    bool told = false;
    for (int i = 0; i < 6000 && !told && client.set("k", "v") != VMC_OK; i++) {
        told = client.explain().find(old) != std::string::npos;
        usleep(10000);
    }
    EXPECT_FALSE(told) << client.explain();
    EXPECT_EQ(client.get("k"), "v");
}

TEST(Names, a_handle_is_closed_while_its_name_is_resolved)
{
    add_name("slow.test", {"127.0.0.1"});
    be_silent();
    {
        Client client("slow.test:1;connect=60000;timeout=1");
        EXPECT_EQ(client.set("k", "v"), VMC_ERR_TIMEOUT);
    }
    await_answer();
}

TEST(Names, a_name_without_an_address_and_an_address_that_needs_no_question)
{
    Server server(STOCK);
    add_name("nobody.test", {});
    Client nobody("nobody.test:1;timeout=60000;connect=60000"), number(server.name());
    EXPECT_EQ(number.set("k", "v"), VMC_OK);
    EXPECT_EQ(asked(), 0u);
    EXPECT_EQ(nobody.set("k", "v"), VMC_ERR_SERVER_DEAD);
    EXPECT_NE(nobody.explain().find("cannot resolve 'nobody.test': "), std::string::npos) << nobody.explain();
    EXPECT_EQ(asked(), 1u);
}

} // namespace

extern "C" int getaddrinfo(const char *host, const char *port, const addrinfo *hints, addrinfo **infos)
{
    if (host == nullptr || !is_ours(host) || (hints->ai_flags & AI_NUMERICHOST) != 0)
        return real(host, port, hints, infos);
    addrinfo **end = infos;
    *infos = nullptr;
    for (const std::string &address : answer(host)) {
        if (real(address.c_str(), port, hints, end) != 0)
            abort();
        while (*end != nullptr) /* the C library frees each entry by itself */
            end = &(*end)->ai_next;
    }
    return *infos == nullptr ? EAI_NONAME : 0;
}
