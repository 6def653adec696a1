/* SPDX-License-Identifier: Apache-2.0
 * nested.h - vbn_progress inside callbacks, over any transport: handlers, completions and the ends of large gets and puts call it
 * while the outer call delivers. Everything arrives once, whole and in order. tests/verbs uses it, too. */
#ifndef VBN_TESTS_MULTI_NESTED_H
#define VBN_TESTS_MULTI_NESTED_H

#include "pair.h"

namespace multi {

class Nested {
public:
    static constexpr size_t BYTES = 1 << 20;
    static constexpr uint64_t MESSAGES = 400;
    static constexpr size_t MOVES = 4; /* gets, and as many puts */

    Pair pair;

    explicit Nested(const char *transports)
        : pair(transports), other(std::strcmp(transports, "self") == 0 ? pair.a : pair.b), owned(BYTES),
          local(2 * MOVES)
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(pair.a.connect(other) == VBN_OK);
        MUST(vbn_am_handler(other.worker, 2, on_numbered, this) == VBN_OK);
        MUST(vbn_mem_register(other.context, owned.data(), BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
        MUST(vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
        for (size_t i = 0; i < BYTES; i++)
            owned[i] = pattern(i);
    }

    void run()
    {
        for (size_t i = 0; i < local.size(); i++)
            move(i);
        while (sent < MESSAGES) {
            send();
            pair.turn();
        }
        MUST(pair.until([&] { return received == MESSAGES && ended == MESSAGES + 2 * MOVES; }));
        for (size_t i = 0; i < MOVES; i++)
            for (size_t at = 0; at < BYTES; at++)
                MUST(local[i][at] == pattern(at));
        for (size_t at = 0; at < BYTES; at++)
            MUST(owned[at] == pattern(at));
        MUST(pair.a.lost == VBN_OK && pair.b.lost == VBN_OK);
        vbn_key_release(key);
        vbn_mem_free(mem);
        pair.close();
    }

private:
    struct Op { /* the operation stands first */
        vbn_op_t op{};
        Nested *owner = nullptr;
        uint64_t number = 0;
        iovec iov{};
    };

    Half &other;
    std::vector<uint8_t> owned;
    std::vector<std::vector<uint8_t>> local;
    std::vector<std::unique_ptr<Op>> ops;
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    uint64_t sent = 0, received = 0, ended = 0;

    static uint8_t pattern(size_t at) { return static_cast<uint8_t>(at * 31 + at / 4093); }

    void nested()
    {
        (void)vbn_progress(pair.a.worker);
        (void)vbn_progress(pair.b.worker);
    }
    static void on_numbered(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Nested *>(arg);
        uint64_t number = 0;
        MUST(message->remote == nullptr && message->length == sizeof(number));
        memcpy(&number, message->data, sizeof(number));
        MUST(number == self->received++);
        self->nested();
    }
    static void on_end(vbn_op_t *op, vbn_status_t status, size_t)
    {
        auto *self = reinterpret_cast<Op *>(op)->owner;
        MUST(status == VBN_OK);
        self->ended++;
        self->nested();
    }
    Op &fresh(void *data, size_t bytes)
    {
        ops.push_back(std::make_unique<Op>());
        Op &one = *ops.back();
        one.owner = this;
        one.op.done = on_end;
        one.iov = {data, bytes};
        return one;
    }
    void count(vbn_status_t status)
    {
        MUST(status >= 0);
        ended += status == VBN_OK;
    }
    void move(size_t i)
    {
        local[i].resize(BYTES);
        bool get = i < MOVES;
        for (size_t at = 0; at < BYTES && !get; at++)
            local[i][at] = pattern(at);
        Op &one = fresh(local[i].data(), BYTES);
        count(get ? vbn_get(key, 0, &one.iov, 1, &one.op) : vbn_put(key, 0, &one.iov, 1, &one.op));
    }
    void send()
    {
        Op &one = fresh(nullptr, sizeof(uint64_t));
        one.number = sent++;
        one.iov.iov_base = &one.number;
        count(vbn_am_send(pair.a.peer, 2, nullptr, 0, &one.iov, 1, 0, &one.op));
    }
};

} // namespace multi
#endif
