// SPDX-License-Identifier: Apache-2.0
// test_users.cc - who may read one-sided: the kernel says which user a client is, whatever the client says.
#include <fstream>

#include "server.h"

extern "C" {
#include "knock.h"
}

using namespace client_test;

namespace {

constexpr uint32_t OTHER = 65533; // a user that nobody is

/* A folder with a copy of the server's key, both of `user`. */
class KeyOf {
public:
    KeyOf(const Server &server, uint32_t user)
    {
        char name[] = "/tmp/mc-users-XXXXXX";
        if (mkdtemp(name) == nullptr)
            abort();
        folder_ = name;
        EXPECT_NE(server.stat("", "pid"), ""); // a server that answers has made its key
        std::ifstream from(runtime_folder() + "/verbena/memcached-" + std::to_string(server.port()) + ".key");
        std::ofstream(path()) << from.rdbuf();
        EXPECT_EQ(chmod(path().c_str(), 0600), 0);
        EXPECT_EQ(chown(path().c_str(), user, user), 0);
        EXPECT_EQ(chown(name, user, user), 0);
    }
    ~KeyOf()
    {
        unlink(path().c_str());
        rmdir(folder_.c_str());
    }
    std::string path() const { return folder_ + "/key"; }

private:
    std::string folder_;
};

/* Runs it in a process of this user; what it returns, -1 when that did not work. */
template <typename Function> int as_user(uint32_t user, Function function)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (user != geteuid() && (setgid(user) != 0 || setuid(user) != 0))
            _exit(255);
        _exit(function());
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : -1;
}

/* What a client is answered; a key must come with KNOCK_READS, and with nothing else. */
int answer_to(uint32_t user, const visitor_t &how)
{
    return as_user(user, [&] {
        size_t key_bytes = 0;
        int number = knock(&how, &key_bytes);
        return (number == KNOCK_READS) == (key_bytes > 0) ? number : -1;
    });
}

TEST(Users, one_that_says_it_is_the_server_s_user_gets_messages_only)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can start a process of another user: run the tests as root";
    Server server(OURS), open(OURS, {"-o", "verbena_auth=none"});
    KeyOf key(server, OTHER);
    std::string path = key.path();
    EXPECT_EQ(answer_to(OTHER, {server.port(), path.c_str(), "shm", geteuid()}), KNOCK_USER);
    EXPECT_EQ(answer_to(OTHER, {open.port(), nullptr, "shm", geteuid()}), KNOCK_USER);
    EXPECT_EQ(server.stat("verbena", "messages_readers"), "0");
}

TEST(Users, one_that_the_operator_allows_to_read_may_do_so)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can start a process of another user: run the tests as root";
    Server server(OURS, {"-o", "verbena_onesided=on"});
    KeyOf key(server, OTHER);
    std::string path = key.path();
    EXPECT_EQ(answer_to(OTHER, {server.port(), path.c_str(), "shm", OTHER}), KNOCK_READS);
}

TEST(Users, the_server_s_own_user_may_read_whatever_it_says)
{
    Server server(OURS), open(OURS, {"-o", "verbena_auth=none"});
    KeyOf key(server, geteuid());
    std::string path = key.path();
    EXPECT_EQ(answer_to(geteuid(), {server.port(), path.c_str(), "shm", OTHER}), KNOCK_READS);
    EXPECT_EQ(answer_to(geteuid(), {open.port(), nullptr, "shm", OTHER}), KNOCK_READS);
}

TEST(Users, one_that_came_over_the_network_gets_no_key)
{
    Server server(OURS);
    KeyOf key(server, geteuid());
    std::string path = key.path();
    EXPECT_EQ(answer_to(geteuid(), {server.port(), path.c_str(), "tcp", geteuid()}), KNOCK_HOST);
}

/* 0: as it should be. */
int use_as_another(const Server &server, const std::string &key)
{
    Client client(server.name(";carrier=messages;key=" + key));
    bool right = client.set("k", std::string(100000, 'v')) == VMC_OK;
    for (int i = 0; i < 100; i++)
        right = right && client.get("k") == std::string(100000, 'v');
    std::string why = client.explain();
    bool said = why.find("one-sided reads are for the server's own user, " + std::to_string(0) +
                         ", and this process runs as " + std::to_string(OTHER)) != std::string::npos &&
                why.find("-o verbena_onesided=on") != std::string::npos;
    if (!said)
        fprintf(stderr, "%s\n", why.c_str());
    return right && said && client.counts().onesided == 0 ? 0 : 1;
}

/* Without a login session the key is in /tmp/verbena-UID, a name that anybody could take before. */
TEST(Users, a_key_folder_that_somebody_else_has_made_is_refused)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can start a process of another user: run the tests as root";
    Server server(OURS);
    uint32_t user = 40000u + static_cast<uint32_t>(getpid()) % 20000u; // nobody else's
    std::string folder = "/tmp/verbena-" + std::to_string(user);
    ASSERT_EQ(mkdir(folder.c_str(), 0700), 0); // root's
    EXPECT_EQ(as_user(user,
                      [&] {
                          unsetenv("XDG_RUNTIME_DIR");
                          Client client(server.name());
                          std::string refused = "key file " + folder +
                                                ": is no folder that is this user's alone (mode 0700); remove it";
                          return client.set("k", "v") == VMC_OK && client.explain().find(refused) != std::string::npos
                                     ? 0
                                     : 1;
                      }),
              0);
    rmdir(folder.c_str());
}

TEST(Users, the_library_of_another_user_works_by_messages_and_says_why)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can start a process of another user: run the tests as root";
    Server server(OURS);
    KeyOf key(server, OTHER);
    EXPECT_EQ(as_user(OTHER, [&] { return use_as_another(server, key.path()); }), 0);
}

} // namespace
