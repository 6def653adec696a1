// SPDX-License-Identifier: Apache-2.0
// test_hostile.cc - what a stranger with a plain socket, a dying peer or an exhausted host can do: break its own
// connection, nothing else.
#include "node.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <random>

static void write_all(int fd, const std::string &bytes)
{
    ASSERT_EQ(static_cast<ssize_t>(bytes.size()), ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

// The socket was closed by the other side: end of file or reset, not silence.
static bool closed_by_peer(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

TEST(TcpHostile, a_stream_may_come_byte_by_byte)
{
    Node b;
    int fd = raw_connect(b);
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof(on));
    std::string stream = frame("first", "payload") + frame("second") + frame("hello") +
                         frame("third", pattern(20000, 5));
    for (size_t i = 0; i < 600; i++) {
        write_all(fd, stream.substr(i, 1));
        harness_progress(b.harness);
    }
    write_all(fd, stream.substr(600));
    ASSERT_TRUE(drive({&b}, [&] { return b.accepted.size() == 1 && b.eps[b.accepted[0]].rx.size() == 3; }));
    Ep &ep = b.eps[b.accepted[0]];
    EXPECT_EQ("first", ep.rx[0].header);
    EXPECT_EQ("payload", ep.rx[0].payload);
    EXPECT_EQ("second", ep.rx[1].header);
    EXPECT_TRUE(pattern(20000, 5) == ep.rx[2].payload);
    close(fd);
}

TEST(TcpHostile, malformed_frames_close_the_connection_and_are_counted)
{
    std::string large = frame("h", std::string(512, 'x')); // 1 byte more than a stranger may send
    std::string empty = frame("h");
    empty[4] = 0;
    std::string foreign = "GET / HTTP/1.1\r\n\r\n";
    std::string huge = std::string("\xff\xff\xff\xff\x10\x00\x01\xb5", 8);
    uint64_t count = 0;
    for (const std::string &bytes : {large, empty, foreign, huge}) {
        Node b;
        int fd = raw_connect(b);
        write_all(fd, bytes);
        ASSERT_TRUE(drive({&b}, [&] { return b.accepted.size() == 1 && b.eps[b.accepted[0]].failed; }));
        Ep &ep = b.eps[b.accepted[0]];
        EXPECT_EQ(VBN_ERR_PROTOCOL, ep.status);
        EXPECT_NE(std::string::npos, ep.error.find("127.0.0.1:")) << ep.error;
        EXPECT_TRUE(ep.rx.empty());
        EXPECT_EQ(1u, b.counter("rx.bad_frames"));
        EXPECT_TRUE(drive({&b}, [&] { return closed_by_peer(fd); }));
        close(fd);
        count++;
    }
    EXPECT_EQ(4u, count);
}

TEST(TcpHostile, packets_before_a_malformed_one_are_delivered)
{
    Node b;
    int fd = raw_connect(b);
    write_all(fd, frame("good", "data") + "rubbish!");
    ASSERT_TRUE(drive({&b}, [&] { return b.accepted.size() == 1 && b.eps[b.accepted[0]].failed; }));
    ASSERT_EQ(1u, b.eps[b.accepted[0]].rx.size());
    close(fd);
}

TEST(TcpHostile, an_end_in_the_middle_of_a_packet_is_named)
{
    Node b;
    int fd = raw_connect(b);
    write_all(fd, frame("hello") + frame("whole") + frame("cut", std::string(30000, 'c')).substr(0, 20000));
    close(fd);
    ASSERT_TRUE(drive({&b}, [&] { return b.accepted.size() == 1 && b.eps[b.accepted[0]].failed; }));
    Ep &ep = b.eps[b.accepted[0]];
    EXPECT_EQ(VBN_ERR_PEER_LOST, ep.status);
    EXPECT_NE(std::string::npos, ep.error.find("middle of a packet")) << ep.error;
    EXPECT_EQ(1u, ep.rx.size());
}

TEST(TcpHostile, random_damage_never_harms_a_good_connection)
{
    std::mt19937 random(4242);
    Node a, b;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b);
    for (int round = 0; round < 300; round++) {
        int fd = raw_connect(b);
        std::string stream = frame("x", std::string(random() % 300, 'y'));
        if (round % 2)
            stream = frame("hello") + stream + frame("z", std::string(random() % 100000, 'z'));
        for (unsigned flips = random() % 4 + 1; flips > 0; flips--)
            stream[random() % (flips % 2 ? 8 : stream.size())] ^= static_cast<char>(1u << random() % 8);
        stream.resize(random() % stream.size() + 1);
        size_t accepted = b.accepted.size();
        write_all(fd, stream);
        close(fd);
        ASSERT_TRUE(drive({&b}, [&] { return b.accepted.size() > accepted && b.eps[b.accepted.back()].failed; }));
        harness_disconnect(b.accepted.back(), VBN_CLOSE_NOW, 0);
        b.eps.erase(b.accepted.back());
    }
    ASSERT_EQ(VBN_OK, a.send(ea, "still", "here"));
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.eps[eb].rx.size() == 1; }));
    EXPECT_GT(b.counter("rx.bad_frames"), 20u);
}

