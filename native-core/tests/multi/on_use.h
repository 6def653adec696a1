/* SPDX-License-Identifier: Apache-2.0
 * on_use.h - peers of vbn_connect_flags(VBN_CONNECT_ON_USE): what a peer costs and does before it is dialled, and every way
 * out of that. Each function is one test, run in a process of its own with the transports as argument; tests/verbs uses
 * them, too. */
#ifndef VBN_TESTS_MULTI_ON_USE_H
#define VBN_TESTS_MULTI_ON_USE_H

#include "pair.h"

namespace multi {

inline uint64_t counted(const Half &half, const char *name)
{
    vbn_counter_t all[256];
    size_t count = vbn_counters(half.context, all, 256);
    for (size_t i = 0; i < count && i < 256; i++)
        if (std::strcmp(all[i].name, name) == 0)
            return all[i].value;
    std::abort();
}

inline int descriptors()
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* The handle of `to` at `from`, which has not dialled. */
inline vbn_peer_t *on_use(Half &from, Half &to)
{
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    vbn_peer_t *peer = nullptr;
    MUST(vbn_worker_address(to.worker, blob, &length) == VBN_OK);
    MUST(vbn_connect_flags(from.worker, blob, length, VBN_CONNECT_ON_USE, Half::on_lost, &from, &peer) == VBN_OK);
    return peer;
}

inline bool dialled(Pair &pair)
{
    char text[512];
    (void)vbn_explain(pair.a.peer, text, sizeof(text));
    bool said = std::strstr(text, "(not connected: ") != nullptr;
    MUST(said == (vbn_peer_transport(pair.a.peer) == nullptr));
    return !said;
}

inline void costs_nothing_until_used(const char *transports)
{
    Pair pair(transports);
    pair.turn();
    int before = descriptors();
    pair.a.peer = on_use(pair.a, pair.b);
    MUST(pair.a.peer != nullptr && vbn_peer_uid(pair.a.peer) != 0 && on_use(pair.a, pair.b) == pair.a.peer);
    vbn_disconnect(pair.a.peer, VBN_CLOSE_FLUSH); /* the second reference */
    vbn_op_t op{};
    MUST(vbn_flush(pair.a.peer, &op) == VBN_OK && vbn_flush_all(pair.a.worker, &op) == VBN_OK);
    for (int i = 0; i < 1000; i++)
        pair.turn();
    MUST(!dialled(pair) && descriptors() == before && pair.a.lost == VBN_OK);
    MUST(counted(pair.a, "peers.connected") + counted(pair.b, "peers.connected") == 0);
    pair.close(); /* also as it is */
}

/* Memory of b's, for the first operation of each kind. */
struct Target {
    Pair &pair;
    vbn_mem_t *mem = nullptr;
    uint8_t blob[VBN_KEY_MAX];
    size_t length = sizeof(blob);
    uint64_t word = 1;
    iovec iov{&word, sizeof(word)}; /* both stay until the operation has completed */
    vbn_key_t *key = nullptr;
    explicit Target(Pair &both) : pair(both)
    {
        MUST(vbn_mem_alloc(pair.b.context, 4096, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, 4096, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
    }
    vbn_status_t use(unsigned kind, vbn_op_t *op)
    {
        if (kind > 2)
            MUST(vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
        switch (kind) {
        case 0: return vbn_am_send(pair.a.peer, 1, nullptr, 0, &iov, 1, 0, op);
        case 1: return vbn_am_send(pair.a.peer, 1, nullptr, 0, &iov, 1, VBN_AM_PULL, op);
        case 2: return vbn_tag_send(pair.a.peer, 1, &iov, 1, 0, op);
        case 3: return vbn_put(key, 0, &iov, 1, op);
        case 4: return vbn_get(key, 0, &iov, 1, op);
        default: return vbn_atomic(key, 0, VBN_ATOMIC_ADD, 8, 1, 0, &word, op);
        }
    }
    void close()
    {
        vbn_key_release(key);
        MUST(vbn_mem_free(mem) == VBN_OK);
    }
};

inline void the_first_operation_dials(const char *transports)
{
    for (unsigned kind = 0; kind < 6; kind++) {
        Pair pair(transports);
        Target target(pair);
        pair.a.peer = on_use(pair.a, pair.b);
        MUST(!dialled(pair));
        vbn_op_t op{};
        MUST(pair.finish(target.use(kind, &op), op) == VBN_OK);
        MUST(pair.until([&] { return counted(pair.b, "peers.connected") == 1; }));
        MUST(dialled(pair) && pair.a.lost == VBN_OK && counted(pair.a, "peers.connected") == 1);
        MUST(pair.send(100) == VBN_OK);
        target.close();
        pair.close();
    }
}

inline void the_peers_own_connection_is_taken(const char *transports)
{
    setenv("VBN_LINK_PEER_TIMEOUT", "5s", 1); /* over ud that is how long the end of b stays unknown */
    Pair pair(transports);
    uint64_t word = 0, sent = 7;
    iovec iov{&word, sizeof(word)}, from{&sent, sizeof(sent)};
    vbn_op_t receive{}, send{};
    vbn_tag_info_t info;
    pair.a.peer = on_use(pair.a, pair.b);
    MUST(vbn_tag_recv(pair.a.worker, pair.a.peer, 5, UINT64_MAX, &iov, 1, &info, &receive) == VBN_INPROGRESS);
    pair.turn();
    MUST(!dialled(pair));
    MUST(pair.b.connect(pair.a) == VBN_OK);
    MUST(pair.finish(vbn_tag_send(pair.b.peer, 5, &from, 1, 0, &send), send) == VBN_OK);
    MUST(pair.until([&] { return receive.complete == 1; }));
    MUST(receive.status == VBN_OK && word == 7 && info.peer == pair.a.peer && dialled(pair));
    MUST(pair.send(100) == VBN_OK && pair.send(100000) == VBN_OK); /* back, over the same connection */
    MUST(counted(pair.a, "peers.connected") == 1 && counted(pair.b, "peers.connected") == 1);
    pair.b.close();
    MUST(pair.a.lost == VBN_OK);
    while (pair.a.lost == VBN_OK) /* ended by the launcher's time limit */
        (void)vbn_progress(pair.a.worker);
    pair.a.close();
}

inline void both_may_use_it_at_once(const char *transports)
{
    Pair pair(transports);
    uint64_t word = 1;
    iovec iov{&word, sizeof(word)};
    vbn_op_t ops[2] = {};
    pair.a.peer = on_use(pair.a, pair.b);
    pair.b.peer = on_use(pair.b, pair.a);
    MUST(vbn_am_send(pair.a.peer, 1, nullptr, 0, &iov, 1, 0, &ops[0]) == VBN_INPROGRESS);
    MUST(vbn_am_send(pair.b.peer, 1, nullptr, 0, &iov, 1, 0, &ops[1]) == VBN_INPROGRESS);
    MUST(pair.until([&] { return pair.a.messages + pair.b.messages == 2 && ops[0].complete + ops[1].complete == 2; }));
    MUST(pair.a.lost == VBN_OK && pair.b.lost == VBN_OK && pair.send(100) == VBN_OK);
    MUST(counted(pair.a, "peers.connected") == 1 && counted(pair.b, "peers.connected") == 1);
    pair.close();
}

inline void disconnect_ends_it_in_both_modes(const char *transports)
{
    for (vbn_close_mode_t mode : {VBN_CLOSE_FLUSH, VBN_CLOSE_NOW}) {
        Pair pair(transports);
        uint64_t word;
        iovec iov{&word, sizeof(word)};
        vbn_op_t receive{};
        pair.a.peer = on_use(pair.a, pair.b);
        MUST(vbn_tag_recv(pair.a.worker, pair.a.peer, 5, UINT64_MAX, &iov, 1, nullptr, &receive) == VBN_INPROGRESS);
        vbn_disconnect(pair.a.peer, mode);
        pair.a.peer = nullptr;
        MUST(receive.complete == 0); /* nothing completes inside the call */
        pair.turn();
        MUST(receive.complete == 1 && receive.status == VBN_ERR_CLOSED && pair.a.lost == VBN_OK);
        MUST(pair.a.log.find("lost") == std::string::npos && counted(pair.a, "peers.lost") == 0);
        pair.a.peer = on_use(pair.a, pair.b);
        MUST(pair.send(100) == VBN_OK);
        pair.close();
    }
}

inline void an_ordinary_connect_dials(const char *transports)
{
    Pair pair(transports);
    vbn_peer_t *idle = on_use(pair.a, pair.b);
    MUST(pair.a.connect(pair.b) == VBN_OK && pair.a.peer == idle);
    MUST(pair.until([&] { return counted(pair.b, "peers.connected") == 1; }));
    vbn_disconnect(idle, VBN_CLOSE_FLUSH); /* the first reference */
    MUST(pair.send(100) == VBN_OK);
    pair.close();
}

inline void a_peer_that_is_gone_is_lost_when_it_is_used(const char *transports)
{
    setenv("VBN_LINK_WIREUP_TIMEOUT", "300ms", 1);
    Pair pair(transports);
    pair.a.peer = on_use(pair.a, pair.b);
    pair.b.close();
    for (int i = 0; i < 1000; i++)
        (void)vbn_progress(pair.a.worker);
    MUST(pair.a.lost == VBN_OK);
    uint64_t word = 1;
    iovec iov{&word, sizeof(word)};
    vbn_op_t op{};
    MUST(vbn_am_send(pair.a.peer, 1, nullptr, 0, &iov, 1, 0, &op) == VBN_INPROGRESS);
    MUST(pair.a.lost == VBN_OK && op.complete == 0);
    while (pair.a.lost == VBN_OK)
        (void)vbn_progress(pair.a.worker);
    MUST(op.complete == 1 && op.status == pair.a.lost);
    MUST(vbn_am_send(pair.a.peer, 1, nullptr, 0, &iov, 1, 0, &op) < 0);
    pair.a.close();
}

struct OnUseTest {
    const char *name;
    void (*run)(const char *transports);
};

inline const OnUseTest ON_USE_TESTS[] = {
    {"costs_nothing_until_used", costs_nothing_until_used},
    {"the_first_operation_dials", the_first_operation_dials},
    {"the_peers_own_connection_is_taken", the_peers_own_connection_is_taken},
    {"both_may_use_it_at_once", both_may_use_it_at_once},
    {"disconnect_ends_it_in_both_modes", disconnect_ends_it_in_both_modes},
    {"an_ordinary_connect_dials", an_ordinary_connect_dials},
    {"a_peer_that_is_gone_is_lost_when_it_is_used", a_peer_that_is_gone_is_lost_when_it_is_used},
};

} // namespace multi
#endif
