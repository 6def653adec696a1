/* SPDX-License-Identifier: Apache-2.0
 * traffic.h - numbered messages between the two workers of a pair, over the scripted libibverbs. */
#ifndef VBN_TESTS_VERBS_TRAFFIC_H
#define VBN_TESTS_VERBS_TRAFFIC_H

#include <deque>

#include "checks.h"

namespace verbs {

/* Numbered messages from a to b; b checks the order. */
class Traffic {
public:
    explicit Traffic(multi::Pair &pair_) : pair(pair_)
    {
        MUST(vbn_am_handler(pair.b.worker, 3, on_number, this) == VBN_OK);
        MUST(pair.a.connect(pair.b) == VBN_OK);
    }
    void send()
    {
        calls.emplace_back();
        Call &call = calls.back();
        call.iov = {call.data, sizeof(call.data)};
        uint64_t number = sent++;
        MUST(vbn_am_send(pair.a.peer, 3, &number, sizeof(number), &call.iov, 1, 0, &call.op) >= 0);
    }
    void all_arrive()
    {
        if (!pair.until([&] { return arrived == sent || pair.a.lost != VBN_OK; }))
            std::fprintf(stderr, "%llu of %llu arrived\n%s%s", static_cast<unsigned long long>(arrived),
                         static_cast<unsigned long long>(sent), pair.a.log.c_str(), pair.b.log.c_str());
        MUST(arrived == sent);
        while (!calls.empty() && calls.front().op.complete == 1)
            calls.pop_front();
    }
    void burst(unsigned count)
    {
        for (unsigned i = 0; i < count; i++)
            send();
        all_arrive();
    }
    uint64_t sent = 0, arrived = 0;

private:
    struct Call {
        vbn_op_t op{};
        iovec iov{};
        uint8_t data[64]{};
    };
    std::deque<Call> calls; /* until they are complete: the core uses them */
    multi::Pair &pair;
    static void on_number(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Traffic *>(arg);
        uint64_t number;
        MUST(message->header_length == sizeof(number));
        std::memcpy(&number, message->header, sizeof(number));
        MUST(number == self->arrived);
        self->arrived++;
    }
};

inline void promote_early()
{
    setenv("VBN_LINK_PROMOTE_AFTER", "8", 1);
    setenv("VBN_LINK_RESUME_TIMEOUT", "10s", 1);
}

/* Traffic until the peer has a connection besides its datagrams. */
inline void promoted(multi::Pair &pair, Traffic &traffic)
{
    traffic.burst(20);
    MUST(pair.until([&] { return counted(pair.a, "link.lanes_added") == 1; }));
    traffic.burst(20);
    MUST(counted(pair.a, "rc.tx.packets") >= 20);
}

} // namespace verbs
#endif
