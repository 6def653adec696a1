// SPDX-License-Identifier: Apache-2.0
// test_containers.cc - two processes as in two containers of one host: in PID, IPC, mount and network namespaces of their
// own they use shared memory when they share a socket directory; when they share the network alone they use TCP and say why.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <memory>
#include <string>

#include "launch.h"

namespace {

using multi::Clock;
using multi::launch;
using multi::Shared;

constexpr int kNoNamespaces = 77; /* exit code */
constexpr size_t kLarge = 1u << 20;

/* A directory that ends with the test. */
struct Directory {
    char path[32] = "/tmp/vbn-test-XXXXXX";
    Directory() { EXPECT_NE(mkdtemp(path), nullptr); }
    ~Directory() { EXPECT_EQ(rmdir(path), 0) << "a worker has left its socket behind"; }
};

void write_file(const char *path, const std::string &text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text.c_str(), text.size()) != static_cast<ssize_t>(text.size()))
        _exit(kNoNamespaces);
    close(fd);
}

/* Leaves the namespaces of the caller; the rest of the role runs in a child, because a PID namespace begins with one. */
void enter(int namespaces)
{
    std::string user = "0 " + std::to_string(geteuid()) + " 1", group = "0 " + std::to_string(getegid()) + " 1";
    bool root = geteuid() == 0;
    if (unshare(namespaces | (root ? 0 : CLONE_NEWUSER)) != 0)
        _exit(kNoNamespaces);
    if (!root) {
        write_file("/proc/self/setgroups", "deny");
        write_file("/proc/self/uid_map", user);
        write_file("/proc/self/gid_map", group);
    }
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        _exit(kNoNamespaces);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        return;
    }
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* One process in its container. */
struct Contained {
    vbn_context_t *context = nullptr;
    vbn_worker_t *worker = nullptr;
    vbn_peer_t *peer = nullptr;
    std::string log;
    std::unique_ptr<uint8_t[]> data{new uint8_t[kLarge]};
    iovec iov{data.get(), kLarge};
    vbn_op_t op{};

    Contained(Shared &shared, int rank, const char *directory, const char *interface)
    {
        vbn_config_t *config;
        uint8_t key[VBN_JOB_KEY_BYTES] = {9};
        MUST(vbn_config_create(&config) == VBN_OK);
        MUST(vbn_config_set(config, "tl.enable", "shm,tcp") == VBN_OK);
        MUST(vbn_config_set(config, "tl.tcp.interface", interface) == VBN_OK);
        MUST(vbn_config_set(config, "tl.shm.socket_dir", directory) == VBN_OK);
        MUST(vbn_config_set(config, "log.level", "info") == VBN_OK);
        MUST(vbn_config_set_job_key(config, key) == VBN_OK);
        vbn_config_set_log(config, on_log, this);
        MUST(vbn_open(config, &context) == VBN_OK);
        vbn_config_destroy(config);
        MUST(vbn_worker_create(context, &worker) == VBN_OK);
        MUST(vbn_am_handler(worker, 1, on_message, this) == VBN_OK);
        shared.length[rank] = VBN_ADDRESS_MAX;
        MUST(vbn_worker_address(worker, shared.blob[rank], &shared.length[rank]) == VBN_OK);
        shared.ready[rank] = 1;
        wait([&] { return shared.ready[1 - rank] == 1; });
    }
    static void on_log(void *arg, vbn_log_level_t, const char *line)
    {
        static_cast<Contained *>(arg)->log += std::string(line) + "\n";
    }
    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Contained *>(arg);
        MUST(message->remote != nullptr && message->length == kLarge);
        MUST(vbn_am_pull(message->remote, &self->iov, 1, &self->op) >= 0);
    }
    void wait(const std::function<bool()> &condition)
    {
        for (auto end = Clock::now() + std::chrono::seconds(40); !condition();) {
            MUST(Clock::now() < end);
            if (vbn_progress(worker) > 0 || vbn_arm(worker) != VBN_OK)
                continue;
            pollfd fd{vbn_event_fd(worker), POLLIN, 0};
            (void)poll(&fd, 1, 10);
        }
    }
    void leave(Shared &shared, int rank) /* both at a time, so that nobody is missed */
    {
        shared.stage[rank] = 1;
        wait([&] { return shared.stage[1 - rank] == 1; });
        if (peer != nullptr)
            vbn_disconnect(peer, VBN_CLOSE_NOW);
        vbn_worker_destroy(worker);
        MUST(vbn_close(context) == VBN_OK);
    }
};

void receive(Contained &self)
{
    self.wait([&] { return self.op.complete != 0; });
    MUST(self.op.status == VBN_OK && self.op.length == kLarge);
    for (size_t i = 0; i < kLarge; i++)
        MUST(self.data[i] == static_cast<uint8_t>(i * 7 + (i >> 12)));
}

void send(Contained &self, Shared &shared)
{
    for (size_t i = 0; i < kLarge; i++)
        self.data[i] = static_cast<uint8_t>(i * 7 + (i >> 12));
    MUST(vbn_connect(self.worker, shared.blob[0], shared.length[0], nullptr, nullptr, &self.peer) == VBN_OK);
    MUST(vbn_am_send(self.peer, 1, nullptr, 0, &self.iov, 1, 0, &self.op) >= 0);
    self.wait([&] { return self.op.complete != 0; });
    MUST(self.op.status == VBN_OK);
}

std::string explained(const Contained &self)
{
    char text[512];
    (void)vbn_explain(self.peer, text, sizeof(text));
    return text;
}

unsigned lines_with(const std::string &log, const char *words)
{
    unsigned count = 0;
    for (size_t at = 0; (at = log.find(words, at)) != std::string::npos; at = log.find('\n', at))
        count++;
    return count;
}

void expect_all(const std::vector<int> &codes)
{
    for (int code : codes)
        if (code == kNoNamespaces)
            GTEST_SKIP() << "unshare is refused: run as root, or allow it (user.max_user_namespaces, container profile)";
    for (int code : codes)
        EXPECT_EQ(code, 0);
}

TEST(Containers, processes_of_two_containers_use_shared_memory_through_a_shared_socket_directory)
{
    Directory directory;
    expect_all(launch(2, [&](int rank, Shared &shared) {
        enter(CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWNET);
        Contained self(shared, rank, directory.path, ""); /* TCP finds no network and is left out */
        if (rank == 0) {
            receive(self);
        } else {
            send(self, shared);
            MUST(explained(self).compare(0, 5, "shm: ") == 0);
        }
        self.leave(shared, rank);
    }));
}

TEST(Containers, processes_that_share_nothing_but_the_network_use_tcp_and_one_line_of_the_log_says_why)
{
    Directory directory;
    expect_all(launch(2, [&](int rank, Shared &shared) {
        enter(CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS);
        if (mount("none", directory.path, "tmpfs", 0, nullptr) != 0)
            _exit(kNoNamespaces);
        Contained self(shared, rank, directory.path, "lo");
        if (rank == 0) {
            receive(self);
        } else {
            send(self, shared);
            MUST(explained(self).compare(0, 5, "tcp: ") == 0);
            MUST(lines_with(self.log, "share tl.shm.socket_dir") == 1);
        }
        self.leave(shared, rank);
    }));
}

} // namespace
