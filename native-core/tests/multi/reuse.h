/* SPDX-License-Identifier: Apache-2.0
 * reuse.h - every kind of operation, each in every way it can travel, as a table: what the tests share that use one
 * vbn_op_t for all of them, one after the other, and never zero it again. */
#ifndef VBN_TESTS_MULTI_REUSE_H
#define VBN_TESTS_MULTI_REUSE_H

#include "pair.h"

namespace multi {

constexpr size_t REUSE_BYTES = 192 << 10; /* of each memory, and of a large operation */
constexpr unsigned CROWD = 600;           /* messages in front of one that has to wait: more than any link's credits */

/* a issues; b owns the memory, and answers. Over self a is both. */
class Reuse {
public:
    Pair pair;
    Half &other;
    vbn_op_t op{}; /* the one */
    vbn_mem_t *shared = nullptr, *registered = nullptr, *revoked = nullptr, *local = nullptr;
    vbn_key_t *keys[3] = {}; /* of shared (mapped, or served by a device), of registered (by packets), of revoked */
    std::vector<uint8_t> users, heap;
    const char *doing = "nothing";

    explicit Reuse(const char *transports)
        : pair(transports), other(std::strcmp(transports, "self") == 0 ? pair.a : pair.b), users(REUSE_BYTES),
          heap(REUSE_BYTES)
    {
        MUST(pair.a.connect(other) == VBN_OK);
        if (&other != &pair.a)
            MUST(pair.b.connect(pair.a) == VBN_OK);
        MUST(vbn_am_handler(other.worker, 2, on_large, this) == VBN_OK);
        MUST(vbn_am_handler(pair.a.worker, 3, on_announced, this) == VBN_OK);
        MUST(vbn_mem_alloc(other.context, REUSE_BYTES, VBN_BACKING_MEMFD, nullptr, &shared) == VBN_OK);
        MUST(vbn_mem_register(other.context, users.data(), users.size(), VBN_ACCESS_READ | VBN_ACCESS_WRITE,
                              &registered) == VBN_OK);
        MUST(vbn_mem_alloc(pair.a.context, REUSE_BYTES, VBN_BACKING_MEMFD, nullptr, &local) == VBN_OK);
        import_key(shared, &keys[0]);
        import_key(registered, &keys[1]);
        MUST(vbn_mem_register(other.context, users.data(), users.size(), VBN_ACCESS_READ | VBN_ACCESS_WRITE,
                              &revoked) == VBN_OK);
        import_key(revoked, &keys[2]);
        MUST(vbn_mem_revoke(revoked) == VBN_OK);
        message(ours(), 8, 1, 0);
    }
    uint8_t *ours() { return static_cast<uint8_t *>(vbn_mem_address(local)); }

