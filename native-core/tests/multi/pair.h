/* SPDX-License-Identifier: Apache-2.0
 * pair.h - two workers with a context each in one process, driven by one thread in turns: for what a test does to
 * its own process (limits, refused system calls, fork). */
#ifndef VBN_TESTS_MULTI_PAIR_H
#define VBN_TESTS_MULTI_PAIR_H

#include <mutex>
#include <string>

#include "launch.h"

namespace multi {

/* One of the two. What it logs is kept. */
struct Half {
    vbn_context_t *context = nullptr;
    vbn_worker_t *worker = nullptr;
    vbn_peer_t *peer = nullptr;
    vbn_status_t lost = VBN_OK;
    std::string text, log;                                       /* of the loss; log lines */
    std::vector<std::pair<vbn_log_category_t, uint64_t>> logged; /* of each line: category, peer */
    unsigned messages = 0;

    static void on_log(void *arg, const vbn_log_record_t *record)
    {
        static std::mutex lock; /* a context's other threads log, too */
        std::lock_guard<std::mutex> guard(lock);
        auto *self = static_cast<Half *>(arg);
        self->log += std::string(record->text) + "\n";
        self->logged.emplace_back(record->category, record->peer);
    }
    static void on_lost(void *arg, vbn_peer_t *, vbn_status_t status, const char *text)
    {
        auto *self = static_cast<Half *>(arg);
        self->lost = status;
        self->text = text;
    }
    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        static_cast<Half *>(arg)->messages++;
        if (message->remote != nullptr)
            vbn_am_drop(message->remote);
    }
    vbn_status_t open(const char *transports, uint8_t key_byte = 1)
    {
        vbn_config_t *config = nullptr;
        uint8_t key[VBN_JOB_KEY_BYTES] = {key_byte};
        MUST(vbn_config_create(&config) == VBN_OK);
        MUST(vbn_config_set(config, "tl.enable", transports) == VBN_OK);
        MUST(vbn_config_set(config, "tl.tcp.interface", "127.0.0.1") == VBN_OK);
        MUST(vbn_config_set(config, "log.level", "info") == VBN_OK);
        MUST(vbn_config_set_job_key(config, key) == VBN_OK);
        vbn_config_set_log(config, on_log, this);
        vbn_status_t status = vbn_open(config, &context);
        vbn_config_destroy(config);
        if (status == VBN_OK)
            status = vbn_worker_create(context, &worker);
        if (status == VBN_OK)
            status = vbn_am_handler(worker, 1, on_message, this);
        return status;
    }
    vbn_status_t connect(Half &to)
    {
        uint8_t blob[VBN_ADDRESS_MAX];
        size_t length = sizeof(blob);
        vbn_status_t status = vbn_worker_address(to.worker, blob, &length);
        return status < 0 ? status : vbn_connect(worker, blob, length, on_lost, this, &peer);
    }
    void close()
    {
        if (peer != nullptr)
            vbn_disconnect(peer, VBN_CLOSE_NOW);
        if (worker != nullptr)
            vbn_worker_destroy(worker);
        if (context != nullptr)
            MUST(vbn_close(context) == VBN_OK);
        peer = nullptr;
        worker = nullptr;
        context = nullptr;
    }
};

struct Pair {
    Half a, b;

    explicit Pair(const char *transports) { MUST(a.open(transports) == VBN_OK && b.open(transports) == VBN_OK); }
    void turn()
    {
        (void)vbn_progress(a.worker);
        (void)vbn_progress(b.worker);
    }
    /* False when a minute was not enough: never, on a machine that is merely loaded. */
    bool until(const std::function<bool()> &condition)
    {
        auto end = Clock::now() + std::chrono::seconds(60);
        while (!condition()) {
            if (Clock::now() > end)
                return false;
            turn();
        }
        return true;
    }
    /* Completes the op of a call that returned `status`; its final status. */
    vbn_status_t finish(vbn_status_t status, const vbn_op_t &op)
    {
        if (status != VBN_INPROGRESS)
            return status;
        MUST(until([&] { return op.complete == 1; }));
        return static_cast<vbn_status_t>(op.status);
    }
    /* A message of this size from a to b. */
    vbn_status_t send(size_t size)
    {
        std::vector<uint8_t> data(size, 7);
        iovec iov{data.data(), size};
        vbn_op_t op{};
        unsigned before = b.messages;
        vbn_status_t status = finish(vbn_am_send(a.peer, 1, nullptr, 0, &iov, 1, 0, &op), op);
        if (status == VBN_OK)
            MUST(until([&] { return b.messages > before || a.lost != VBN_OK; }));
        return status;
    }
    void close()
    {
        a.close();
        b.close();
    }
};

} // namespace multi
#endif
