// SPDX-License-Identifier: Apache-2.0
// test_storm.cc - 1,000 workers dial one at once over TCP, many more than may be unauthenticated at a time. All arrive,
// however slowly they answer: the others wait, and who had to make room dials again.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "launch.h"

namespace {

using multi::Clock;
using multi::Shared;

constexpr int kProcesses = 8; /* one is dialled */
constexpr int kDiallers = 1000;
constexpr int kDone = 1 << 30;

/* Diallers of a process, by its rank. */
int workers_of(int rank)
{
    return kDiallers / (kProcesses - 1) + (rank <= kDiallers % (kProcesses - 1) ? 1 : 0);
}

void allow_descriptors()
{
    rlimit limit;
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

vbn_context_t *open_context()
{
    vbn_config_t *config;
    vbn_context_t *context;
    uint8_t key[VBN_JOB_KEY_BYTES] = {1, 2, 3};
    MUST(vbn_config_create(&config) == VBN_OK);
    MUST(vbn_config_set(config, "tl.enable", "tcp") == VBN_OK);
    MUST(vbn_config_set(config, "tl.tcp.interface", "127.0.0.1") == VBN_OK);
    MUST(vbn_config_set(config, "link.wireup_timeout", "2min") == VBN_OK); /* of a loaded machine */
    MUST(vbn_config_set(config, "log.level", "error") == VBN_OK);
    MUST(vbn_config_set_job_key(config, key) == VBN_OK);
    MUST(vbn_open(config, &context) == VBN_OK);
    vbn_config_destroy(config);
    return context;
}

/* Whether the diallers move: in lockstep with the one that is dialled each answers once, then it does all it can. */
enum Pace { QUICK, LOCKSTEP };

class Dialled {
public:
    explicit Dialled(Shared &shared_) : shared(shared_)
    {
        MUST(vbn_worker_create(context, &worker) == VBN_OK);
        MUST(vbn_am_handler(worker, 1, on_message, this) == VBN_OK);
        shared.length[0] = VBN_ADDRESS_MAX;
        MUST(vbn_worker_address(worker, shared.blob[0], &shared.length[0]) == VBN_OK);
        shared.ready[0] = 1;
    }
    void serve(Pace pace)
    {
        while (received < kDiallers || !all_done()) { /* who closes earlier takes the word of the arrival with it */
            if (vbn_progress(worker) > 0 || vbn_arm(worker) != VBN_OK)
                continue;
            if (pace == LOCKSTEP)
                next_round();
            pollfd fd{vbn_event_fd(worker), POLLIN, 0};
            (void)poll(&fd, 1, 1);
        }
        shared.ready[0] = kDone;
        vbn_worker_destroy(worker);
        MUST(vbn_close(context) == VBN_OK);
    }

private:
    bool all_done() const
    {
        for (int i = 1; i < kProcesses; i++)
            if (shared.stage[i] != kDone)
                return false;
        return true;
    }
    /* stage[0]: rounds that were begun; of the others: rounds that they have done, kDone when all their messages have arrived. */
    void next_round()
    {
        for (int i = 1; i < kProcesses; i++)
            if (shared.stage[i] < shared.stage[0])
                return;
        shared.stage[0]++;
    }
    static void on_message(void *arg, const vbn_am_message_t *) { static_cast<Dialled *>(arg)->received++; }

    Shared &shared;
    vbn_context_t *context = open_context();
    vbn_worker_t *worker = nullptr;
    int received = 0;
};

struct Dialler {
    vbn_worker_t *worker = nullptr;
    vbn_peer_t *peer = nullptr;
    vbn_op_t op = {};
    int lost = 0;
    std::string text;
    static void on_lost(void *arg, vbn_peer_t *, vbn_status_t status, const char *text)
    {
        auto *self = static_cast<Dialler *>(arg);
        self->lost = status;
        self->text = text;
    }
    void dial(vbn_context_t *context, const Shared &shared)
    {
        MUST(vbn_worker_create(context, &worker) == VBN_OK);
        MUST(vbn_connect(worker, shared.blob[0], shared.length[0], on_lost, this, &peer) == VBN_OK);
        MUST(vbn_am_send(peer, 1, "hello", 5, nullptr, 0, 0, &op) == VBN_INPROGRESS);
    }
    bool arrived()
    {
        vbn_progress(worker);
        if (lost != 0)
            std::fprintf(stderr, "lost: %s\n", text.c_str());
        MUST(lost == 0);
        MUST(op.complete == 0 || op.status == VBN_OK);
        return op.complete != 0;
    }
};

/* All that have not arrived move once. */
bool turn(std::vector<Dialler> &diallers, std::vector<bool> &arrived, size_t from)
{
    bool all = true;
    for (size_t i = from; i < diallers.size(); i++) {
        if (!arrived[i])
            arrived[i] = diallers[i].arrived();
        all = all && arrived[i];
    }
    return all;
}

void dial_and_wait(int rank, Shared &shared, Pace pace, int busy)
{
    vbn_context_t *context = open_context();
    std::vector<Dialler> diallers(static_cast<size_t>(workers_of(rank)));
    std::vector<bool> arrived(diallers.size(), false);
    size_t computing = static_cast<size_t>(busy); /* the first ones: they move no more until the others have arrived */
    while (shared.ready[0] == 0)
        usleep(100);
    for (Dialler &dialler : diallers)
        dialler.dial(context, shared);
    (void)turn(diallers, arrived, 0);
    for (bool all = false; !all;) {
        int round = shared.stage[rank];
        if (pace == LOCKSTEP && shared.stage[0] <= round) {
            usleep(100);
            continue;
        }
        all = turn(diallers, arrived, computing);
        if (all && computing > 0) {
            computing = 0;
            all = false;
        }
        shared.stage[rank] = round + 1;
    }
    shared.stage[rank] = kDone;
    while (shared.ready[0] != kDone) /* nothing is taken back from its message by a close */
        for (Dialler &dialler : diallers)
            vbn_progress(dialler.worker);
    for (Dialler &dialler : diallers) {
        vbn_disconnect(dialler.peer, VBN_CLOSE_FLUSH);
        vbn_worker_destroy(dialler.worker);
    }
    MUST(vbn_close(context) == VBN_OK);
}

/* Those of the one that is dialled: a socket each, and some of its own. */
bool enough_descriptors()
{
    rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= kDiallers + 100;
}

void expect_all_arrive(Pace pace, int busy)
{
    if (!enough_descriptors())
        GTEST_SKIP() << "too few descriptors for a thousand connections: raise ulimit -Hn to 2048";
    auto results = multi::launch(
        kProcesses,
        [&](int rank, Shared &shared) {
            allow_descriptors();
            if (rank == 0)
                Dialled(shared).serve(pace);
            else
                dial_and_wait(rank, shared, pace, busy);
        },
        240);
    for (int result : results)
        EXPECT_EQ(result, 0);
}

TEST(Storm, a_thousand_peers_that_dial_at_once_arrive)
{
    expect_all_arrive(QUICK, 0);
}

TEST(Storm, a_thousand_peers_that_answer_slowly_arrive)
{
    expect_all_arrive(LOCKSTEP, 0);
}

TEST(Storm, peers_that_compute_instead_of_answering_make_room_and_arrive_later)
{
    expect_all_arrive(QUICK, 30);
}

} // namespace
