// SPDX-License-Identifier: Apache-2.0
// test_tag_model.cc - random tagged traffic both ways over the rig, against a simple model of matching.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>

#include "fixture.h"
#include "full.h"

namespace {

struct Sent {
    uint64_t tag;
    Bytes data;
    bool sync;
    Op op;
    vbn_status_t returned = VBN_OK;
    iovec iov{};
    bool received = false; /* by the model */
};

struct Posted {
    uint64_t tag, mask;
    Bytes room;
    Op op;
    vbn_status_t returned = VBN_OK;
    iovec iov{};
    vbn_tag_info_t info{};
    Sent *gets = nullptr; /* by the model */
    bool cancelled = false;
    bool takes(const Sent &message) const { return ((message.tag ^ tag) & mask) == 0; }
};

/* One direction: what has been sent, how much of it has arrived, who waits. */
struct Side {
    std::deque<std::unique_ptr<Sent>> sent; /* to this side */
    std::deque<std::unique_ptr<Posted>> posted;
    std::vector<Posted *> waiting;
    std::vector<Sent *> unexpected;
    unsigned arrived = 0;
};

class Trial {
public:
    explicit Trial(unsigned seed) : random(seed)
    {
        rig_options_t options = pinned_options();
        options.late_done = seed % 2 == 0;
        options.use_sink = seed % 3 != 0;
        options.not_ready = seed % 5 == 0;
        rig = rig_open(&options);
    }
    ~Trial() { rig_close(rig); }
    void run()
    {
        for (int step = 0; step < 80 && !::testing::Test::HasFailure(); step++) {
            int side = static_cast<int>(random() % 2);
            switch (random() % 10) {
            case 0:
            case 1: send(side); break;
            case 2:
            case 3: receive(side); break;
            case 4: cancel(side); break;
            case 5: probe(side); break;
            case 6: deliver_all(); break;
            default: deliver(side); break;
            }
        }
        finish();
    }

private:
    std::mt19937 random;
    rig_t *rig;
    Side sides[2];
    uint64_t pick_mask()
    {
        const uint64_t masks[] = {UINT64_MAX, UINT64_MAX, 0, 2, UINT64_MAX - 1};
        return masks[random() % 5];
    }
    size_t pick_size()
    {
        const size_t sizes[] = {0, 1, 100, 300, 1024, 1025, 9000};
        return sizes[random() % 7];
    }
    void send(int to)
    {
        auto message = std::make_unique<Sent>();
        message->tag = random() % 4;
        message->data = pattern(pick_size(), random() % 1000);
        message->sync = random() % 3 == 0;
        message->iov = {message->data.data(), message->data.size()};
        message->returned = proto_tag_send(rig_peer(rig, 1 - to), message->tag, &message->iov, 1,
                                           message->sync ? VBN_TAG_SYNC : 0, &message->op.op);
        ASSERT_GE(message->returned, 0);
        sides[to].sent.push_back(std::move(message));
    }
    /* The model's part of what the packets brought. */
    void arrivals()
    {
        for (int i = 0; i < 2; i++) {
            Side &side = sides[i];
            for (; side.arrived < rig_tags_delivered(rig, i); side.arrived++)
                match(side, side.sent[side.arrived].get());
            for (auto &message : side.sent) {
                if (message->sync && message->op.op.complete == 1) {
                    ASSERT_TRUE(message->received) << "a synchronous send is complete before its receive";
                }
            }
        }
    }
    static void match(Side &side, Sent *message)
    {
        for (auto at = side.waiting.begin(); at != side.waiting.end(); ++at) {
            if (!(*at)->takes(*message))
                continue;
            (*at)->gets = message;
            message->received = true;
            side.waiting.erase(at);
            return;
        }
        side.unexpected.push_back(message);
    }
    static Sent *take_unexpected(Side &side, const Posted &receive, bool remove)
    {
        for (auto at = side.unexpected.begin(); at != side.unexpected.end(); ++at) {
            Sent *message = *at;
            if (!receive.takes(*message))
                continue;
            if (remove)
                side.unexpected.erase(at);
            return message;
        }
        return nullptr;
    }
    std::unique_ptr<Posted> make_receive()
    {
        auto receive = std::make_unique<Posted>();
        receive->tag = random() % 4;
        receive->mask = pick_mask();
        receive->room.assign(random() % 6 == 0 ? 50 : 9000, 0xEE);
        receive->iov = {receive->room.data(), receive->room.size()};
        return receive;
    }
    vbn_peer_t *pick_from(int at) { return random() % 2 == 0 ? rig_peer(rig, at) : nullptr; }
    void receive(int at)
    {
        Side &side = sides[at];
        auto receive = make_receive();
        receive->returned = proto_tag_recv(rig_engine(rig, at), pick_from(at), receive->tag, receive->mask,
                                           &receive->iov, 1, &receive->info, &receive->op.op);
        receive->gets = take_unexpected(side, *receive, true);
        if (receive->gets != nullptr)
            receive->gets->received = true;
        else
            side.waiting.push_back(receive.get());
        side.posted.push_back(std::move(receive));
    }
    void cancel(int at)
    {
        Side &side = sides[at];
        if (side.posted.empty())
            return;
        Posted *receive = side.posted[random() % side.posted.size()].get();
        bool waits = receive->gets == nullptr && !receive->cancelled;
        ASSERT_EQ(proto_tag_cancel(&receive->op.op), waits ? VBN_OK : VBN_INPROGRESS);
        if (!waits)
            return;
        receive->cancelled = true;
        side.waiting.erase(std::find(side.waiting.begin(), side.waiting.end(), receive));
    }
    void probe(int at)
    {
        Side &side = sides[at];
        auto receive = make_receive();
        bool take = random() % 2 == 0;
        vbn_tag_message_t *taken = nullptr;
        vbn_status_t found = proto_tag_probe(rig_engine(rig, at), pick_from(at), receive->tag, receive->mask,
                                             &receive->info, take ? &taken : nullptr);
        Sent *expected = take_unexpected(side, *receive, take);
        ASSERT_EQ(found, expected != nullptr ? VBN_OK : VBN_INPROGRESS);
        if (expected == nullptr)
            return;
        ASSERT_EQ(receive->info.length, expected->data.size());
        ASSERT_EQ(receive->info.tag, expected->tag);
        if (!take)
            return;
        receive->gets = expected;
        expected->received = true;
        receive->returned = proto_tag_mrecv(taken, &receive->iov, 1, &receive->info, &receive->op.op);
        side.posted.push_back(std::move(receive));
    }
    void deliver(int to)
    {
        rig_deliver(rig, to);
        arrivals();
    }
    void deliver_all()
    {
        while (rig_deliver(rig, 0) || rig_deliver(rig, 1))
            arrivals();
        rig_run(rig);
        arrivals();
    }
    void check(const Posted &receive)
    {
        if (receive.gets == nullptr)
            return;
        const Sent &message = *receive.gets;
        bool fits = message.data.size() <= receive.room.size();
        ASSERT_EQ(receive.op.op.complete, 1u);
        ASSERT_EQ(receive.op.op.status, fits ? VBN_OK : VBN_ERR_TRUNCATED);
        ASSERT_EQ(receive.op.calls, receive.returned == VBN_INPROGRESS ? 1 : 0);
        ASSERT_EQ(receive.info.tag, message.tag);
        ASSERT_EQ(receive.info.length, message.data.size());
        Bytes expected(receive.room.size(), 0xEE);
        if (fits)
            std::copy(message.data.begin(), message.data.end(), expected.begin());
        ASSERT_TRUE(receive.room == expected);
    }
    /* Receives what is left, then everything must be complete exactly once with the right content. */
    void finish()
    {
        deliver_all();
        for (int i = 0; i < 2; i++) {
            while (!sides[i].unexpected.empty() && !::testing::Test::HasFailure())
                receive(i);
            deliver_all();
        }
        for (auto &side : sides) {
            for (auto &receive : side.posted)
                check(*receive);
            for (auto &message : side.sent) {
                ASSERT_EQ(message->op.op.complete, 1u);
                ASSERT_EQ(message->op.op.status, VBN_OK);
                ASSERT_EQ(message->op.calls, message->returned == VBN_OK ? 0 : 1);
            }
            for (auto *receive : side.waiting)
                receive->op.op.done = nullptr; /* the rig's end completes them */
        }
        ASSERT_EQ(rig_failure(rig, 0), VBN_OK);
        ASSERT_EQ(rig_failure(rig, 1), VBN_OK);
        ASSERT_EQ(rig_tag_credit_problem(rig), nullptr);
    }
};

/* VBN_TEST_SEED=n runs one seed. */
TEST(ProtoTagModel, random_traffic_agrees_with_the_model_for_many_seeds)
{
    const char *only = std::getenv("VBN_TEST_SEED");
    unsigned first = only != nullptr ? static_cast<unsigned>(std::atoi(only)) : 0;
    for (unsigned seed = first; seed < (only != nullptr ? first + 1 : usual_or_full(500, 2000)); seed++) {
        Trial(seed).run();
        ASSERT_FALSE(HasFailure()) << "seed " << seed << "; VBN_TEST_SEED=" << seed << " repeats it";
    }
}

} // namespace