    void wait(vbn_status_t status, vbn_status_t wanted = VBN_OK)
    {
        status = pair.finish(status, op);
        if (status != wanted)
            std::fprintf(stderr, "%s ended with %s\n", doing, vbn_status_name(status));
        MUST(status == wanted && pair.a.lost == VBN_OK && pair.b.lost == VBN_OK);
    }
    void message(void *data, size_t size, unsigned id, unsigned flags, size_t pieces = 1)
    {
        std::vector<iovec> iov;
        for (size_t i = 0; i < pieces; i++)
            iov.push_back({static_cast<uint8_t *>(data) + size / pieces * i, size / pieces});
        wait(vbn_am_send(pair.a.peer, id, nullptr, 0, iov.data(), iov.size(), flags, &op));
    }
    /* Behind so many that it has to wait in the link. */
    void crowded(size_t size)
    {
        std::vector<vbn_op_t> crowd(CROWD);
        std::vector<vbn_status_t> started;
        const iovec each{ours(), 512}, iov{ours(), size};
        for (vbn_op_t &one : crowd)
            started.push_back(vbn_am_send(pair.a.peer, 1, nullptr, 0, &each, 1, 0, &one));
        wait(vbn_am_send(pair.a.peer, 1, nullptr, 0, &iov, 1, 0, &op));
        for (unsigned i = 0; i < CROWD; i++)
            MUST(pair.finish(started[i], crowd[i]) == VBN_OK);
    }
    void get(unsigned key, void *to, size_t size)
    {
        iovec iov{to, size};
        wait(vbn_get(keys[key], 0, &iov, 1, &op));
    }
    void put(unsigned key, void *from, size_t size)
    {
        iovec iov{from, size};
        wait(vbn_put(keys[key], 0, &iov, 1, &op));
    }
    void blocks(unsigned key, bool gets)
    {
        const vbn_strided_t blocks{heap.data(), 24, 50, 40, 64};
        wait(gets ? vbn_get_strided(keys[key], 0, &blocks, &op) : vbn_put_strided(keys[key], 0, &blocks, &op));
    }
    void packed(unsigned key, bool gets)
    {
        const vbn_pack_t pack{packs, unpacks, this, 20000};
        wait(gets ? vbn_get(keys[key], 0, vbn_packed(&pack), VBN_PACK, &op)
                  : vbn_put(keys[key], 0, vbn_packed(&pack), VBN_PACK, &op));
    }
    void signal(unsigned key, size_t size)
    {
        const vbn_signal_t signal{keys[key], REUSE_BYTES - 64, VBN_ATOMIC_ADD, 1};
        iovec iov{ours(), size};
        wait(vbn_put_signal(keys[key], 0, &iov, 1, &signal, &op));
    }
    void atomic(unsigned key)
    {
        uint64_t before;
        wait(vbn_atomic(keys[key], REUSE_BYTES - 8, VBN_ATOMIC_ADD, 8, 1, 0, &before, &op));
    }
    /* The owner refuses. */
    void refused(bool gets, size_t size)
    {
        iovec iov{ours(), size};
        wait(gets ? vbn_get(keys[2], 0, &iov, 1, &op) : vbn_put(keys[2], 0, &iov, 1, &op), VBN_ERR_STALE);
    }
    /* The other side receives what is sent with op. */
    void tag_send(void *data, size_t size, unsigned flags)
    {
        std::vector<uint8_t> into(size);
        vbn_op_t receive{};
        iovec to{into.data(), size}, from{data, size};
        vbn_status_t posted = vbn_tag_recv(other.worker, nullptr, 7, UINT64_MAX, &to, 1, nullptr, &receive);
        wait(vbn_tag_send(pair.a.peer, 7, &from, 1, flags, &op));
        MUST(pair.finish(posted, receive) == VBN_OK);
    }
    /* op receives what the other side sends: before it comes, or after (by a probe). */
    void tag_receive(void *into, size_t size, bool probed)
    {
        std::vector<uint8_t> data(size);
        vbn_op_t send{};
        vbn_tag_message_t *message = nullptr;
        iovec from{data.data(), size}, to{into, size};
        vbn_status_t posted = VBN_OK, sent;
        if (!probed)
            posted = vbn_tag_recv(pair.a.worker, nullptr, 9, UINT64_MAX, &to, 1, nullptr, &op);
        sent = vbn_tag_send(back(), 9, &from, 1, 0, &send);
        if (probed) {
            MUST(pair.until(
                [&] { return vbn_tag_probe(pair.a.worker, nullptr, 9, UINT64_MAX, nullptr, &message) == VBN_OK; }));
            posted = vbn_tag_mrecv(message, &to, 1, nullptr, &op);
        }
        wait(posted);
        MUST(pair.finish(sent, send) == VBN_OK);
    }
    void tag_cancel()
    {
        iovec to{heap.data(), 8};
        MUST(vbn_tag_recv(pair.a.worker, nullptr, 11, UINT64_MAX, &to, 1, nullptr, &op) == VBN_INPROGRESS);
        MUST(vbn_tag_cancel(&op) == VBN_OK && op.complete == 1);
    }
    /* op pulls what the other side announces. */
    void pull(void *into, size_t size)
    {
        std::vector<uint8_t> data(size);
        vbn_op_t send{};
        iovec from{data.data(), size}, to{into, size};
        vbn_status_t sent = vbn_am_send(back(), 3, nullptr, 0, &from, 1, VBN_AM_PULL, &send);
        MUST(pair.until([&] { return announced != nullptr; }));
        wait(vbn_am_pull(announced, &to, 1, &op));
        announced = nullptr;
        MUST(pair.finish(sent, send) == VBN_OK);
    }
    void flush(bool all) { wait(all ? vbn_flush_all(pair.a.worker, &op) : vbn_flush(pair.a.peer, &op)); }
    void close()
    {
        for (vbn_key_t *key : keys)
            vbn_key_release(key);
        for (vbn_mem_t *mem : {shared, registered, revoked, local})
            MUST(vbn_mem_free(mem) == VBN_OK);
        pair.close();
    }

private:
    vbn_am_remote_t *announced = nullptr;
    std::vector<uint8_t> pulled = std::vector<uint8_t>(REUSE_BYTES);
    vbn_op_t pull_op{};
    iovec pull_iov{};

