// SPDX-License-Identifier: Apache-2.0
// test_tagged.cc - short tagged messages over shared memory, which take the fast lane both ways: matching, order, errors
// and credit are those of all tagged messages. Two workers of one thread.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "slots.h"

namespace {

constexpr int TURNS = 2000000; /* far more than anything here needs */
constexpr uint64_t EXACT = UINT64_MAX;
constexpr unsigned WORD_ID = 1;

struct End {
    vbn_context_t *context = nullptr;
    vbn_worker_t *worker = nullptr;
    vbn_peer_t *sender = nullptr; /* who sent the last active message */
    unsigned words = 0;
    std::vector<std::string> log;

    End()
    {
        static const uint8_t key[VBN_JOB_KEY_BYTES] = {1};
        vbn_config_t *config;
        EXPECT_EQ(vbn_config_create(&config), VBN_OK);
        EXPECT_EQ(vbn_config_set(config, "tl.enable", "shm"), VBN_OK);
        EXPECT_EQ(vbn_config_set_job_key(config, key), VBN_OK);
        EXPECT_EQ(vbn_open(config, &context), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_worker_create(context, &worker), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_am_handler(worker, WORD_ID, on_message, this), VBN_OK);
        vbn_config_destroy(config);
    }
    ~End()
    {
        vbn_worker_destroy(worker);
        EXPECT_EQ(vbn_close(context), VBN_OK) << vbn_error_text();
    }
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        auto *end = static_cast<End *>(arg);
        end->sender = message->peer;
        end->words++;
        end->log.push_back("am");
    }
    uint64_t counter(const char *name) const
    {
        vbn_counter_t all[256];
        size_t count = vbn_counters(context, all, 256);
        for (size_t i = 0; i < count && i < 256; i++)
            if (strcmp(all[i].name, name) == 0)
                return all[i].value;
        ADD_FAILURE() << "no counter " << name;
        return 0;
    }
};

struct Transfer {
    std::vector<uint8_t> data;
    iovec iov{};
    vbn_op_t op{};
    vbn_tag_info_t info{};
    uint64_t tag = 0, mask = EXACT;
    bool any = false;
    Transfer(size_t size, uint8_t fill) : data(size + 1, fill) { iov = {data.data(), size}; }
};

struct Pair {
    std::deque<Transfer> out, in; /* must not move, and outlive the workers */
    End a, b;
    vbn_peer_t *peer = nullptr; /* b, for a */

    Pair()
    {
        uint8_t blob[VBN_ADDRESS_MAX];
        size_t length = sizeof(blob);
        EXPECT_EQ(vbn_worker_address(b.worker, blob, &length), VBN_OK);
        EXPECT_EQ(vbn_connect(a.worker, blob, length, nullptr, nullptr, &peer), VBN_OK) << vbn_error_text();
        for (unsigned i = 1; i <= 3; i++) {
            send_word();
            EXPECT_TRUE(until([&] { return b.words == i; }));
        }
        EXPECT_TRUE(slots_open(peer)) << "the fast lane is what these tests are about";
    }
    void turn()
    {
        (void)vbn_progress(a.worker);
        (void)vbn_progress(b.worker);
    }
    template <typename Done> bool until(Done done)
    {
        for (int i = 0; i < TURNS; i++) {
            if (done())
                return true;
            turn();
        }
        return false;
    }
    void send_word()
    {
        Transfer &t = out.emplace_back(8, 1);
        EXPECT_GE(vbn_am_send(peer, WORD_ID, nullptr, 0, &t.iov, 1, 0, &t.op), 0) << vbn_error_text();
    }
    Transfer &send(uint64_t tag, size_t size, uint8_t fill, unsigned flags = 0)
    {
        Transfer &t = out.emplace_back(size, fill);
        t.tag = tag;
        EXPECT_GE(vbn_tag_send(peer, tag, &t.iov, 1, flags, &t.op), 0) << vbn_error_text();
        return t;
    }
    Transfer &receive(uint64_t tag, size_t room, uint64_t mask = EXACT, bool any = false)
    {
        Transfer &t = in.emplace_back(room, static_cast<uint8_t>(0));
        t.tag = tag;
        t.mask = mask;
        t.any = any;
        (void)vbn_tag_recv(b.worker, any ? nullptr : b.sender, tag, mask, &t.iov, 1, &t.info, &t.op);
        return t;
    }
    void expect_got(const Transfer &got, const Transfer &sent) const
    {
        ASSERT_EQ(got.op.complete, 1u);
        ASSERT_EQ(got.op.status, VBN_OK);
        ASSERT_EQ(got.op.length, sent.iov.iov_len);
        ASSERT_EQ(got.info.length, sent.iov.iov_len);
        ASSERT_EQ(got.info.tag, sent.tag);
        ASSERT_EQ(got.info.peer, b.sender);
        ASSERT_EQ(got.info.source, vbn_peer_uid(b.sender));
        ASSERT_EQ(memcmp(got.data.data(), sent.data.data(), sent.iov.iov_len), 0);
        ASSERT_EQ(got.data[got.iov.iov_len], 0) << "written behind the buffer";
    }
};