TEST(TcpHostile, the_oldest_of_too_many_strangers_is_closed)
{
    Node b({"tl.tcp.max_unauthenticated", "4"});
    Node a;
    tl_ep *ea, *eb;
    std::tie(ea, eb) = join(a, b); // trusted: does not count
    int fds[6];
    for (size_t i = 0; i < 6; i++) {
        fds[i] = raw_connect(b);
        ASSERT_TRUE(drive({&b}, [&] { return b.accepted.size() == i + 2; }));
    }
    EXPECT_TRUE(drive({&b}, [&] { return closed_by_peer(fds[0]) && closed_by_peer(fds[1]); }));
    for (size_t i = 2; i < 6; i++)
        EXPECT_FALSE(closed_by_peer(fds[i])) << i;
    EXPECT_EQ(VBN_ERR_LIMIT, b.eps[b.accepted[1]].status);
    EXPECT_NE(std::string::npos, b.eps[b.accepted[1]].error.find("tl.tcp.max_unauthenticated"));
    EXPECT_FALSE(b.eps[eb].failed);
    for (int fd : fds)
        close(fd);
}

// The age is taken from before the dial, so it is never less than the real one, however late this process gets to run.
TEST(TcpHostile, a_stranger_is_left_a_second_while_others_wait_in_the_queue)
{
    using Clock = std::chrono::steady_clock;
    constexpr size_t kDialled = 100;
    Node b;
    std::vector<int> fds;
    std::vector<Clock::time_point> since;
    for (size_t i = 0; i < kDialled; i++) {
        since.push_back(Clock::now());
        fds.push_back(raw_connect(b));
    }
    std::vector<bool> closed(kDialled, false);
    size_t gone = 0;
    ASSERT_TRUE(drive({&b}, [&] {
        for (size_t i = 0; i < kDialled; i++) {
            if (closed[i] || !closed_by_peer(fds[i]))
                continue;
            closed[i] = true;
            gone++;
            EXPECT_GE(Clock::now() - since[i], std::chrono::seconds(1)) << i;
        }
        return b.accepted.size() == kDialled && gone >= kDialled - 64;
    }));
    EXPECT_EQ(kDialled - 64, gone); // as many as had to wait
    for (int fd : fds)
        close(fd);
}

TEST(TcpHostile, who_waits_comes_in_when_another_has_proved_the_key_or_has_gone)
{
    Node b({"tl.tcp.max_unauthenticated", "2"});
    std::vector<int> fds;
    for (int i = 0; i < 20; i++)
        fds.push_back(raw_connect(b));
    for (size_t i = 0; i < fds.size(); i++) {
        ASSERT_TRUE(drive({&b}, [&] { return b.accepted.size() > i; }));
        if (i % 2 == 0)
            write_all(fds[i], frame("hello"));
        else
            close(fds[i]);
        ASSERT_TRUE(drive({&b}, [&] { return b.eps[b.accepted[i]].ready || b.eps[b.accepted[i]].failed; }));
    }
    for (size_t i = 0; i < fds.size(); i += 2)
        close(fds[i]);
}

TEST(TcpHostile, a_stranger_costs_at_most_4_kib)
{
    printf("an untrusted connection takes at most %zu bytes\n", harness_untrusted_bytes());
    EXPECT_LE(harness_untrusted_bytes(), 4096u);
}

TEST(TcpHostile, a_refused_connection_names_address_cause_and_cure)
{
    std::string address;
    {
        Node gone;
        address = gone.address();
    }
    Node a;
    tl_ep *ea = a.connect(address);
    ASSERT_EQ(VBN_OK, a.send(ea, "waits"));
    ASSERT_TRUE(drive({&a}, [&] { return a.eps[ea].failed; }));
    EXPECT_EQ(VBN_ERR_UNREACHABLE, a.eps[ea].status);
    for (const char *part : {"127.0.0.1:", "Connection refused", "firewall"})
        EXPECT_NE(std::string::npos, a.eps[ea].error.find(part)) << a.eps[ea].error;
}

