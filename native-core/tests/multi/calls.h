/* SPDX-License-Identifier: Apache-2.0
 * calls.h - random calls of every public function, two workers in one process, held against a model. Properties:
 *   C1 every operation ends once, with the status that the model expects;
 *   C2 messages come once, whole, and in order: active ones per sender, tagged ones per sender and tag;
 *   C3 after its completion a put is in the owner's memory and a get has brought what the model says;
 *   C4 atomics and signals add up;
 *   C5 wrong arguments are refused and change nothing;
 *   C6 everything can be closed afterwards.
 * A seed that fails is printed; VBN_TEST_SEED=n repeats it alone. */
#ifndef VBN_TESTS_MULTI_CALLS_H
#define VBN_TESTS_MULTI_CALLS_H

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>

#include "pair.h"

namespace multi {

using Bytes = std::vector<uint8_t>;

constexpr size_t SLOT = 32768; /* bytes that one operation at a time may touch */
constexpr unsigned SLOTS = 3;  /* of each direction and sort of memory */
constexpr size_t WORDS = 256;  /* bytes of counters behind the slots */
constexpr size_t REGION = SLOTS * SLOT + WORDS;
constexpr size_t SIGNALS = REGION - 64, SUMS = REGION - WORDS;

class World;

/* One operation under way. */
struct Call {
    vbn_op_t op{};
    World *world = nullptr;
    Bytes data, header;
    std::vector<iovec> iov;
    vbn_pack_t pack{};
    vbn_strided_t blocks{};
    vbn_tag_info_t info{};
    uint64_t before = 0;
    size_t length = 0;                    /* expected */
    std::function<void(Call &)> finished; /* checks; may be empty */
    bool ended = false;
    static void done(vbn_op_t *op, vbn_status_t status, size_t length);
    static void packs(void *arg, size_t offset, void *buffer, size_t length)
    {
        std::memcpy(buffer, static_cast<Call *>(arg)->data.data() + offset, length);
    }
    static void unpacks(void *arg, size_t offset, const void *buffer, size_t length)
    {
        std::memcpy(static_cast<Call *>(arg)->data.data() + offset, buffer, length);
    }
};

/* What one side expects of the other, and its memory there. */
struct Side {
    Half *half = nullptr;
    vbn_mem_t *mems[2] = {}; /* allocated (may be mapped by the other), registered (by packets) */
    Bytes own;               /* the registered one */
    vbn_key_t *keys[2] = {}; /* of the other side's memories */
    Bytes model[2];          /* what the other side's memories hold in the slots of this side */
    bool busy[2][SLOTS] = {};
    uint64_t sums[2] = {}, signals[2] = {}; /* added to the other side's words */
    std::deque<Bytes> messages;             /* sent to this side and not arrived */
    std::map<uint64_t, std::deque<Bytes>> tagged;
    std::vector<vbn_am_remote_t *> remotes;
    std::deque<Bytes> announced; /* contents of remotes */
};

class World {
public:
    /* Over self there is one side only, which talks to itself. */
    World(const char *transport, uint64_t seed_)
        : pair(transport), random(seed_), count(std::strcmp(transport, "self") == 0 ? 1 : 2)
    {
        sides[0].half = &pair.a;
        sides[1].half = &pair.b;
        for (unsigned i = 0; i < count; i++) {
            MUST(vbn_am_handler(sides[i].half->worker, 2, on_message, this) == VBN_OK);
            vbn_worker_set_peer_lost(sides[i].half->worker, nullptr, nullptr);
            MUST(sides[i].half->connect(*sides[other(i)].half) == VBN_OK);
            make_memory(sides[i]);
        }
        for (unsigned i = 0; i < count; i++)
            import_keys(sides[i], sides[other(i)]);
    }
    Pair pair;
    std::mt19937_64 random;
    unsigned count; /* of sides in use */
    Side sides[2];
    unsigned other(unsigned side) const { return count == 1 ? side : 1 - side; }
    std::vector<std::unique_ptr<Call>> calls;
    unsigned pending = 0;

