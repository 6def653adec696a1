/* SPDX-License-Identifier: Apache-2.0
 * freed.h - memory that its owner frees or revokes while a peer writes or reads it: from that moment on nothing may
 * touch it, so the owner takes its pages away, or fills them with other bytes, at once. */
#ifndef VBN_TESTS_MULTI_FREED_H
#define VBN_TESTS_MULTI_FREED_H

#include <random>
#include <thread>

#include "pair.h"

namespace multi {

constexpr size_t FREED_BYTES = 1 << 20;
constexpr unsigned BEGUN = UINT32_MAX; /* as many turns as it takes until the first byte is there */

enum class End { FREE, REVOKE };   /* how it is given up */
enum class Then { UNMAP, REFILL }; /* what becomes of it */

inline uint8_t freed_byte(size_t i)
{
    return static_cast<uint8_t>(1 + (i * 31 + (i >> 11)) % 200); /* never 0, never REFILLED */
}
constexpr uint8_t REFILLED = 0xEE;

/* Memory of the user's own, registered. */
class Victim {
public:
    uint8_t *bytes;
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;

    Victim(Half &owner, vbn_peer_t *reader)
    {
        void *map = mmap(nullptr, FREED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(map != MAP_FAILED);
        bytes = static_cast<uint8_t *>(map);
        MUST(vbn_mem_register(owner.context, bytes, FREED_BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, &mem) == VBN_OK);
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_key_export(mem, 0, FREED_BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
        MUST(vbn_key_import(reader, blob, length, &key) == VBN_OK);
    }
    void give_up(End end, Then then)
    {
        MUST((end == End::FREE ? vbn_mem_free(mem) : vbn_mem_revoke(mem)) == VBN_OK);
        if (then == Then::UNMAP)
            MUST(mprotect(bytes, FREED_BYTES, PROT_NONE) == 0);
        else
            std::memset(bytes, REFILLED, FREED_BYTES);
    }
    /* After the operation has ended. */
    void close(End end, Then then)
    {
        for (size_t i = 0; then == Then::REFILL && i < FREED_BYTES; i++)
            MUST(bytes[i] == REFILLED);
        vbn_key_release(key);
        if (end == End::REVOKE)
            MUST(vbn_mem_free(mem) == VBN_OK);
        MUST(munmap(bytes, FREED_BYTES) == 0);
    }
};

/* a reaches b's memory; over self a is both. */
class Freed {
public:
    Pair pair;
    Half &owner;
    std::mt19937 random{7};
    vbn_op_t op{};

    explicit Freed(const char *transports)
        : pair(transports), owner(std::strcmp(transports, "self") == 0 ? pair.a : pair.b), data(FREED_BYTES)
    {
        MUST(pair.a.connect(owner) == VBN_OK);
        for (size_t i = 0; i < FREED_BYTES; i++)
            data[i] = freed_byte(i);
        put_some();
    }
    /* Some turns after it began the memory goes. True: the put had begun and was not over. */
    bool put(End end, Then then, unsigned turns)
    {
        Victim victim(owner, pair.a.peer);
        iovec iov{data.data(), FREED_BYTES};
        vbn_status_t status = vbn_put(victim.key, 0, &iov, 1, &op);
        for (unsigned i = 0; i < turns && turns != BEGUN; i++)
            pair.turn();
        MUST(turns != BEGUN || pair.until([&] { return victim.bytes[0] != 0; }));
        bool between = victim.bytes[0] != 0 && victim.bytes[FREED_BYTES - 1] == 0;
        victim.give_up(end, then);
        status = pair.finish(status, op);
        MUST(status == VBN_ERR_STALE || (status == VBN_OK && !between));
        MUST(pair.a.lost == VBN_OK && pair.b.lost == VBN_OK);
        victim.close(end, then);
        return between;
    }
    /* The reader stands still: answers wait in the owner. */
    void get(End end, Then then, unsigned turns)
    {
        Victim victim(owner, pair.a.peer);
        std::memcpy(victim.bytes, data.data(), FREED_BYTES);
        std::vector<uint8_t> into(FREED_BYTES);
        iovec iov{into.data(), FREED_BYTES};
        vbn_status_t status = vbn_get(victim.key, 0, &iov, 1, &op);
        for (unsigned i = 0; i < turns; i++) {
            (void)vbn_progress(owner.worker);
            if (i % 4 == 3)
                (void)vbn_progress(pair.a.worker);
        }
        victim.give_up(end, then);
        status = pair.finish(status, op);
        MUST(status == VBN_ERR_STALE || status == VBN_OK);
        for (size_t i = 0; i < FREED_BYTES; i++)
            MUST(into[i] == data[i] || (into[i] == 0 && status != VBN_OK));
        MUST(pair.a.lost == VBN_OK && pair.b.lost == VBN_OK);
        victim.close(end, then);
    }
    /* Every way to give it up, after any number of turns up to the end of the operation. */
    void all()
    {
        for (End end : {End::FREE, End::REVOKE})
            for (Then then : {Then::UNMAP, Then::REFILL})
                for (unsigned turns = 0; turns < 24; turns++) {
                    (void)put(end, then, turns);
                    get(end, then, turns);
                }
    }
    void close() { pair.close(); }

private:
    std::vector<uint8_t> data;

    void put_some() /* connects, and sizes buffers */
    {
        Victim victim(owner, pair.a.peer);
        iovec iov{data.data(), FREED_BYTES};
        MUST(pair.finish(vbn_put(victim.key, 0, &iov, 1, &op), op) == VBN_OK);
        MUST(std::memcmp(victim.bytes, data.data(), FREED_BYTES) == 0);
        victim.give_up(End::FREE, Then::REFILL);
        victim.close(End::FREE, Then::REFILL);
    }
};

/* Puts and gets of all sizes by one thread, while another gives the memory up as they run and takes its pages away. */
inline void freed_by_another_thread(const char *transports, unsigned rounds)
{
    Freed f(transports);
    std::vector<uint8_t> buffer(FREED_BYTES, 1);
    for (unsigned round = 0; round < rounds; round++) {
        Victim victim(f.owner, f.pair.a.peer);
        std::memset(victim.bytes, 1, FREED_BYTES);
        End end = round % 2 == 0 ? End::FREE : End::REVOKE;
        std::atomic<unsigned> begun{0};
        std::atomic<bool> gone{false};
        unsigned wait_for = round % 7;
        std::thread owner([&] {
            while (begun < wait_for)
                std::this_thread::yield();
            victim.give_up(end, Then::UNMAP);
            gone = true;
        });
        for (bool late = false; !late;) {
            constexpr unsigned TOGETHER = 6;
            vbn_op_t ops[TOGETHER] = {};
            iovec iov[TOGETHER];
            vbn_status_t status[TOGETHER];
            late = gone;
            for (unsigned i = 0; i < TOGETHER; i++) {
                iov[i] = {buffer.data(), 1 + f.random() % (round % 3 == 0 ? 20000 : FREED_BYTES)};
                status[i] = i % 3 == 0 ? vbn_put(victim.key, 0, &iov[i], 1, &ops[i])
                                       : vbn_get(victim.key, 0, &iov[i], 1, &ops[i]);
            }
            begun++;
            for (unsigned i = 0; i < TOGETHER; i++) {
                status[i] = f.pair.finish(status[i], ops[i]);
                MUST(status[i] == VBN_ERR_STALE || (status[i] == VBN_OK && !late));
            }
        }
        owner.join();
        MUST(f.pair.a.lost == VBN_OK && f.pair.b.lost == VBN_OK);
        for (uint8_t byte : buffer)
            MUST(byte == 1);
        victim.close(end, Then::UNMAP);
    }
    f.close();
}

} // namespace multi
#endif