TEST(TcpHostile, the_next_address_is_tried_when_one_refuses)
{
    Node a, b;
    std::string bytes = b.address();
    tcp_address_t address;
    ASSERT_EQ(VBN_OK, tcp_address_decode(bytes.data(), bytes.size(), &address));
    address.count = 2;
    address.ips[1] = address.ips[0];
    address.ips[0].bytes[3] = 77; // 127.0.0.77: nobody listens there
    uint8_t encoded[TCP_ADDRESS_BYTES_MAX];
    size_t length = tcp_address_encode(&address, encoded);
    tl_ep *ea = a.connect(std::string(reinterpret_cast<char *>(encoded), length));
    ASSERT_EQ(VBN_OK, a.send(ea, "hello"));
    EXPECT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].ready; })) << a.eps[ea].error;
    EXPECT_TRUE(a.any_log_contains("127.0.0.77"));
}

// A listener whose queue is full: it answers nothing.
class Silent {
public:
    struct sockaddr_in at = {};
    Silent(const char *ip, uint16_t port)
    {
        socklen_t size = sizeof(at);
        at.sin_family = AF_INET;
        at.sin_port = htons(port);
        EXPECT_EQ(1, inet_pton(AF_INET, ip, &at.sin_addr));
        EXPECT_EQ(0, bind(listener, reinterpret_cast<struct sockaddr *>(&at), size)) << strerror(errno);
        EXPECT_EQ(0, listen(listener, 0));
        EXPECT_EQ(0, getsockname(listener, reinterpret_cast<struct sockaddr *>(&at), &size));
        for (int &fd : fillers) {
            fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            (void)!::connect(fd, reinterpret_cast<struct sockaddr *>(&at), size);
        }
    }
    ~Silent()
    {
        for (int fd : fillers)
            close(fd);
        close(listener);
    }

private:
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fillers[4];
};

TEST(TcpHostile, the_next_address_is_tried_when_one_is_silent)
{
    Node a({"tl.tcp.connect_timeout", "2s"}), b;
    Silent silent("127.0.0.78", b.port());
    std::string bytes = b.address();
    tcp_address_t address;
    ASSERT_EQ(VBN_OK, tcp_address_decode(bytes.data(), bytes.size(), &address));
    address.count = 2;
    address.ips[1] = address.ips[0];
    address.ips[0].bytes[3] = 78;
    uint8_t encoded[TCP_ADDRESS_BYTES_MAX];
    size_t length = tcp_address_encode(&address, encoded);
    tl_ep *ea = a.connect(std::string(reinterpret_cast<char *>(encoded), length));
    ASSERT_EQ(VBN_OK, a.send(ea, "hello"));
    EXPECT_TRUE(drive({&a, &b}, [&] { return a.eps[ea].ready; })) << a.eps[ea].error;
    EXPECT_TRUE(a.any_log_contains("127.0.0.78"));
}

TEST(TcpHostile, connecting_ends_after_its_time)
{
    Silent silent("127.0.0.1", 0);
    Node a({"tl.tcp.connect_timeout", "100ms"});
    std::string bytes = a.address();
    bytes[2] = static_cast<char>(ntohs(silent.at.sin_port) & 0xFF);
    bytes[3] = static_cast<char>(ntohs(silent.at.sin_port) >> 8);
    tl_ep *ea = a.connect(bytes);
    while (harness_arm(a.harness) == VBN_BUSY)
        harness_progress(a.harness);
    struct pollfd waiting = {harness_event_fd(a.harness), POLLIN, 0};
    ASSERT_EQ(1, poll(&waiting, 1, 20000)) << "a sleeper is not woken by the time-out";
    ASSERT_TRUE(drive({&a}, [&] { return a.eps[ea].failed; }));
    EXPECT_EQ(VBN_ERR_TIMEOUT, a.eps[ea].status);
    EXPECT_NE(std::string::npos, a.eps[ea].error.find("tl.tcp.connect_timeout")) << a.eps[ea].error;
}