    size_t draw(size_t below) { return static_cast<size_t>(random() % below); }
    Bytes fill(size_t size)
    {
        Bytes data(size);
        uint64_t seed = random();
        for (size_t i = 0; i < size; i++)
            data[i] = static_cast<uint8_t>(seed >> (i % 8 * 8)) ^ static_cast<uint8_t>(i >> 3);
        return data;
    }
    size_t size()
    {
        static const size_t SIZES[] = {0, 1, 8, 63, 64, 65, 300, 4096, 4097, 9000, SLOT};
        return SIZES[draw(sizeof(SIZES) / sizeof(SIZES[0]))];
    }

    void make_memory(Side &side)
    {
        side.own.assign(REGION, 0);
        MUST(vbn_mem_alloc(side.half->context, REGION, VBN_BACKING_MEMFD, nullptr, &side.mems[0]) == VBN_OK);
        MUST(vbn_mem_register(side.half->context, side.own.data(), REGION, VBN_ACCESS_READ | VBN_ACCESS_WRITE,
                              &side.mems[1]) == VBN_OK);
        MUST(vbn_mem_size(side.mems[0]) >= REGION && vbn_mem_address(side.mems[1]) == side.own.data());
    }
    void import_keys(Side &side, Side &owner)
    {
        for (unsigned m = 0; m < 2; m++) {
            uint8_t blob[VBN_KEY_MAX];
            size_t length = sizeof(blob);
            MUST(vbn_key_export(owner.mems[m], 0, REGION, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
            MUST(vbn_key_import(side.half->peer, blob, length, &side.keys[m]) == VBN_OK);
            if (side.model[m].empty())
                side.model[m].assign(REGION, 0);
        }
    }

    Call &make(Bytes data)
    {
        calls.push_back(std::make_unique<Call>());
        Call &call = *calls.back();
        call.world = this;
        call.op.done = Call::done;
        call.op.user = &call;
        call.data = std::move(data);
        call.length = call.data.size();
        return call;
    }
    /* Buffers of the call's data: packed, or 1 to 20 pieces. */
    std::pair<const iovec *, size_t> buffers(Call &call)
    {
        if (draw(8) == 0) {
            call.pack = {Call::packs, Call::unpacks, &call, call.data.size()};
            return {vbn_packed(&call.pack), VBN_PACK};
        }
        size_t pieces = draw(4) == 0 ? 1 + draw(20) : 1, at = 0;
        for (size_t i = 0; i < pieces; i++) {
            size_t length = i + 1 == pieces ? call.data.size() - at : draw(call.data.size() - at + 1);
            call.iov.push_back({call.data.data() + at, length});
            at += length;
        }
        return {call.iov.data(), pieces};
    }
    void issued(Call &call, vbn_status_t status)
    {
        MUST(status >= 0);
        if (status == VBN_OK) {
            MUST(call.op.complete == 1 && call.op.status == VBN_OK);
            call.ended = true;
            if (call.finished)
                call.finished(call);
        } else {
            pending++;
        }
    }

    unsigned stages() { return draw(6) == 0 ? VBN_SEND_CHECKSUM : 0; }
    void send_message(unsigned from)
    {
        Side &side = sides[from];
        Call &call = make(fill(size()));
        call.header = fill(draw(VBN_AM_HEADER_MAX + 1));
        Bytes whole = call.header;
        whole.insert(whole.end(), call.data.begin(), call.data.end());
        sides[other(from)].messages.push_back(whole);
        auto [iov, pieces] = buffers(call);
        issued(call, vbn_am_send(side.half->peer, 2, call.header.data(), call.header.size(), iov, pieces,
                                 (draw(4) == 0 ? VBN_AM_PULL : 0) | stages(), &call.op));
    }
    static void on_message(void *arg, const vbn_am_message_t *m)
    {
        auto *world = static_cast<World *>(arg);
        Side &side = world->sides[m->peer == world->pair.a.peer ? 0 : 1];
        MUST(!side.messages.empty());
        Bytes expected = side.messages.front();
        side.messages.pop_front();
        MUST(expected.size() == m->header_length + m->length);
        MUST(m->header_length == 0 || std::memcmp(m->header, expected.data(), m->header_length) == 0);
        expected.erase(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(m->header_length));
        if (m->remote == nullptr) {
            MUST(m->length == 0 || std::memcmp(m->data, expected.data(), m->length) == 0);
            return;
        }
        side.remotes.push_back(m->remote);
        side.announced.push_back(expected);
    }
    void pull_one(unsigned at, bool drop)
    {
        Side &side = sides[at];
        if (side.remotes.empty())
            return;
        size_t index = draw(side.remotes.size());
        vbn_am_remote_t *remote = side.remotes[index];
        Bytes expected = side.announced[index];
        side.remotes.erase(side.remotes.begin() + static_cast<ptrdiff_t>(index));
        side.announced.erase(side.announced.begin() + static_cast<ptrdiff_t>(index));
        if (drop)
            return vbn_am_drop(remote);
        Call &call = make(Bytes(expected.size(), 0xEE));
        if (!expected.empty()) { /* C5: too small a room leaves it where it is */
            iovec small{call.data.data(), expected.size() - 1};
            MUST(vbn_am_pull(remote, &small, 1, &call.op) == VBN_ERR_TRUNCATED);
        }
        call.finished = [expected](Call &c) { MUST(c.data == expected); };
        auto [iov, pieces] = buffers(call);
        issued(call, vbn_am_pull(remote, iov, pieces, &call.op));
    }

    void send_tagged(unsigned from)
    {
        uint64_t tag = draw(3);
        Call &call = make(fill(size()));
        sides[other(from)].tagged[tag].push_back(call.data);
        auto [iov, pieces] = buffers(call);
        issued(call, vbn_tag_send(sides[from].half->peer, tag, iov, pieces,
                                  (draw(3) == 0 ? VBN_TAG_SYNC : 0) | stages(), &call.op));
    }
    /* Only tags of which something is on its way, and one receive of a tag at a time: the model knows its message. */
    void receive_tagged(unsigned at)
    {
        Side &side = sides[at];
        uint64_t tag = draw(3);
        if (side.tagged[tag].empty())
            return;
        Bytes expected = side.tagged[tag].front();
        side.tagged[tag].pop_front();
        vbn_peer_t *from = draw(2) == 0 ? nullptr : side.half->peer;
        uint64_t mask = draw(2) == 0 ? UINT64_MAX : 3;
        Call &call = make(Bytes(expected.size(), 0xEE));
        vbn_tag_message_t *message = nullptr;
        bool probe = draw(3) == 0;
        call.finished = [expected, tag](Call &c) {
            MUST(c.data == expected && c.info.tag == tag && c.info.length == expected.size());
        };
        if (probe && !pair.until([&] {
                return vbn_tag_probe(side.half->worker, from, tag, mask, &call.info, &message) == VBN_OK;
            }))
            MUST(!"a message that was sent can be probed");
        auto [iov, pieces] = buffers(call);
        issued(call, probe ? vbn_tag_mrecv(message, iov, pieces, &call.info, &call.op)
                           : vbn_tag_recv(side.half->worker, from, tag | (mask == 3 ? 0xF0 : 0), mask, iov, pieces,
                                          &call.info, &call.op));
        MUST(pair.until([&] { return call.ended; }));
    }
    void cancel_receive(unsigned at)
    {
        Call &call = make(Bytes(8));
        iovec iov{call.data.data(), 8};
        MUST(vbn_tag_recv(sides[at].half->worker, nullptr, 99, UINT64_MAX, &iov, 1, nullptr, &call.op) ==
             VBN_INPROGRESS);
        MUST(vbn_tag_cancel(&call.op) == VBN_OK && call.op.status == VBN_ERR_CLOSED);
        call.ended = true;
    }

    /* A slot that nothing is under way to; SLOTS when there is none. */
    unsigned free_slot(const Side &side, unsigned m)
    {
        unsigned slot = static_cast<unsigned>(draw(SLOTS));
        return side.busy[m][slot] ? SLOTS : slot;
    }
    void one_sided(unsigned from)
    {
        Side &side = sides[from];
        unsigned m = static_cast<unsigned>(draw(2)), slot = free_slot(side, m);
        if (slot == SLOTS)
            return;
        size_t length = size(), room = SLOT - length, at = slot * SLOT + (room == 0 ? 0 : draw(room + 1));
        Call &call = make(fill(length));
        uint8_t *model = side.model[m].data() + at;
        bool *busy = &side.busy[m][slot];
        *busy = true;
        unsigned what = static_cast<unsigned>(draw(5));
        if (what < 2) { /* get */
            Bytes expected(model, model + length);
            call.finished = [expected, busy](Call &c) {
                MUST(c.data == expected);
                *busy = false;
            };
        } else {
            std::copy(call.data.begin(), call.data.end(), model);
            call.finished = [busy](Call &) { *busy = false; };
        }
        vbn_signal_t signal{side.keys[m], SIGNALS + 8 * from, VBN_ATOMIC_ADD, draw(100)};
        auto [iov, pieces] = buffers(call);
        if (what < 2) {
            issued(call, vbn_get(side.keys[m], at, iov, pieces, &call.op));
        } else if (what == 2) {
            side.signals[m] += signal.value;
            issued(call, vbn_put_signal(side.keys[m], at, iov, pieces, &signal, &call.op));
        } else {
            issued(call, vbn_put(side.keys[m], at, iov, pieces, &call.op));
        }
    }
    void strided(unsigned from)
    {
        Side &side = sides[from];
        unsigned m = static_cast<unsigned>(draw(2)), slot = free_slot(side, m);
        if (slot == SLOTS)
            return;
        size_t block = 1 + draw(40), blocks = 1 + draw(200), stride = block + draw(60), at = slot * SLOT;
        bool get = draw(2) == 0, backwards = draw(2) == 0;
        Call &call = make(fill(block * blocks));
        bool *busy = &side.busy[m][slot];
        *busy = true;
        call.blocks = {call.data.data() + (backwards ? (blocks - 1) * block : 0), block, blocks,
                       backwards ? -static_cast<ptrdiff_t>(block) : static_cast<ptrdiff_t>(block), stride};
        Bytes expected = call.data;
        for (size_t i = 0; i < blocks; i++) {
            uint8_t *there = side.model[m].data() + at + i * stride;
            size_t here = (backwards ? blocks - 1 - i : i) * block;
            if (get)
                std::copy(there, there + block, expected.begin() + static_cast<ptrdiff_t>(here));
            else
                std::copy(call.data.begin() + static_cast<ptrdiff_t>(here),
                          call.data.begin() + static_cast<ptrdiff_t>(here + block), there);
        }
        call.finished = [expected, busy](Call &c) {
            MUST(c.data == expected);
            *busy = false;
        };
        issued(call, get ? vbn_get_strided(side.keys[m], at, &call.blocks, &call.op)
                         : vbn_put_strided(side.keys[m], at, &call.blocks, &call.op));
    }
    void atomic(unsigned from)
    {
        Side &side = sides[from];
        unsigned m = static_cast<unsigned>(draw(2));
        uint64_t value = draw(1000);
        Call &call = make({});
        call.length = 8;
        side.sums[m] += value;
        uint64_t *before = draw(2) == 0 ? &call.before : nullptr;
        issued(call, vbn_atomic(side.keys[m], SUMS, VBN_ATOMIC_ADD, 8, value, 0, before, &call.op));
    }
    void flush(unsigned from)
    {
        Call &call = make({});
        switch (draw(3)) {
        case 0: issued(call, vbn_flush(sides[from].half->peer, &call.op)); break;
        case 1: issued(call, vbn_flush_all(sides[from].half->worker, &call.op)); break;
        default: call.ended = true; MUST(vbn_fence(sides[from].half->worker) == VBN_OK);
        }
    }
    void new_keys(unsigned at)
    {
        settle();
        for (vbn_key_t *key : sides[at].keys)
            vbn_key_release(key);
        import_keys(sides[at], sides[other(at)]);
    }
    /* Memory comes and goes; keys of what went are stale, in the call or in its completion. */
    void stale_key(unsigned from)
    {
        Side &side = sides[from], &owner = sides[other(from)];
        Bytes memory(5000);
        vbn_mem_t *mem = nullptr;
        vbn_key_t *key = nullptr;
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST((draw(2) == 0
                  ? vbn_mem_alloc(owner.half->context, 5000, VBN_BACKING_MEMFD, nullptr, &mem)
                  : vbn_mem_register(owner.half->context, memory.data(), 5000, VBN_ACCESS_READ, &mem)) == VBN_OK);
        MUST(vbn_key_export(mem, 100, 1000, VBN_ACCESS_READ, blob, &length) == VBN_OK);
        MUST(vbn_mem_revoke(mem) == VBN_OK);
        MUST(vbn_mem_invalidate(owner.half->context, memory.data(), memory.size()) == VBN_OK);
        MUST(vbn_mem_free(mem) == VBN_OK);
        vbn_status_t status = vbn_key_import(side.half->peer, blob, length, &key);
        if (status < 0)
            return;
        vbn_op_t op{};
        iovec iov{memory.data(), 1000};
        status = pair.finish(vbn_get(key, 0, &iov, 1, &op), op);
        MUST(status == VBN_ERR_STALE);
        vbn_key_release(key);
    }
    void second_reference(unsigned at)
    {
        vbn_peer_t *again = nullptr;
        uint8_t blob[VBN_ADDRESS_MAX];
        size_t length = sizeof(blob);
        Half &half = *sides[at].half;
        MUST(vbn_worker_address(sides[other(at)].half->worker, blob, &length) == VBN_OK);
        MUST(vbn_connect(half.worker, blob, length, nullptr, nullptr, &again) == VBN_OK && again == half.peer);
        vbn_peer_set_user(again, this);
        MUST(vbn_peer_user(half.peer) == this && vbn_peer_uid(again) != 0);
        vbn_disconnect(again, VBN_CLOSE_FLUSH);
    }
    void wrong_arguments(unsigned at)
    {
        Side &side = sides[at];
        vbn_op_t op{};
        iovec iov{side.own.data(), 8}, none{nullptr, 8};
        vbn_signal_t signal{side.keys[0], SIGNALS, VBN_ATOMIC_CAS, 1};
        vbn_strided_t blocks{side.own.data(), 16, 4, 16, 8};
        MUST(vbn_am_send(side.half->peer, VBN_AM_IDS, nullptr, 0, &iov, 1, 0, &op) == VBN_ERR_INVALID);
        MUST(vbn_am_send(side.half->peer, 2, nullptr, 0, &none, 1, 0, &op) == VBN_ERR_INVALID);
        MUST(vbn_am_send(nullptr, 2, nullptr, 0, &iov, 1, 0, &op) == VBN_ERR_INVALID);
        MUST(vbn_tag_send(side.half->peer, 0, &iov, 1, 0x8000, &op) == VBN_ERR_INVALID);
        MUST(vbn_tag_recv(nullptr, nullptr, 0, 0, &iov, 1, nullptr, &op) == VBN_ERR_INVALID);
        MUST(vbn_put(side.keys[0], REGION - 7, &iov, 1, &op) == VBN_ERR_RANGE);
        MUST(vbn_get(side.keys[1], SIZE_MAX, &iov, 1, &op) == VBN_ERR_RANGE);
        MUST(vbn_put_strided(side.keys[1], 0, &blocks, &op) == VBN_ERR_INVALID);
        MUST(vbn_put_signal(side.keys[0], 0, &iov, 1, &signal, &op) == VBN_ERR_INVALID);
        MUST(vbn_atomic(side.keys[0], SUMS + 4, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &op) == VBN_ERR_INVALID);
        MUST(vbn_atomic(side.keys[0], SUMS, VBN_ATOMIC_ADD, 4, UINT64_MAX, 0, nullptr, &op) == VBN_ERR_INVALID);
        MUST(vbn_am_handler(side.half->worker, 99, nullptr, nullptr) == VBN_ERR_INVALID);
        MUST(vbn_close(side.half->context) == VBN_ERR_INVALID);
        MUST(vbn_error_text()[0] != '\0');
    }
    void look(unsigned at)
    {
        char text[64];
        Half &half = *sides[at].half;
        uint32_t user = 0;
        vbn_status_t known = vbn_peer_host_user(half.peer, &user);
        MUST(known == VBN_OK ? user == geteuid() : known == VBN_ERR_UNSUPPORTED || known == VBN_ERR_PEER_LOST);
        MUST(vbn_explain(half.peer, text, sizeof(text)) > 0);
        MUST(vbn_explain_call(half.peer, static_cast<vbn_call_t>(draw(5)), size(), text, sizeof(text)) > 0);
        vbn_counter_t counters[4];
        MUST(vbn_counters(half.context, counters, 4) > 4 && counters[0].name != nullptr);
        vbn_worker_wake(half.worker);
        MUST(vbn_arm(half.worker) >= 0 && vbn_event_fd(half.worker) >= 0);
        MUST(std::strcmp(vbn_status_name(VBN_ERR_STALE), "VBN_ERR_STALE") == 0);
        if (vbn_key_pointer(sides[at].keys[0]) != nullptr)
            MUST(vbn_key_pointer(sides[at].keys[1]) == nullptr);
    }

    /* C1: all that was issued has ended. Pulls and receives what waits first. */
    void settle()
    {
        for (unsigned at = 0; at < count; at++)
            for (auto &[tag, waiting] : sides[at].tagged)
                while (!waiting.empty())
                    receive_tagged(at);
        MUST(pair.until([&] {
            for (unsigned at = 0; at < count; at++)
                while (!sides[at].remotes.empty())
                    pull_one(at, false);
            return pending == 0 && sides[0].messages.empty() && sides[1].messages.empty();
        }));
        calls.clear();
    }
    void check_memory()
    {
        for (unsigned i = 0; i < count; i++) {
            Side &side = sides[i], &owner = sides[other(i)];
            for (unsigned m = 0; m < 2; m++) {
                const auto *memory = static_cast<const uint8_t *>(vbn_mem_address(owner.mems[m]));
                MUST(std::memcmp(memory, side.model[m].data(), SLOTS * SLOT) == 0);
                uint64_t sum, signals;
                std::memcpy(&sum, memory + SUMS, 8);
                std::memcpy(&signals, memory + SIGNALS + 8 * i, 8);
                MUST(sum == side.sums[m] && signals == side.signals[m]);
            }
        }
    }
    void act()
    {
        unsigned at = static_cast<unsigned>(draw(count));
        switch (draw(20)) {
        case 0:
        case 1:
        case 2: return send_message(at);
        case 3: return pull_one(at, draw(4) == 0);
        case 4:
        case 5: return send_tagged(at);
        case 6: return receive_tagged(at);
        case 7:
        case 8:
        case 9: return one_sided(at);
        case 10:
        case 11: return strided(at);
        case 12: return atomic(at);
        case 13: return flush(at);
        case 14: return draw(10) == 0 ? new_keys(at) : look(at);
        case 15: return draw(4) == 0 ? stale_key(at) : wrong_arguments(at);
        case 16: return draw(4) == 0 ? second_reference(at) : cancel_receive(at);
        default: return pair.turn();
        }
    }
    void run(unsigned steps)
    {
        for (unsigned i = 0; i < steps; i++) {
            act();
            if (i % 100 == 99) {
                settle();
                check_memory();
            }
        }
        settle();
        check_memory();
    }
    void close()
    {
        for (Side &side : sides)
            for (vbn_key_t *key : side.keys)
                vbn_key_release(key);
        for (Side &side : sides)
            for (vbn_mem_t *mem : side.mems)
                MUST(vbn_mem_free(mem) == VBN_OK);
        MUST(pair.a.lost == VBN_OK && pair.b.lost == VBN_OK);
        pair.close();
    }
};

/* The seeds of a run: the one that VBN_TEST_SEED names, else 1 to `usual`. It is no setting: contexts would refuse it. */
struct Seeds {
    uint64_t first = 1, last;
    explicit Seeds(uint64_t usual) : last(usual)
    {
        static const char *text = std::getenv("VBN_TEST_SEED");
        static const uint64_t only = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
        unsetenv("VBN_TEST_SEED");
        if (only != 0)
            first = last = only;
    }
};

inline void Call::done(vbn_op_t *op, vbn_status_t status, size_t length)
{
    auto *call = static_cast<Call *>(op->user);
    MUST(!call->ended && op->complete == 1 && status == VBN_OK);
    MUST(length == call->length || length == 0); /* 0: the receiver dropped it */
    call->ended = true;
    call->world->pending--;
    if (call->finished)
        call->finished(*call);
}

} // namespace multi
#endif