TEST(FastTagged, messages_of_every_length_reach_posted_and_later_receives)
{
    Pair pair;
    for (size_t length = 0; length <= 130; length++) {
        Transfer &before = pair.receive(1, length + length % 3);
        Transfer &first = pair.send(1, length, static_cast<uint8_t>(length + 1));
        ASSERT_TRUE(pair.until([&] { return before.op.complete != 0; }));
        uint64_t waiting = pair.b.counter("tag.unexpected");
        Transfer &second = pair.send(2, length, static_cast<uint8_t>(length + 2));
        ASSERT_TRUE(pair.until([&] { return pair.b.counter("tag.unexpected") == waiting + 1; }));
        Transfer &after = pair.receive(2, length);
        ASSERT_TRUE(pair.until([&] { return after.op.complete && first.op.complete && second.op.complete; }));
        pair.expect_got(before, first);
        pair.expect_got(after, second);
    }
}

/* What the header says of matching, by walking lists. Each message has arrived before the next step. */
class Trial {
public:
    explicit Trial(unsigned seed) : random(seed) {}
    void run()
    {
        for (int step = 0; step < 400 && !::testing::Test::HasFailure(); step++)
            if (random() % 2 == 0)
                arrives();
            else
                posts();
    }

private:
    Pair pair;
    std::mt19937 random;
    std::deque<Transfer *> posted, waiting;
    static bool suits(const Transfer &receive, const Transfer &message)
    {
        return ((receive.tag ^ message.tag) & receive.mask) == 0;
    }
    void matched(const Transfer &receive, const Transfer &message)
    {
        ASSERT_TRUE(pair.until([&] { return receive.op.complete != 0; }));
        if (message.iov.iov_len <= receive.iov.iov_len) {
            pair.expect_got(receive, message);
            return;
        }
        ASSERT_EQ(receive.op.status, VBN_ERR_TRUNCATED);
        ASSERT_EQ(receive.info.length, message.iov.iov_len);
        ASSERT_EQ(receive.data[0], 0);
    }
    void arrives()
    {
        static const size_t sizes[] = {8, 8, 8, 0, 88, 89, 300, 20000};
        uint64_t unexpected = pair.b.counter("tag.unexpected");
        Transfer &message = pair.send(random() % 4, sizes[random() % 8], static_cast<uint8_t>(1 + random() % 255),
                                      random() % 8 == 0);
        for (auto at = posted.begin(); at != posted.end(); ++at) {
            if (suits(**at, message)) {
                matched(**at, message);
                posted.erase(at);
                return;
            }
        }
        ASSERT_TRUE(pair.until([&] { return pair.b.counter("tag.unexpected") == unexpected + 1; }));
        waiting.push_back(&message);
    }
    void posts()
    {
        static const uint64_t masks[] = {EXACT, EXACT, EXACT, 0, 1};
        static const size_t rooms[] = {20000, 20000, 100, 8};
        uint64_t mask = masks[random() % 5];
        Transfer &receive = pair.receive((random() % 4) & mask, rooms[random() % 4], mask, random() % 3 == 0);
        for (auto at = waiting.begin(); at != waiting.end(); ++at) {
            if (suits(receive, **at)) {
                matched(receive, **at);
                waiting.erase(at);
                return;
            }
        }
        ASSERT_EQ(receive.op.complete, 0u);
        posted.push_back(&receive);
    }
};

TEST(FastTagged, matching_agrees_with_a_model_among_long_and_announced_ones_masks_and_any_source)
{
    for (unsigned seed = 1; seed <= 30; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Trial(seed).run();
        ASSERT_FALSE(HasFailure());
    }
}

TEST(FastTagged, active_and_tagged_messages_come_in_one_order)
{
    Pair pair;
    std::vector<std::string> expected;
    pair.b.log.clear();
    for (int i = 0; i < 12; i++) {
        Transfer &t = pair.receive(1, 8);
        t.op.user = &pair.b;
        t.op.done = [](vbn_op_t *op, vbn_status_t, size_t) { static_cast<End *>(op->user)->log.push_back("tag"); };
    }
    std::mt19937 random(5);
    for (unsigned tags = 0, words = 0; tags < 12 || words < 12;) {
        bool tagged = words == 12 || (tags < 12 && random() % 2 == 0);
        tagged ? (void)pair.send(1, 8, 3) : pair.send_word();
        (tagged ? tags : words)++;
        expected.push_back(tagged ? "tag" : "am");
    }
    EXPECT_TRUE(pair.until([&] { return pair.b.log.size() == expected.size(); }));
    EXPECT_EQ(pair.b.log, expected);
}