TEST(TcpHostile, exhausted_descriptors_refuse_without_spinning_and_say_so_once)
{
    Node b;
    int clients[3];
    for (int &fd : clients)
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct rlimit before;
    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
    int highest = dup(clients[2]);
    struct rlimit low = {static_cast<rlim_t>(highest), before.rlim_max};
    close(highest);
    std::vector<int> hogs; // fills the gaps below the limit
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &low));
    for (int fd; (fd = dup(clients[0])) >= 0;)
        hogs.push_back(fd);
    struct sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(b.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int fd : clients)
        EXPECT_EQ(0, connect(fd, reinterpret_cast<struct sockaddr *>(&to), sizeof(to)));
    bool refused = drive({&b}, [&] { return closed_by_peer(clients[0]) && closed_by_peer(clients[2]); });
    bool quiet = drive({&b}, [&] { return harness_arm(b.harness) == VBN_OK; });
    setrlimit(RLIMIT_NOFILE, &before);
    for (int fd : hogs)
        close(fd);
    for (int fd : clients)
        close(fd);
    EXPECT_TRUE(refused);
    EXPECT_TRUE(quiet);
    EXPECT_TRUE(b.accepted.empty());
    size_t lines = 0;
    for (const std::string &line : b.logs)
        lines += line.find("ulimit -n") != std::string::npos;
    EXPECT_EQ(1u, lines);
    int fd = raw_connect(b); // and it goes on afterwards
    EXPECT_TRUE(drive({&b}, [&] { return b.accepted.size() == 1; }));
    close(fd);
}

TEST(TcpHostile, a_reset_is_reported_after_what_came)
{
    Node b;
    int fd = raw_connect(b);
    write_all(fd, frame("hello") + frame("data", "d"));
    ASSERT_TRUE(drive({&b}, [&] { return b.accepted.size() == 1 && b.eps[b.accepted[0]].rx.size() == 1; }));
    struct linger reset = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    ASSERT_TRUE(drive({&b}, [&] { return b.eps[b.accepted[0]].failed; }));
    EXPECT_EQ(VBN_ERR_PEER_LOST, b.eps[b.accepted[0]].status);
    EXPECT_NE(std::string::npos, b.eps[b.accepted[0]].error.find("reset")) << b.eps[b.accepted[0]].error;
}

// Runs `child` in a forked process; the child must not return.
static pid_t start(const std::function<void()> &child)
{
    pid_t pid = fork();
    if (pid == 0) {
        child();
        _exit(0);
    }
    return pid;
}

TEST(TcpProcesses, a_forked_pair_exchanges_packets)
{
    Node parent;
    std::string address = parent.address();
    pid_t pid = start([&] {
        Node child;
        tl_ep *ep = child.connect(address);
        child.send(ep, "hello");
        bool ok = drive({&child}, [&] { return child.eps[ep].rx.size() == 100; });
        for (size_t i = 0; ok && i < 100; i++)
            ok = child.eps[ep].rx[i].payload == pattern(i * 1000, static_cast<uint32_t>(i));
        _exit(ok && child.send(ep, "bye") == VBN_OK ? 0 : 1);
    });
    ASSERT_GT(pid, 0);
    ASSERT_TRUE(drive({&parent}, [&] { return parent.accepted.size() == 1 && parent.eps[parent.accepted[0]].ready; }));
    tl_ep *ep = parent.accepted[0];
    for (uint32_t i = 0; i < 100;) {
        vbn_status_t status = parent.send(ep, "h", pattern(i * 1000, i));
        ASSERT_TRUE(status == VBN_OK || status == VBN_BUSY) << err_text();
        i += status == VBN_OK;
        harness_progress(parent.harness);
    }
    EXPECT_TRUE(drive({&parent}, [&] { return parent.eps[ep].rx.size() == 1 && parent.eps[ep].failed; }));
    int code = -1;
    ASSERT_EQ(pid, waitpid(pid, &code, 0));
    EXPECT_EQ(0, code);
}

TEST(TcpProcesses, a_killed_peer_is_noticed_in_every_state)
{
    for (bool trusted : {false, true}) {
        Node parent;
        std::string address = parent.address();
        pid_t pid = start([&] {
            Node child({"tl.tcp.socket_buffer", "4K"});
            tl_ep *ep = child.connect(address);
            child.send(ep, trusted ? "hello" : "mumble");
            drive({&child}, [&] { return false; }, 60000);
        });
        ASSERT_GT(pid, 0);
        auto state = [&]() -> Ep & { return parent.eps[parent.accepted.at(0)]; };
        ASSERT_TRUE(drive({&parent}, [&] {
            return parent.accepted.size() == 1 && (trusted ? state().ready : state().rx.size() == 1);
        }));
        if (trusted) {
            std::string payload(200000, 'p');
            while (parent.send(parent.accepted[0], "p", payload) == VBN_OK)
                continue;
        }
        ASSERT_EQ(0, kill(pid, SIGKILL));
        int code;
        ASSERT_EQ(pid, waitpid(pid, &code, 0));
        ASSERT_TRUE(drive({&parent}, [&] { return state().failed; })) << trusted;
        EXPECT_EQ(VBN_ERR_PEER_LOST, state().status);
    }
}
