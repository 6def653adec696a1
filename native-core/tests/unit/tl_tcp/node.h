// SPDX-License-Identifier: Apache-2.0
// node.h - a worker's TCP interface as the tests see it: remembers what the upcalls said, and trusts a peer that says
// hello.
#ifndef VBN_TESTS_TCP_NODE_H
#define VBN_TESTS_TCP_NODE_H

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

extern "C" {
#include "base/status.h"
#include "tcp_harness.h"
#include "tl/tcp/tcp_address.h"
#include "tl/tcp/tcp_frame.h"
}

struct Packet {
    std::string header;
    std::string payload;
    bool in_sink;
};

struct Ep {
    bool accepted = false;
    bool ready = false;
    bool failed = false;
    vbn_status_t status = VBN_OK;
    std::string error;
    std::vector<Packet> rx;
    std::vector<std::pair<void *, vbn_status_t>> done;
    unsigned tx_ready = 0;
};

class Node {
public:
    harness_t *harness = nullptr;
    vbn_status_t opened;
    std::map<tl_ep *, Ep> eps;
    std::vector<tl_ep *> accepted;
    std::vector<std::string> logs;
    std::vector<char> sink_memory; // where sink() points when use_sink
    bool use_sink = false;
    bool may_write = true;                             // to it
    std::function<void(tl_ep *, Packet &&)> on_packet; // instead of storing
    std::function<void(tl_ep *)> on_tx_ready;

    explicit Node(std::vector<const char *> settings = {})
    {
        harness_upcalls_t upcalls = {};
        upcalls.accepted = [](void *n, tl_ep *ep) {
            self(n).accepted.push_back(ep);
            self(n).eps[ep] = Ep();
            self(n).eps[ep].accepted = true;
        };
        upcalls.ready = [](void *n, tl_ep *ep) { self(n).eps.at(ep).ready = true; };
        upcalls.rx = [](void *n, tl_ep *ep, const void *header, uint32_t header_bytes, const void *payload,
                        uint32_t payload_bytes) {
            self(n).receive(ep, std::string(static_cast<const char *>(header), header_bytes),
                            static_cast<const char *>(payload), payload_bytes);
        };
        upcalls.sink = [](void *n, tl_ep *, const void *, uint32_t, uint32_t bytes) -> void * {
            return self(n).use_sink && bytes <= self(n).sink_memory.size() ? self(n).sink_memory.data() : nullptr;
        };
        upcalls.may_write = [](void *n, const void *place) {
            EXPECT_EQ(place, self(n).sink_memory.data());
            return self(n).may_write;
        };
        upcalls.tx_done = [](void *n, tl_ep *ep, void *cookie, vbn_status_t status) {
            self(n).eps.at(ep).done.emplace_back(cookie, status);
        };
        upcalls.tx_ready = [](void *n, tl_ep *ep) {
            self(n).eps.at(ep).tx_ready++;
            if (self(n).on_tx_ready)
                self(n).on_tx_ready(ep);
        };
        upcalls.ep_error = [](void *n, tl_ep *ep, vbn_status_t status, const char *text) {
            Ep &state = self(n).eps.at(ep);
            EXPECT_FALSE(state.failed) << "ep_error twice";
            state.failed = true;
            state.status = status;
            state.error = text;
        };
        upcalls.log = [](void *n, const vbn_log_record_t *record) { self(n).logs.push_back(record->text); };
        bool interface_set = false;
        for (size_t i = 0; i < settings.size(); i += 2)
            interface_set |= strcmp(settings[i], "tl.tcp.interface") == 0;
        if (!interface_set)
            settings.insert(settings.end(), {"tl.tcp.interface", "lo"});
        settings.push_back(nullptr);
        opened = harness_open(this, &upcalls, settings.data(), &harness);
    }

    Node(const Node &) = delete;

    ~Node()
    {
        if (harness)
            harness_close(harness);
    }

    std::string address() const
    {
        char bytes[256];
        size_t length = sizeof(bytes);
        EXPECT_EQ(VBN_OK, harness_address(harness, bytes, &length));
        return std::string(bytes, length);
    }

    uint16_t port() const
    {
        tcp_address_t decoded = {};
        std::string bytes = address();
        EXPECT_EQ(VBN_OK, tcp_address_decode(bytes.data(), bytes.size(), &decoded));
        return decoded.port;
    }

