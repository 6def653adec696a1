/* SPDX-License-Identifier: Apache-2.0
 * backlog.h - vbn_peer_queued and vbn_peer_set_low_mark, as tests that run over any transport, each in a process of its own
 * with the transports as argument. The receiver stands still by not being driven, so what is queued does not depend on time. */
#ifndef VBN_TESTS_MULTI_BACKLOG_H
#define VBN_TESTS_MULTI_BACKLOG_H

#include <memory>

#include "pair.h"

namespace multi {

/* Messages of `size` from a to b, sent until `high` bytes are queued, as a writer does. */
struct Writer {
    Pair pair;
    size_t size;
    std::vector<uint8_t> data;
    iovec iov;
    std::vector<std::unique_ptr<vbn_op_t>> ops;
    uint64_t bytes = 0; /* of messages that were not complete at once */
    unsigned told = 0;
    uint64_t told_queued = 0;
    std::function<void()> on_low;

    Writer(const char *transports, size_t size_)
        : pair(transports), size(size_), data(size_, 3), iov{data.data(), size_}
    {
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        MUST(vbn_peer_queued(pair.a.peer) == 0);
    }
    uint64_t queued() const { return vbn_peer_queued(pair.a.peer); }
    void mark(uint64_t low) { MUST(vbn_peer_set_low_mark(pair.a.peer, low, tell, this) == VBN_OK); }
    static void tell(void *arg, vbn_peer_t *peer, uint64_t queued)
    {
        auto *self = static_cast<Writer *>(arg);
        MUST(peer == self->pair.a.peer && queued == vbn_peer_queued(peer));
        self->told++;
        self->told_queued = queued;
        if (self->on_low)
            self->on_low();
    }
    void write()
    {
        ops.push_back(std::make_unique<vbn_op_t>());
        vbn_status_t status = vbn_am_send(pair.a.peer, 1, nullptr, 0, &iov, 1, 0, ops.back().get());
        MUST(status >= 0);
        bytes += status == VBN_INPROGRESS ? size : 0;
    }
    void fill(uint64_t high)
    {
        while (queued() < high)
            write();
    }
    bool all_complete() const
    {
        for (const auto &op : ops)
            if (op->complete == 0)
                return false;
        return true;
    }
    void drain()
    {
        MUST(pair.until([&] { return all_complete(); }));
    }
};

inline void what_waits_is_counted_and_then_it_is_not(const char *transports, size_t size)
{
    Writer w(transports, size);
    w.fill(40 * size);
    MUST(w.queued() == w.bytes && w.bytes >= 40 * size); /* nothing has completed: nobody was driven */
    w.drain();
    MUST(w.queued() == 0);
    w.pair.close();
}

inline void the_mark_is_told_of_once_each_time(const char *transports, size_t size)
{
    Writer w(transports, size);
    w.mark(10 * size);
    for (unsigned round = 1; round <= 3; round++) {
        w.fill(40 * size);
        for (int i = 0; i < 100 && w.queued() > 10 * size; i++) /* the receiver stands still */
            (void)vbn_progress(w.pair.a.worker);
        MUST(w.queued() <= 10 * size || w.told == round - 1);
        w.drain();
        MUST(w.pair.until([&] { return w.told == round; }));
        MUST(w.told_queued <= 10 * size && w.queued() == 0);
        for (int i = 0; i < 100; i++)
            w.pair.turn();
        MUST(w.told == round);
    }
    MUST(vbn_peer_set_low_mark(w.pair.a.peer, 0, nullptr, nullptr) == VBN_OK);
    w.fill(40 * size);
    w.drain();
    for (int i = 0; i < 100; i++)
        w.pair.turn();
    MUST(w.told == 3); /* removed */
    w.pair.close();
}

/* A writer that continues at each call-back: all arrives, and never more than the mark and what it writes at a time waits. */
inline void a_writer_goes_on_when_it_is_told(const char *transports, size_t size)
{
    Writer w(transports, size);
    const unsigned rounds = 20;
    w.on_low = [&] {
        if (w.told < rounds)
            w.fill(20 * size);
        MUST(w.queued() <= 21 * size);
    };
    w.mark(5 * size);
    w.fill(20 * size);
    MUST(w.pair.until([&] { return w.told == rounds; }));
    w.drain();
    MUST(w.pair.until([&] { return w.pair.b.messages == w.ops.size() + 1; }));
    w.pair.close();
}

inline void a_lost_peer_is_not_told_of(const char *transports, size_t size)
{
    setenv("VBN_LINK_KEEPALIVE", "100ms", 1); /* how the loss is noticed over datagrams */
    setenv("VBN_LINK_PEER_TIMEOUT", "1s", 1);
    Writer w(transports, size);
    w.mark(10 * size);
    w.fill(40 * size);
    w.pair.b.close();
    while (w.pair.a.lost == VBN_OK) /* ended by the launcher's time limit */
        (void)vbn_progress(w.pair.a.worker);
    MUST(w.all_complete() && w.queued() == 0 && w.told == 0);
    MUST(vbn_peer_set_low_mark(w.pair.a.peer, 1, Writer::tell, &w) == VBN_ERR_PEER_LOST);
    w.pair.close();
}

inline void disconnect_removes_the_mark(const char *transports, size_t size)
{
    for (vbn_close_mode_t mode : {VBN_CLOSE_FLUSH, VBN_CLOSE_NOW}) {
        Writer w(transports, size);
        w.mark(10 * size);
        w.fill(40 * size);
        vbn_disconnect(w.pair.a.peer, mode);
        w.pair.a.peer = nullptr;
        w.drain();
        for (int i = 0; i < 100; i++)
            w.pair.turn();
        MUST(w.told == 0);
        w.pair.close();
    }
}

/* The call-back is due, and its peer or the mark goes before it runs. */
inline void the_callback_may_end_the_peer(const char *transports, size_t size)
{
    Writer w(transports, size);
    w.on_low = [&] {
        vbn_disconnect(w.pair.a.peer, VBN_CLOSE_NOW);
        w.pair.a.peer = nullptr;
    };
    w.mark(39 * size);
    w.fill(40 * size);
    MUST(w.pair.until([&] { return w.told == 1; }));
    w.drain();
    MUST(w.told == 1);
    w.pair.close();
}

inline void of_many_pieces_and_of_puts_the_bytes_count_too(const char *transports, size_t)
{
    constexpr size_t SIZE = 3000; /* shorter ones are copied over connections that keep packets, and not counted */
    Writer w(transports, SIZE);
    iovec pieces[20];
    for (unsigned i = 0; i < 20; i++)
        pieces[i] = {w.data.data() + i * SIZE / 20, SIZE / 20};
    vbn_op_t op{};
    while (w.queued() == 0) /* more pieces than a packet takes are copied: complete at once, yet queued */
        MUST(vbn_am_send(w.pair.a.peer, 1, nullptr, 0, pieces, 20, 0, &op) == VBN_OK && op.complete == 1);
    MUST(w.queued() == SIZE);
    vbn_op_t flush{};
    MUST(w.pair.finish(vbn_flush(w.pair.a.peer, &flush), flush) == VBN_OK && w.queued() == 0);
    std::vector<uint8_t> memory(4096);
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    uint8_t blob[VBN_KEY_MAX];
    size_t length = sizeof(blob);
    MUST(vbn_mem_register(w.pair.b.context, memory.data(), memory.size(), VBN_ACCESS_WRITE, &mem) == VBN_OK);
    MUST(vbn_key_export(mem, 0, memory.size(), VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
    MUST(vbn_key_import(w.pair.a.peer, blob, length, &key) == VBN_OK);
    op = {};
    MUST(vbn_put(key, 0, &w.iov, 1, &op) == VBN_INPROGRESS && w.queued() == SIZE);
    MUST(w.pair.finish(VBN_INPROGRESS, op) == VBN_OK && w.queued() == 0);
    vbn_key_release(key);
    MUST(vbn_mem_free(mem) == VBN_OK);
    w.pair.close();
}

struct BacklogTest {
    const char *name;
    void (*run)(const char *transports, size_t size);
};

inline const BacklogTest BACKLOG_TESTS[] = {
    {"what_waits_is_counted_and_then_it_is_not", what_waits_is_counted_and_then_it_is_not},
    {"the_mark_is_told_of_once_each_time", the_mark_is_told_of_once_each_time},
    {"a_writer_goes_on_when_it_is_told", a_writer_goes_on_when_it_is_told},
    {"a_lost_peer_is_not_told_of", a_lost_peer_is_not_told_of},
    {"disconnect_removes_the_mark", disconnect_removes_the_mark},
    {"the_callback_may_end_the_peer", the_callback_may_end_the_peer},
    {"of_many_pieces_and_of_puts_the_bytes_count_too", of_many_pieces_and_of_puts_the_bytes_count_too},
};

} // namespace multi
#endif
