// SPDX-License-Identifier: Apache-2.0
// server.h - servers for the tests: ours, or Debian's memcached, on a free port of loopback; gone when the object ends.
#ifndef MC_TESTS_CLIENT_SERVER_H
#define MC_TESTS_CLIENT_SERVER_H

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "verbena/mc.h"

namespace client_test {

/* A folder of the test's own, with a key's default place in it. */
inline const std::string &runtime_folder()
{
    static const std::string folder = [] {
        char name[] = "/tmp/mc-client-XXXXXX";
        if (mkdtemp(name) == nullptr)
            abort();
        setenv("XDG_RUNTIME_DIR", name, 1);
        unsetenv("VERBENA_MEMCACHED_KEY");
        return std::string(name);
    }();
    return folder;
}

inline int open_port(int port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* A free port of loopback that nobody else gets while this is there: a socket has it and does not listen. A server
 * can have it, too, as it asks for reuse, and another one after it. Connections are refused while none listens. */
class HeldPort {
public:
    HeldPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in address{};
        socklen_t length = sizeof(address);
        int one = 1;
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (bind(fd_, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
            setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 || // after bind: it was free
            getsockname(fd_, reinterpret_cast<sockaddr *>(&address), &length) != 0)
            abort();
        number_ = ntohs(address.sin_port);
    }
    ~HeldPort() { close(fd_); }
    HeldPort(const HeldPort &) = delete;
    HeldPort &operator=(const HeldPort &) = delete;

    int number() const { return number_; }

private:
    int fd_, number_;
};

enum Kind { OURS, STOCK };

class Server {
public:
    explicit Server(Kind kind, std::vector<std::string> flags = {},
                    std::shared_ptr<HeldPort> port = std::make_shared<HeldPort>())
        : held_(std::move(port)), port_(held_->number())
    {
        runtime_folder();
        start(kind, std::move(flags));
    }
    ~Server() { end(SIGTERM); }
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;

    int port() const { return port_; }
    /* For a server that comes after this one. */
    std::shared_ptr<HeldPort> held() const { return held_; }
    pid_t pid() const { return pid_; }
    std::string name(const std::string &options = "") const
    {
        return "127.0.0.1:" + std::to_string(port_) + ";connect=60000;timeout=60000" + options;
    }
    void stop() const
    {
        int status = 0;
        kill(pid_, SIGSTOP);
        waitpid(pid_, &status, WUNTRACED); /* every thread of it stands still now */
    }
    void resume() const { kill(pid_, SIGCONT); }
    void end(int number)
    {
        if (pid_ <= 0)
            return;
        kill(pid_, number);
        if (number != SIGKILL)
            kill(pid_, SIGCONT);
        int status = 0;
        waitpid(pid_, &status, 0);
        if (number == SIGTERM) {
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the server ended with " << status;
        }
        pid_ = 0;
    }
    /* The value of a statistic. */
    std::string stat(const std::string &group, const std::string &name) const
    {
        int fd = open_port(port_);
        std::string ask = "stats " + group + "\r\nquit\r\n", answer;
        char buffer[4096];
        if (send(fd, ask.data(), ask.size(), MSG_NOSIGNAL) < 0)
            return "";
        for (ssize_t got = 0; (got = recv(fd, buffer, sizeof(buffer), 0)) > 0;)
            answer.append(buffer, static_cast<size_t>(got));
        close(fd);
        size_t at = answer.find("STAT " + name + " ");
        if (at == std::string::npos)
            return "";
        at += 6 + name.size();
        return answer.substr(at, answer.find('\r', at) - at);
    }
    /* Waits until a statistic has this value. */
    void await_stat(const std::string &group, const std::string &name, const std::string &value) const
    {
        for (int i = 0; i < 6000 && stat(group, name) != value; i++)
            usleep(10000);
        EXPECT_EQ(stat(group, name), value) << name;
    }

private:
    void start(Kind kind, std::vector<std::string> flags)
    {
        std::vector<std::string> words = {kind == OURS ? VERBENA_MEMCACHED : "memcached", "-l", "127.0.0.1", "-p",
                                          std::to_string(port_)};
        if (geteuid() == 0)
            words.insert(words.end(), {"-u", "root"});
        words.insert(words.end(), flags.begin(), flags.end());
        pid_ = fork();
        if (pid_ == 0) {
            std::vector<char *> list;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (auto &word : words)
                list.push_back(word.data());
            list.push_back(nullptr);
            execvp(list[0], list.data());
            _exit(127);
        }
        await();
    }
    void await() const
    {
        for (int i = 0; i < 6000; i++) {
            int fd = open_port(port_), status = 0;
            if (fd >= 0) {
                close(fd);
                return;
            }
            if (waitpid(pid_, &status, WNOHANG) == pid_)
                break;
            usleep(10000);
        }
        ADD_FAILURE() << "the server did not start";
        abort();
    }

    std::shared_ptr<HeldPort> held_;
    int port_;
    pid_t pid_ = 0;
};

/* A handle, closed with the object. */
class Client {
public:
    explicit Client(const std::string &config)
    {
        const char *error = nullptr;
        mc = vmc_open(config.c_str(), &error);
        if (mc == nullptr) {
            ADD_FAILURE() << error;
            abort();
        }
    }
    ~Client() { vmc_close(mc); }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;

    vmc_status_t set(const std::string &key, const std::string &value, int32_t exptime = 0, uint32_t flags = 0)
    {
        return vmc_set(mc, key.data(), key.size(), value.data(), value.size(), exptime, flags);
    }
    /* The value, or the name of the status in brackets. */
    std::string get(const std::string &key, vmc_value_t *value = nullptr)
    {
        std::string buffer(2u << 20, '\0');
        vmc_value_t got{};
        vmc_status_t status = vmc_get(mc, key.data(), key.size(), buffer.data(), buffer.size(), &got);
        if (value != nullptr)
            *value = got;
        return status == VMC_OK ? buffer.substr(0, got.length) : std::string("(") + vmc_status_name(status) + ")";
    }
    std::string explain(const std::string &key = "k")
    {
        char text[1024];
        vmc_explain(mc, key.data(), key.size(), text, sizeof(text));
        return text;
    }
    vmc_counts_t counts() const
    {
        vmc_counts_t counts;
        vmc_get_counts(mc, &counts);
        return counts;
    }

    vmc_t *mc;
};

} // namespace client_test

#endif
