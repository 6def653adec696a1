/* SPDX-License-Identifier: Apache-2.0
 * launch.h - multi-process tests through vbn.h only: forks processes before any context exists, lets them exchange
 * addresses through a shared page, kills what has not ended in time, and gives each its own context, worker and peers. */
#ifndef VBN_TESTS_MULTI_LAUNCH_H
#define VBN_TESTS_MULTI_LAUNCH_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "vbn/vbn.h"

namespace multi {

constexpr int MAX = 8;

struct Shared {
    std::atomic<int> ready[MAX];
    std::atomic<int> stage[MAX]; /* free for the test */
    size_t length[MAX];
    uint8_t blob[MAX][VBN_ADDRESS_MAX];
    std::atomic<size_t> key_length[MAX];
    uint8_t key[MAX][VBN_KEY_MAX];
};

using Clock = std::chrono::steady_clock;

/* Whether this host has an RDMA device, real or in software. */
inline bool rdma_device()
{
    bool found = false;
    DIR *folder = opendir("/sys/class/infiniband");
    for (const dirent *entry; folder != nullptr && (entry = readdir(folder)) != nullptr;)
        found = found || entry->d_name[0] != '.';
    if (folder != nullptr)
        closedir(folder);
    return found;
}

/* The transports a suite runs over: these, and rc, ud and both where there is a device. */
inline std::vector<const char *> ways(std::initializer_list<const char *> always)
{
    std::vector<const char *> all(always);
    if (rdma_device())
        all.insert(all.end(), {"rc", "ud", "rc,ud"});
    else
        std::fprintf(stderr, "not run over rc and ud: no RDMA device in /sys/class/infiniband\n");
    return all;
}

/* For the name of a parametrised test. */
inline std::string way_name(const char *way)
{
    std::string name(way);
    for (char &c : name)
        c = c == ',' ? '_' : c;
    return name;
}

/* In a child: a failed condition ends the process with a text on stderr. */
#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: %s failed; last error: %s\n", __FILE__, __LINE__, #condition,                 \
                         vbn_error_text());                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* One process: context, worker and a peer for each other rank. */
class Node {
public:
    vbn_context_t *context = nullptr;
    vbn_worker_t *worker = nullptr;
    vbn_peer_t *peers[MAX] = {};
    int lost[MAX] = {};
    int rank, count;

    Node(Shared &shared, int rank_, int count_, const char *transport) : rank(rank_), count(count_)
    {
        vbn_config_t *config;
        uint8_t key[VBN_JOB_KEY_BYTES] = {1, 2, 3};
        MUST(vbn_config_create(&config) == VBN_OK);
        MUST(vbn_config_set(config, "tl.enable", transport) == VBN_OK);
        MUST(vbn_config_set(config, "tl.tcp.interface", "127.0.0.1") == VBN_OK);
        set_default(config, "link.keepalive", "VBN_LINK_KEEPALIVE",
                    "2s"); /* how a killed peer is noticed over datagrams */
        set_default(config, "link.peer_timeout", "VBN_LINK_PEER_TIMEOUT", "8s");
        MUST(vbn_config_set_job_key(config, key) == VBN_OK);
        MUST(vbn_open(config, &context) == VBN_OK);
        vbn_config_destroy(config);
        MUST(vbn_worker_create(context, &worker) == VBN_OK);
        shared.length[rank] = VBN_ADDRESS_MAX;
        MUST(vbn_worker_address(worker, shared.blob[rank], &shared.length[rank]) == VBN_OK);
        shared.ready[rank] = 1;
        for (int i = 0; i < count; i++)
            while (shared.ready[i] == 0)
                usleep(100);
    }
    /* What a test has put into the environment counts. */
    static void set_default(vbn_config_t *config, const char *key, const char *variable, const char *value)
    {
        MUST(getenv(variable) != nullptr || vbn_config_set(config, key, value) == VBN_OK);
    }
    void connect(Shared &shared, int to)
    {
        MUST(vbn_connect(worker, shared.blob[to], shared.length[to], on_lost, &lost[to], &peers[to]) == VBN_OK);
    }
    void connect_all(Shared &shared)
    {
        for (int i = 0; i < count; i++)
            if (i != rank)
                connect(shared, i);
    }
    static void on_lost(void *arg, vbn_peer_t *, vbn_status_t status, const char *)
    {
        *static_cast<int *>(arg) = status;
    }
    /* The documented loop: progress until 0, arm, sleep, and again. */
    void step(int sleep_ms)
    {
        if (vbn_progress(worker) > 0 || vbn_arm(worker) != VBN_OK)
            return;
        pollfd fd{vbn_event_fd(worker), POLLIN, 0};
        (void)poll(&fd, 1, sleep_ms);
    }
    /* Until the condition holds. A wake-up that comes too late shows as `timeouts` sleeps of a second. */
    void until(const std::function<bool()> &condition, int seconds = 120)
    {
        auto end = Clock::now() + std::chrono::seconds(seconds);
        while (!condition()) {
            MUST(Clock::now() < end);
            step(100);
        }
    }
    /* Stays responsive until every rank has come here. */
    void barrier(Shared &shared, int stage)
    {
        shared.stage[rank] = stage;
        until([&] {
            for (int i = 0; i < count; i++)
                if (shared.stage[i] < stage)
                    return false;
            return true;
        });
    }
    void close()
    {
        for (auto &peer : peers)
            if (peer != nullptr)
                vbn_disconnect(peer, VBN_CLOSE_FLUSH);
        vbn_worker_destroy(worker);
        MUST(vbn_close(context) == VBN_OK);
    }
};

/* Runs role(rank, shared) in `count` processes. Returns each one's exit code, or -signal. */
inline std::vector<int> launch(int count, const std::function<void(int, Shared &)> &role, int timeout_s = 240)
{
    void *page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        std::abort();
    auto *shared = new (page) Shared{};
    std::vector<pid_t> pids;
    for (int rank = 0; rank < count; rank++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(static_cast<unsigned>(timeout_s)); /* also when the parent is gone */
            role(rank, *shared);
            std::fflush(nullptr);
            _exit(0);
        }
        pids.push_back(pid);
    }
    std::vector<int> results;
    for (pid_t pid : pids) {
        int status = 0;
        waitpid(pid, &status, 0);
        results.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    munmap(page, sizeof(Shared));
    return results;
}

/* The context's counter of that name, which must exist. */
inline uint64_t counter(vbn_context_t *context, const char *name)
{
    vbn_counter_t all[256];
    size_t count = vbn_counters(context, all, 256);
    for (size_t i = 0; i < count && i < 256; i++)
        if (std::strcmp(all[i].name, name) == 0)
            return all[i].value;
    std::abort();
}

inline uint64_t counter(Node &node, const char *name)
{
    return counter(node.context, name);
}

} // namespace multi
#endif