    vbn_peer_t *back() { return &other == &pair.a ? pair.a.peer : pair.b.peer; }
    void import_key(vbn_mem_t *mem, vbn_key_t **key_p)
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_key_export(mem, 0, REUSE_BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
        MUST(vbn_key_import(pair.a.peer, blob, length, key_p) == VBN_OK);
    }
    static void on_large(void *arg, const vbn_am_message_t *message)
    {
        auto *self = static_cast<Reuse *>(arg);
        self->pull_iov = {self->pulled.data(), message->length};
        if (message->remote != nullptr)
            MUST(vbn_am_pull(message->remote, &self->pull_iov, 1, &self->pull_op) >= 0);
    }
    static void on_announced(void *arg, const vbn_am_message_t *message)
    {
        static_cast<Reuse *>(arg)->announced = message->remote;
    }
    static void packs(void *arg, size_t offset, void *buffer, size_t length)
    {
        std::memcpy(buffer, static_cast<Reuse *>(arg)->heap.data() + offset, length);
    }
    static void unpacks(void *arg, size_t offset, const void *buffer, size_t length)
    {
        std::memcpy(static_cast<Reuse *>(arg)->heap.data() + offset, buffer, length);
    }
};

struct Kind {
    const char *name;
    void (*run)(Reuse &r);
};

/* 64 KiB and more go by a device where there is one, by a mapping, or in many packets. */
inline const Kind KINDS[] = {
    {"am of 8 bytes", [](Reuse &r) { r.message(r.ours(), 8, 1, 0); }},
    {"am of 2000 bytes", [](Reuse &r) { r.message(r.heap.data(), 2000, 1, 0); }},
    {"am in place of 4000 bytes", [](Reuse &r) { r.message(r.ours(), 4000, 1, 0); }},
    {"am of 40 pieces", [](Reuse &r) { r.message(r.heap.data(), 4000, 1, 0, 40); }},
    {"am that waits for credits", [](Reuse &r) { r.crowded(600); }},
    {"announced am", [](Reuse &r) { r.message(r.heap.data(), REUSE_BYTES, 2, 0); }},
    {"announced am out of the core's memory", [](Reuse &r) { r.message(r.ours(), REUSE_BYTES, 2, 0); }},
    {"announced am with LZ4", [](Reuse &r) { r.message(r.heap.data(), REUSE_BYTES, 2, VBN_SEND_LZ4); }},
    {"announced am with a checksum", [](Reuse &r) { r.message(r.heap.data(), 100, 2, VBN_SEND_CHECKSUM); }},
    {"announced am that is dropped", [](Reuse &r) { r.message(r.heap.data(), 100, 1, VBN_AM_PULL); }},
    {"pull", [](Reuse &r) { r.pull(r.heap.data(), REUSE_BYTES); }},
    {"pull into the core's memory", [](Reuse &r) { r.pull(r.ours(), REUSE_BYTES); }},
    {"tagged send", [](Reuse &r) { r.tag_send(r.heap.data(), 64, 0); }},
    {"tagged send of 2000 bytes", [](Reuse &r) { r.tag_send(r.heap.data(), 2000, 0); }},
    {"synchronous tagged send", [](Reuse &r) { r.tag_send(r.heap.data(), 2000, VBN_TAG_SYNC); }},
    {"announced tagged send", [](Reuse &r) { r.tag_send(r.ours(), REUSE_BYTES, 0); }},
    {"tagged receive", [](Reuse &r) { r.tag_receive(r.heap.data(), 64, false); }},
    {"tagged receive of announced data", [](Reuse &r) { r.tag_receive(r.ours(), REUSE_BYTES, false); }},
    {"probed receive", [](Reuse &r) { r.tag_receive(r.heap.data(), 64, true); }},
    {"probed receive of announced data", [](Reuse &r) { r.tag_receive(r.heap.data(), REUSE_BYTES, true); }},
    {"cancelled receive", [](Reuse &r) { r.tag_cancel(); }},
    {"get", [](Reuse &r) { r.get(0, r.ours(), REUSE_BYTES); }},
    {"get by packets", [](Reuse &r) { r.get(1, r.heap.data(), REUSE_BYTES); }},
    {"get of blocks", [](Reuse &r) { r.blocks(0, true); }},
    {"get of blocks by packets", [](Reuse &r) { r.blocks(1, true); }},
    {"packed get", [](Reuse &r) { r.packed(0, true); }},
    {"packed get by packets", [](Reuse &r) { r.packed(1, true); }},
    {"put", [](Reuse &r) { r.put(0, r.ours(), REUSE_BYTES - 64); }},
    {"put by packets", [](Reuse &r) { r.put(1, r.heap.data(), REUSE_BYTES - 64); }},
    {"put of blocks", [](Reuse &r) { r.blocks(0, false); }},
    {"put of blocks by packets", [](Reuse &r) { r.blocks(1, false); }},
    {"packed put", [](Reuse &r) { r.packed(0, false); }},
    {"packed put by packets", [](Reuse &r) { r.packed(1, false); }},
    {"put with a signal", [](Reuse &r) { r.signal(0, 100000); }},
    {"put with a signal by packets", [](Reuse &r) { r.signal(1, 300); }},
    {"atomic", [](Reuse &r) { r.atomic(0); }},
    {"atomic by packets", [](Reuse &r) { r.atomic(1); }},
    {"refused get", [](Reuse &r) { r.refused(true, 100); }},
    {"refused put", [](Reuse &r) { r.refused(false, 100); }},
    {"refused large put", [](Reuse &r) { r.refused(false, REUSE_BYTES); }},
    {"flush", [](Reuse &r) { r.flush(false); }},
    {"flush of all", [](Reuse &r) { r.flush(true); }},
};

/* Every kind after every kind, with one op. */
inline void reuse_all(Reuse &r)
{
    for (const Kind &first : KINDS)
        for (const Kind &second : KINDS)
            for (const Kind *kind : {&first, &second}) {
                r.doing = kind->name;
                kind->run(r);
            }
}

} // namespace multi
#endif
