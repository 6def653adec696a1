// SPDX-License-Identifier: Apache-2.0
// test_containers.cc - two processes as in two containers of one host: in PID, IPC, mount and network namespaces of their
// own they use shared memory when they share a socket directory; when they share the network alone they use TCP and say why.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <memory>
#include <string>

#include "launch.h"

namespace {

using multi::Clock;
using multi::launch;
using multi::Shared;

constexpr int kNoNamespaces = 77; /* exit code */
constexpr size_t kLarge = 1u << 20;
constexpr int kRooms = CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWNET;

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

    Contained(Shared &shared, int rank, const char *directory, const char *interface, int count = 2)
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
        for (int other = 0; other < count; other++)
            wait([&] { return shared.ready[other] == 1; });
    }
    static void on_log(void *arg, const vbn_log_record_t *record)
    {
        static_cast<Contained *>(arg)->log += std::string(record->text) + "\n";
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
            GTEST_SKIP()
                << "unshare is refused: run as root, or allow it (user.max_user_namespaces, container profile)";
    for (int code : codes)
        EXPECT_EQ(code, 0);
}

TEST(Containers, processes_of_two_containers_use_shared_memory_through_a_shared_socket_directory)
{
    Directory directory;
    expect_all(launch(2, [&](int rank, Shared &shared) {
        enter(kRooms);
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

// Three members of a job and a stranger, each in namespaces of its own, where the kernel gives no process numbers.
constexpr size_t kKeyHandle = 8, kKeyOwner = 16; /* offsets in a key's bytes: handle; owner and memory, 16 bytes */

struct Exported {
    vbn_mem_t *memory = nullptr;
    char *bytes = nullptr;
    Exported(Contained &self, Shared &shared, int rank, char fill)
    {
        MUST(vbn_mem_alloc(self.context, 4096, VBN_BACKING_MEMFD, nullptr, &memory) == VBN_OK);
        bytes = static_cast<char *>(vbn_mem_address(memory));
        memset(bytes, fill, 4096);
        size_t length = VBN_KEY_MAX;
        MUST(vbn_key_export(memory, 0, 4096, VBN_ACCESS_READ | VBN_ACCESS_WRITE, shared.key[rank], &length) == VBN_OK);
        shared.key_length[rank] = length;
    }
};

/* Imports rank `from`'s key from the peer, as mapped memory. */
char *mapped(Contained &self, Shared &shared, int from, vbn_peer_t *peer, vbn_key_t **key)
{
    MUST(vbn_key_import(peer, shared.key[from], shared.key_length[from], key) == VBN_OK);
    self.wait([&] { return vbn_key_pointer(*key) != nullptr; });
    return static_cast<char *>(vbn_key_pointer(*key));
}

void end(Contained &self, Shared &shared, int rank, Exported *exported)
{
    shared.stage[rank] = 2;
    for (int other = 0; other < 4; other++)
        self.wait([&] { return shared.stage[other] == 2; });
    vbn_worker_destroy(self.worker);
    if (exported != nullptr)
        MUST(vbn_mem_free(exported->memory) == VBN_OK);
    MUST(vbn_close(self.context) == VBN_OK);
}

void import_from_both(Contained &self, Shared &shared)
{
    vbn_peer_t *owner, *liar;
    vbn_key_t *keys[4];
    MUST(vbn_connect(self.worker, shared.blob[0], shared.length[0], nullptr, nullptr, &owner) == VBN_OK);
    MUST(vbn_connect(self.worker, shared.blob[1], shared.length[1], nullptr, nullptr, &liar) == VBN_OK);
    char *lie = mapped(self, shared, 1, liar, &keys[0]);
    char *truth = mapped(self, shared, 0, owner, &keys[1]);
    char *lie_again = mapped(self, shared, 1, liar, &keys[2]);
    MUST(lie[0] == 'x' && lie_again[0] == 'x' && truth[0] == 'o');
    truth[0] = 'w';
    MUST(mapped(self, shared, 0, liar, &keys[3]) == lie); /* another's key, asked of the liar: its own memory again */
    for (vbn_key_t *key : keys)
        vbn_key_release(key);
    vbn_disconnect(owner, VBN_CLOSE_NOW);
    vbn_disconnect(liar, VBN_CLOSE_NOW);
}

/* Knows the sockets and the key's bytes, not the job key. */
void ask_as_a_stranger(const Shared &shared, const std::string &directory)
{
    uint8_t note[24] = {5}; /* ASK */
    memcpy(note + 16, shared.key[0] + kKeyHandle, 8);
    unsigned asked = 0;
    DIR *folder = opendir(directory.c_str());
    MUST(folder != nullptr);
    while (const dirent *entry = readdir(folder)) {
        sockaddr_un un{};
        un.sun_family = AF_UNIX;
        snprintf(un.sun_path, sizeof(un.sun_path), "%s/%.60s", directory.c_str(), entry->d_name);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (connect(fd, reinterpret_cast<sockaddr *>(&un), sizeof(un)) == 0) {
            char answer[256], control[CMSG_SPACE(sizeof(int))];
            iovec iov{answer, sizeof(answer)};
            msghdr msg{};
            msg.msg_iov = &iov;
            msg.msg_iovlen = 1;
            msg.msg_control = control;
            msg.msg_controllen = sizeof(control);
            pollfd end{fd, POLLIN, 0};
            MUST(send(fd, note, sizeof(note), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(note)));
            MUST(poll(&end, 1, 40000) == 1);
            MUST(recvmsg(fd, &msg, 0) <= 0 && msg.msg_controllen == 0);
            asked++;
        }
        close(fd);
    }
    closedir(folder);
    MUST(asked == 3);
}

TEST(Containers, memory_is_that_of_the_peer_it_was_asked_from_and_a_stranger_gets_none)
{
    Directory directory;
    expect_all(launch(4, [&](int rank, Shared &shared) {
        enter(kRooms);
        if (rank == 3) {
            while (shared.stage[0] < 1)
                usleep(1000);
            ask_as_a_stranger(shared, directory.path);
            shared.stage[3] = 2;
            return;
        }
        Contained self(shared, rank, directory.path, "", 3);
        std::unique_ptr<Exported> exported;
        if (rank == 0)
            exported = std::make_unique<Exported>(self, shared, rank, 'o');
        self.wait([&] { return shared.key_length[0] != 0; });
        if (rank == 1) {
            exported = std::make_unique<Exported>(self, shared, rank, 'x');
            memcpy(shared.key[1] + kKeyOwner, shared.key[0] + kKeyOwner, 16);
            shared.stage[1] = 1;
        }
        self.wait([&] { return shared.stage[1] >= 1; });
        if (rank == 0)
            shared.stage[0] = 1;
        if (rank == 2) {
            import_from_both(self, shared);
            shared.stage[2] = 2;
        } else {
            self.wait([&] { return shared.stage[2] == 2; });
        }
        MUST(rank != 0 || exported->bytes[0] == 'w');
        MUST(rank != 1 || exported->bytes[0] == 'x');
        end(self, shared, rank, exported.get());
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
