// SPDX-License-Identifier: Apache-2.0
// sim_network.h - a network for schedules: messages of different pairs of ranks are delivered in random order, sends complete at
// once or later. Every rank of the set lives in this process.
#ifndef MPI_TESTS_SIM_NETWORK_H
#define MPI_TESTS_SIM_NETWORK_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

extern "C" {
#include "grp/levels.h"
#include "grp/steps.h"
}

namespace sched_test {

class Network {
public:
    explicit Network(int size, unsigned seed, const std::string &nodes = "")
        : random(seed), mapping(nodes), groups((size_t)size), sets((size_t)size)
    {
        rt.pmi.mapping = nodes.empty() ? nullptr : mapping.data();
        rt.pmi.size = size;
        for (int i = 0; i < size; i++) {
            groups[(size_t)i] = rt_group_t{1, size, i, 0, 1, nullptr, nullptr};
            sets[(size_t)i].ranks = &groups[(size_t)i];
            sets[(size_t)i].slots = 1;
            rt.rank = i;
            EXPECT_GE(levels_find(&sets[(size_t)i]), 0);
        }
        current = this;
    }

    ~Network()
    {
        for (grp_t &set : sets)
            grp_end(&set);
        rt.pmi.mapping = nullptr;
        current = nullptr;
    }

    static void reach(sched_step_t *) {}

    static vbn_status_t send(sched_op_t *op, uint64_t tag)
    {
        return current->post({op, sched_rank(op->sched), op->step->rank, tag, bytes(op)}, true);
    }

    static vbn_status_t recv(sched_op_t *op, uint64_t tag)
    {
        return current->post({op, op->step->rank, sched_rank(op->sched), tag, {}}, false);
    }

    // Sends end by themselves.
    static int withdraw(sched_op_t *op)
    {
        if (op->step->kind == SCHED_SEND)
            return 0;
        auto &posted = current->lanes[{op->step->rank, sched_rank(op->sched), op->sched->tag}].posted;
        const auto at = std::find_if(posted.begin(), posted.end(),
                                     [op](const Message &message) { return message.op == op; });
        if (at == posted.end())
            return 0;
        posted.erase(at);
        return 1;
    }

    static void notify(const sched_step_t *) {}

    static const char *cause(const sched_step_t *) { return "it is lost"; }

    // Delivers until nobody has anything to do.
    void run()
    {
        while (step()) {
        }
    }

    // One event of a pair that is drawn by chance; false: there is none.
    bool step()
    {
        const size_t count = ready.size() + unfinished.size();
        if (count == 0)
            return false;
        const size_t drawn = random() % count;
        if (drawn < ready.size())
            match(drawn);
        else
            finish(drawn - ready.size());
        return true;
    }

    // Each message from or to this rank fails from now on, also at that rank.
    void lose(int rank)
    {
        lost.push_back(rank);
        std::vector<sched_op_t *> dead;
        for (auto &[key, lane] : lanes) {
            if (key.from != rank && key.to != rank)
                continue;
            for (auto &message : lane.posted)
                dead.push_back(message.op);
            lane.posted.clear();
            lane.sent.clear();
        }
        for (sched_op_t *op : dead)
            sched_op_done(&op->op, VBN_ERR_PEER_LOST, 0);
    }

    bool is_empty() const
    {
        for (auto &[key, lane] : lanes)
            if (!lane.sent.empty() || !lane.posted.empty())
                return false;
        return unfinished.empty();
    }

    grp_t *set(int rank) { return &sets[(size_t)rank]; }
    int size() const { return (int)sets.size(); }

    std::mt19937 random;

private:
    struct Message {
        sched_op_t *op;
        int from;
        int to;
        uint64_t tag;
        std::vector<char> data;
    };
    struct Key {
        int from;
        int to;
        uint64_t tag;
        bool operator<(const Key &other) const
        {
            return std::tie(from, to, tag) < std::tie(other.from, other.to, other.tag);
        }
    };
    struct Lane {
        std::deque<Message> sent;
        std::deque<Message> posted;
    };

    static std::vector<char> bytes(const sched_op_t *op)
    {
        const char *first = (const char *)op->piece.iov_base;
        return op->piece.iov_len == 0 ? std::vector<char>() : std::vector<char>(first, first + op->piece.iov_len);
    }

    bool is_lost(int rank) const { return std::find(lost.begin(), lost.end(), rank) != lost.end(); }

    vbn_status_t post(Message message, bool sends)
    {
        if (is_lost(message.from) || is_lost(message.to))
            return VBN_ERR_PEER_LOST;
        sched_op_t *op = message.op;
        Lane &lane = lanes[{message.from, message.to, message.tag}];
        (sends ? lane.sent : lane.posted).push_back(std::move(message));
        if ((sends ? lane.posted : lane.sent).size() >= (sends ? lane.sent : lane.posted).size())
            ready.push_back(&lane); // one entry for each pair that can be matched
        if (!sends)
            return VBN_INPROGRESS;
        if (random() % 2 == 0) // copied
            return VBN_OK;
        unfinished.push_back(op);
        return VBN_INPROGRESS;
    }

    void match(size_t at)
    {
        Lane &lane = *ready[at];
        ready[at] = ready.back();
        ready.pop_back();
        if (lane.sent.empty() || lane.posted.empty()) // of a lost rank
            return;
        Message sent = std::move(lane.sent.front());
        Message posted = std::move(lane.posted.front());
        lane.sent.pop_front();
        lane.posted.pop_front();
        posted.op->info.length = sent.data.size();
        const bool fits = sent.data.size() <= posted.op->piece.iov_len;
        if (fits && !sent.data.empty())
            memcpy(posted.op->piece.iov_base, sent.data.data(), sent.data.size());
        sched_op_done(&posted.op->op, fits ? VBN_OK : VBN_ERR_TRUNCATED, sent.data.size());
    }

    void finish(size_t at)
    {
        sched_op_t *op = unfinished[at];
        unfinished[at] = unfinished.back();
        unfinished.pop_back();
        sched_op_done(&op->op, VBN_OK, op->piece.iov_len);
    }

    static Network *current;
    std::string mapping; // of ranks to nodes, as the launcher says it
    std::vector<rt_group_t> groups;
    std::vector<grp_t> sets;
    std::map<Key, Lane> lanes;
    std::vector<Lane *> ready;
    std::vector<sched_op_t *> unfinished;
    std::vector<int> lost;
};

inline Network *Network::current;
inline const sched_net_t simulated = {Network::reach,    Network::send,   Network::recv,
                                      Network::withdraw, Network::notify, Network::cause};

} // namespace sched_test

#endif