TEST(FastTagged, a_synchronous_send_ends_when_its_receive_has_come_and_not_before)
{
    Pair pair;
    uint64_t waiting = pair.b.counter("tag.unexpected");
    Transfer &sent = pair.send(1, 8, 3, VBN_TAG_SYNC);
    EXPECT_TRUE(pair.until([&] { return pair.b.counter("tag.unexpected") == waiting + 1; }));
    for (int i = 0; i < 100; i++)
        pair.turn();
    EXPECT_EQ(sent.op.complete, 0u);
    Transfer &got = pair.receive(1, 8);
    EXPECT_TRUE(pair.until([&] { return sent.op.complete != 0; }));
    pair.expect_got(got, sent);
}

TEST(FastTagged, messages_without_credit_wait_at_the_sender_and_keep_their_order)
{
    Pair pair;
    uint64_t large = pair.a.counter("tag.large"), small = pair.a.counter("tag.small");
    for (int i = 0; i < 100; i++)
        (void)pair.send(1, 8, static_cast<uint8_t>(i + 1));
    EXPECT_EQ(pair.a.counter("tag.small"), small + 13) << "4,416 bytes of credit, 328 for each";
    EXPECT_EQ(pair.a.counter("tag.large"), large + 87);
    for (int i = 0; i < 100; i++) {
        Transfer &got = pair.receive(1, 8);
        ASSERT_TRUE(pair.until([&] { return got.op.complete != 0; }));
        EXPECT_EQ(got.data[0], i + 1);
    }
    large = pair.a.counter("tag.large");
    for (int i = 0; i < 100; i++) /* by now the receiver has given more */
        (void)pair.send(1, 8, static_cast<uint8_t>(i + 1));
    EXPECT_EQ(pair.a.counter("tag.large"), large);
    for (int i = 0; i < 100; i++) {
        Transfer &got = pair.receive(1, 8);
        ASSERT_TRUE(pair.until([&] { return got.op.complete != 0; }));
        EXPECT_EQ(got.data[0], i + 1);
    }
    EXPECT_TRUE(pair.until([&] { return pair.out.back().op.complete != 0; }));
}

TEST(FastTagged, probes_find_what_came_by_the_fast_lane_and_cancelled_receives_get_nothing)
{
    Pair pair;
    Transfer &cancelled = pair.receive(1, 8);
    EXPECT_EQ(vbn_tag_cancel(&cancelled.op), VBN_OK);
    Transfer &sent = pair.send(1, 8, 9);
    vbn_tag_message_t *message = nullptr;
    vbn_tag_info_t info{};
    EXPECT_TRUE(pair.until([&] { return vbn_tag_probe(pair.b.worker, nullptr, 0, 0, &info, &message) == VBN_OK; }));
    EXPECT_EQ(info.tag, 1u);
    EXPECT_EQ(info.length, 8u);
    Transfer got(8, 0);
    EXPECT_EQ(vbn_tag_mrecv(message, &got.iov, 1, &got.info, &got.op), VBN_OK);
    pair.expect_got(got, sent);
    EXPECT_EQ(cancelled.data[0], 0);
}

TEST(FastTagged, a_completion_may_post_send_and_end_its_peer)
{
    struct Chain {
        Pair pair;
        int left = 50;
        static void done(vbn_op_t *op, vbn_status_t status, size_t)
        {
            auto *chain = static_cast<Chain *>(op->user);
            EXPECT_EQ(status, VBN_OK);
            if (--chain->left > 0)
                chain->post();
            else
                vbn_disconnect(chain->pair.b.sender, VBN_CLOSE_NOW);
        }
        void post()
        {
            Transfer &t = pair.in.emplace_back(8, static_cast<uint8_t>(0));
            t.op.user = this;
            t.op.done = done;
            EXPECT_EQ(vbn_tag_recv(pair.b.worker, nullptr, 1, EXACT, &t.iov, 1, nullptr, &t.op), VBN_INPROGRESS);
        }
    } chain;
    chain.post();
    for (int i = 0; i < 50; i++) {
        int before = chain.left;
        (void)chain.pair.send(1, 8, 4);
        ASSERT_TRUE(chain.pair.until([&] { return chain.left < before; }));
    }
    EXPECT_EQ(chain.left, 0);
}

TEST(FastTagged, a_child_after_fork_cannot_send_by_its_parents_ring)
{
    Pair pair;
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        Transfer t(8, 1);
        _exit(vbn_tag_send(pair.peer, 1, &t.iov, 1, 0, &t.op) == VBN_ERR_FORKED ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

} // namespace