    tl_ep *connect(const std::string &to)
    {
        tl_ep *ep = nullptr;
        EXPECT_EQ(VBN_OK, harness_connect(harness, to.data(), to.size(), &ep)) << err_text();
        eps[ep] = Ep();
        return ep;
    }

    bool any_log_contains(const char *text) const
    {
        for (const std::string &line : logs)
            if (line.find(text) != std::string::npos)
                return true;
        return false;
    }

    vbn_status_t send(tl_ep *ep, const std::string &header, const std::string &payload = "")
    {
        struct iovec iov = {const_cast<char *>(payload.data()), payload.size()};
        return harness_send(ep, header.data(), static_cast<uint32_t>(header.size()), &iov, payload.empty() ? 0 : 1,
                            nullptr);
    }

    uint64_t counter(const char *name) const { return harness_counter(harness, name); }

private:
    static Node &self(void *node) { return *static_cast<Node *>(node); }

    void receive(tl_ep *ep, std::string &&header, const char *payload, uint32_t bytes)
    {
        Ep &state = eps.at(ep);
        if (header == "hello") {
            EXPECT_EQ(VBN_OK, harness_trust(ep));
            if (state.accepted) {
                EXPECT_EQ(VBN_OK, send(ep, "hello"));
            }
            return;
        }
        Packet packet = {std::move(header), std::string(payload, bytes), payload == sink_memory.data() && bytes > 0};
        if (on_packet)
            on_packet(ep, std::move(packet));
        else
            state.rx.push_back(std::move(packet));
    }
};

// Time of an end that flushes what must arrive: a process that stood still for all of it would close at once.
constexpr uint64_t LONG_FLUSH = UINT64_C(120000000000);

// Runs all nodes until `until`, at most 30 s (a limit against hanging, no measurement).
inline bool drive(std::initializer_list<Node *> nodes, const std::function<bool()> &until, int limit_ms = 30000)
{
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
    while (!until()) {
        unsigned events = 0;
        for (Node *node : nodes)
            events += harness_progress(node->harness);
        if (events == 0)
            sched_yield();
        if (std::chrono::steady_clock::now() > end)
            return false;
    }
    return true;
}

inline size_t open_descriptors()
{
    size_t count = 0;
    for (int fd = 0; fd < 4096; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

// A connected, trusted pair: first is a's endpoint, second b's.
inline std::pair<tl_ep *, tl_ep *> join(Node &a, Node &b)
{
    size_t before = b.accepted.size();
    tl_ep *ep = a.connect(b.address());
    EXPECT_EQ(VBN_OK, a.send(ep, "hello"));
    EXPECT_TRUE(drive({&a, &b}, [&] {
        return a.eps[ep].ready && b.accepted.size() > before && b.eps[b.accepted.back()].ready;
    })) << a.eps[ep].error;
    return {ep, b.accepted.back()};
}

// A plain socket connected to a node on 127.0.0.1; `from`: its own address, 0 = the kernel's choice.
inline int raw_connect(const Node &node, uint32_t from = 0)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in own = {};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(from);
    if (from != 0) {
        EXPECT_EQ(0, bind(fd, reinterpret_cast<struct sockaddr *>(&own), sizeof(own))) << strerror(errno);
    }
    struct sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(node.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, connect(fd, reinterpret_cast<struct sockaddr *>(&to), sizeof(to))) << strerror(errno);
    return fd;
}

inline std::string frame(const std::string &header, const std::string &payload = "")
{
    uint8_t prefix[TCP_PREFIX_BYTES];
    tcp_frame_encode(prefix, static_cast<uint32_t>(header.size()), static_cast<uint32_t>(payload.size()));
    return std::string(reinterpret_cast<char *>(prefix), sizeof(prefix)) + header + payload;
}

// Repeatable bytes that differ at every place and for every seed.
inline std::string pattern(size_t bytes, uint32_t seed)
{
    std::string out(bytes, '\0');
    uint32_t x = seed * 2654435761u + 1;
    for (char &byte : out) {
        x = x * 1664525u + 1013904223u;
        byte = static_cast<char>(x >> 24);
    }
    return out;
}

#endif
