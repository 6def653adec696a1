/* SPDX-License-Identifier: Apache-2.0
 * link_engine.c - opening and closing an engine, its progress, and sleeping.
 *
 * Sleep: one epoll descriptor holds the transports' descriptors, the wake eventfd and a timerfd for the next timer.
 * link_engine_wake() always writes the eventfd and only link_engine_arm() reads it, answering VBN_BUSY, so a wake-up
 * between any two calls of the owner's loop leads to one more turn of that loop. */
#include "link/peer/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)
#define CLOCK_EVERY 16u                /* turns between two looks at the clock, at most */
#define AWAY_NS UINT64_C(100000000)    /* between two turns: the program does something else */
#define CLOCK_NEAR_NS UINT64_C(250000) /* timers count in milliseconds */
#define NODE_BLOCK 32

/* ---------------------------------------------------------------------------------------- descriptors */

static vbn_status_t watch(link_engine_t *engine, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    event.data.fd = fd;
    if (epoll_ctl(engine->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return err_sys(errno, "epoll_ctl for descriptor %d", fd);
    return VBN_OK;
}

static vbn_status_t open_descriptors(link_engine_t *engine)
{
    if (engine->params.clock != NULL)
        return VBN_OK; /* the owner of the clock waits by itself */
    engine->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    engine->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    engine->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (engine->epoll_fd < 0 || engine->wake_fd < 0 || engine->timer_fd < 0)
        return err_sys(errno, "cannot create the worker's event descriptors");
    vbn_status_t status = watch(engine, engine->wake_fd);
    return status < 0 ? status : watch(engine, engine->timer_fd);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* ----------------------------------------------------------------------------------------- transports */

static vbn_status_t check_enabled(const char *list, const tl_ops_t *const *table, unsigned count)
{
    char known[128] = "";
    size_t used = 0;
    for (unsigned i = 0; i < count && used < sizeof(known); i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i > 0 ? ", " : "", table[i]->name);
    unsigned names = 0;
    for (const char *at = list + strspn(list, " ,"); *at != '\0'; at += strspn(at, " ,"), names++) {
        size_t length = strcspn(at, " ,");
        unsigned i = 0;
        while (i < count && (strlen(table[i]->name) != length || memcmp(table[i]->name, at, length) != 0))
            i++;
        if (i == count)
            return err_set(VBN_ERR_SETTING, "tl.enable names \"%.*s\"; known transports: %s", (int)length, at, known);
        at += length;
    }
    if (names == 0)
        return err_set(VBN_ERR_SETTING, "tl.enable is empty; known transports: %s", known);
    return VBN_OK;
}

static vbn_status_t open_transport(link_engine_t *engine, const tl_ops_t *ops, unsigned device)
{
    tl_params_t params = {.settings = engine->params.settings,
                          .log = engine->params.log,
                          .counters = engine->params.counters,
                          .memory = engine->params.memory,
                          .worker_uid = engine->uid,
                          .job_key = engine->key,
                          .device = device};
    if (engine->transport_count == LINK_TRANSPORTS)
        return err_set(VBN_ERR_LIMIT, "a worker has at most %u interfaces", LINK_TRANSPORTS);
    link_transport_t *transport = &engine->transports[engine->transport_count];
    link_fill_upcalls(&params.upcalls, engine);
    vbn_status_t status = ops->open(&params, &transport->iface);
    if (status < 0)
        return status;
    transport->ops = ops;
    transport->self = (ops->caps(transport->iface)->flags & TL_CAP_SELF) != 0;
    (void)snprintf(transport->name, sizeof(transport->name), device == 0 ? "%.5s" : "%.5s.%u", ops->name, device % 10);
    if (device > 0 && engine->rails <= device)
        engine->rails = device + 1;
    const link_fast_t *fast = engine->params.upcalls.fast;
    transport->fast = fast != NULL && fast->transport == ops;
    transport->progress = transport->fast ? fast->progress : ops->progress;
    engine->transport_count++;
    int fd = engine->epoll_fd >= 0 ? ops->event_fd(transport->iface) : -1;
    return fd >= 0 ? watch(engine, fd) : VBN_OK;
}

typedef struct attempt {
    vbn_status_t failed; /* of the last that did not open, and why */
    char text[384];
} attempt_t;

/* One that does not open is left out while another works: with a warning, but for hosts that never had what it needs
 * (VBN_ERR_UNSUPPORTED). Only VBN_ERR_SETTING is returned. */
static vbn_status_t open_devices(link_engine_t *engine, const tl_ops_t *ops, attempt_t *attempt)
{
    unsigned devices = ops->devices == NULL ? 1 : ops->devices(engine->params.settings);
    for (unsigned device = 0; device < devices; device++) {
        vbn_status_t status = open_transport(engine, ops, device);
        if (status >= 0)
            continue;
        if (status == VBN_ERR_SETTING)
            return status;
        attempt->failed = status;
        (void)snprintf(attempt->text, sizeof(attempt->text), "%s", err_text());
        log_write(engine->params.log, status == VBN_ERR_UNSUPPORTED && devices == 1 ? VBN_LOG_DEBUG : VBN_LOG_WARN,
                  "transport %s is not available: %s", ops->name, attempt->text);
    }
    return VBN_OK;
}

/* Opens the transports that tl.enable names, in its order. */
static vbn_status_t open_transports(link_engine_t *engine, const tl_ops_t *const *table, unsigned count)
{
    const char *list = engine->params.settings->tl_enable;
    vbn_status_t status = check_enabled(list, table, count);
    if (status < 0)
        return status;
    attempt_t attempt = {0};
    for (int position = 0; position < LINK_TRANSPORTS; position++)
        for (unsigned i = 0; i < count && status >= 0; i++)
            if (link_list_position(list, table[i]->name) == position)
                status = open_devices(engine, table[i], &attempt);
    if (status < 0)
        return status;
    bool only_self = engine->transport_count == 1 && engine->transports[0].self;
    if (attempt.failed < 0 && (engine->transport_count == 0 || only_self))
        return err_set(attempt.failed, "no transport of tl.enable=%s can be opened: %s", list, attempt.text);
    return VBN_OK;
}

/* P5. A worker's transport to itself is no other one's choice. */
static void find_opening_caps(link_engine_t *engine)
{
    tl_caps_t least = {.packet_max = UINT32_MAX, .eager_best = UINT32_MAX, .stream_chunk = UINT32_MAX};
    for (unsigned i = 0; i < engine->transport_count; i++) {
        link_transport_t *t = &engine->transports[i];
        t->opening = *t->ops->caps(t->iface);
        if (t->self)
            continue;
        least.packet_max = t->opening.packet_max < least.packet_max ? t->opening.packet_max : least.packet_max;
        least.eager_best = t->opening.eager_best < least.eager_best ? t->opening.eager_best : least.eager_best;
        least.stream_chunk = t->opening.stream_chunk < least.stream_chunk ? t->opening.stream_chunk
                                                                          : least.stream_chunk;
    }
    for (unsigned i = 0; i < engine->transport_count; i++) {
        link_transport_t *t = &engine->transports[i];
        if (t->self)
            continue;
        t->opening.packet_max = least.packet_max;
        t->opening.eager_best = least.eager_best;
        t->opening.stream_chunk = least.stream_chunk;
    }
}

/* --------------------------------------------------------------------------------------- open and close */

static vbn_status_t take_key(link_engine_t *engine, const link_params_t *params)
{
    if (params->settings->security_auth == SETTING_SECURITY_AUTH_NONE)
        return VBN_OK;
    if (params->job_key == NULL)
        return err_set(VBN_ERR_SETTING, "security.auth=job-key needs a job key: vbn_config_set_job_key, or set "
                                        "security.auth=none where everybody on the network is trusted");
    memcpy(engine->job_key, params->job_key, sizeof(engine->job_key));
    engine->key = engine->job_key;
    return VBN_OK;
}

static void init_lists(link_engine_t *engine)
{
    list_init(&engine->lanes);
    list_init(&engine->closing);
    list_init(&engine->closing_seen);
    list_init(&engine->ending);
    list_init(&engine->dead);
    list_init(&engine->kept);
    list_init(&engine->dead_lanes);
    list_init(&engine->costly);
    list_init(&engine->natives);
    list_init(&engine->groups);
    map_init(&engine->peers);
    mpool_init(&engine->nodes, sizeof(link_node_t), NODE_BLOCK, 0);
    wheel_init(&engine->wheel, link_now_ns(engine));
}

static void free_engine(link_engine_t *engine)
{
    for (unsigned i = 0; i < engine->transport_count; i++)
        engine->transports[i].ops->close(engine->transports[i].iface);
    link_group_close(engine);
    close_fd(engine->timer_fd);
    close_fd(engine->wake_fd);
    close_fd(engine->epoll_fd);
    map_free(&engine->peers);
    mpool_free(&engine->nodes);
    explicit_bzero(engine->job_key, sizeof(engine->job_key));
    free(engine);
}

vbn_status_t link_engine_open_with(const link_params_t *params, const tl_ops_t *const *table, unsigned table_count,
                                   link_engine_t **engine_p)
{
    link_engine_t *engine = calloc(1, sizeof(*engine));
    if (engine == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a worker's link engine");
    engine->params = *params;
    engine->events = &LINK_EVENTS;
    engine->params.job_key = NULL;
    engine->epoll_fd = engine->wake_fd = engine->timer_fd = -1;
    engine->uid = params->uid != 0 ? params->uid : os_random_u64();
    engine->host_id = os_host_id();
    engine->fork_generation = os_fork_generation();
    init_lists(engine);
    engine->rails = (unsigned)params->settings->link_rails;
    engine->clock_every = 1;
    vbn_status_t status = take_key(engine, params);
    if (status >= 0)
        status = open_descriptors(engine);
    if (status >= 0)
        status = open_transports(engine, table, table_count);
    if (status >= 0)
        find_opening_caps(engine);
    engine->has_costly = status >= 0 && link_promotes(engine);
    if (status < 0) {
        free_engine(engine);
        return status;
    }
    *engine_p = engine;
    return VBN_OK;
}

/* Everything ends as with VBN_CLOSE_NOW. In a child after fork nothing is touched: the descriptors, rings and epoll sets
 * are the parent's, and its peers would take a change for the parent's own. */
void link_engine_close(link_engine_t *engine)
{
    size_t cursor;
    vbn_peer_t *peer;
    if (engine == NULL || os_fork_generation() != engine->fork_generation)
        return;
    engine->depth++;
    engine->shut = true;
    while (cursor = 0, (peer = map_next(&engine->peers, &cursor, NULL)) != NULL) {
        peer->refs = 0;
        peer->error_func = NULL;
        peer->seen = false;
        link_close_announced(peer);
        link_peer_end(peer, VBN_ERR_CLOSED, "the worker was closed", false);
    }
    for (list_link_t *link; (link = list_pop(&engine->ending)) != NULL;) {
        peer = container_of(link, vbn_peer_t, work);
        peer->seen = false;
        link_peer_end(peer, VBN_ERR_CLOSED, "the worker was closed", false);
    }
    while (!list_empty(&engine->lanes))
        link_lane_free(container_of(engine->lanes.next, link_lane_t, link), VBN_CLOSE_NOW);
    for (list_link_t *link; (link = list_pop(&engine->kept)) != NULL;)
        list_append(&engine->dead, link);
    engine->depth--;
    link_peer_reap(engine);
    free_engine(engine);
}

/* -------------------------------------------------------------------------------------------- progress */

/* Idle turns that follow each other closely are not all worth a look at the clock: it may cost more than they do. */
static unsigned run_timers(link_engine_t *engine, bool idle)
{
    if (++engine->clock_skip < (idle ? engine->clock_every : CLOCK_EVERY))
        return 0;
    uint64_t now = link_now_ns(engine);
    if (now - engine->looked_ns > CLOCK_NEAR_NS || engine->params.clock != NULL)
        engine->clock_every = 1;
    else if (engine->clock_every < CLOCK_EVERY)
        engine->clock_every *= 2;
    engine->clock_skip = 0;
    engine->away_ns += !engine->slept && now - engine->looked_ns > AWAY_NS ? now - engine->looked_ns : 0;
    engine->slept = false;
    engine->looked_ns = now;
    return wheel_advance(&engine->wheel, now);
}

static unsigned run_ending(link_engine_t *engine)
{
    unsigned events = 0;
    list_link_t due; /* those that have to wait go back to engine->ending */
    list_init(&due);
    list_append_all(&due, &engine->ending);
    for (list_link_t *link; (link = list_pop(&due)) != NULL; events++) {
        vbn_peer_t *peer = container_of(link, vbn_peer_t, work);
        link_peer_end(peer, peer->lost_status, NULL, false);
    }
    return events;
}

/* Order: transports (in tl.enable order), ends that were asked for, timers, closings, memory. */
unsigned link_engine_progress(link_engine_t *engine)
{
    if (os_fork_generation_now() != engine->fork_generation)
        return 0;
    unsigned events = 0;
    uint32_t wakes = atomic_get_relaxed(&engine->wakes);
    if (wakes != engine->wakes_seen) {
        engine->wakes_seen = wakes;
        events++;
    }
    engine->depth++;
    for (unsigned i = 0; i < engine->transport_count; i++)
        events += engine->transports[i].progress(engine->transports[i].iface);
    if (!list_empty(&engine->ending))
        events += run_ending(engine);
    if (engine->wheel.count > 0)
        events += run_timers(engine, events == 0);
    if (engine->closes)
        events += link_close_progress(engine, events > 0);
    engine->depth--;
    if (engine->depth == 0 && (!list_empty(&engine->dead) || !list_empty(&engine->dead_lanes)))
        link_peer_reap(engine);
    return events;
}

/* -------------------------------------------------------------------------------------------- sleeping */

static void set_timer(link_engine_t *engine, uint64_t due_ms)
{
    struct itimerspec spec = {{0, 0}, {0, 0}};
    if (due_ms == engine->armed_ms)
        return;
    spec.it_value.tv_sec = (time_t)(due_ms / 1000);
    spec.it_value.tv_nsec = (long)(due_ms % 1000 * NS_PER_MS);
    timerfd_settime(engine->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
    engine->armed_ms = due_ms;
}

vbn_status_t link_engine_arm(link_engine_t *engine)
{
    uint64_t count;
    vbn_status_t status = link_fork_check(engine);
    if (status < 0)
        return status;
    if (engine->params.clock != NULL)
        return err_set(VBN_ERR_UNSUPPORTED,
                       "an engine with a clock of its own cannot sleep: its owner moves the clock");
    if (link_wait_look(engine))
        return VBN_BUSY;
    if (engine->wakes_read != atomic_get_relaxed(&engine->wakes) && read(engine->wake_fd, &count, sizeof(count)) > 0) {
        engine->wakes_read += (uint32_t)count; /* each wake-up adds one to both, if not at the same time */
        return VBN_BUSY;
    }
    if (!list_empty(&engine->ending) || !list_empty(&engine->closing))
        return VBN_BUSY;
    int next_ms = wheel_next_ms(&engine->wheel);
    if (next_ms >= 0) {
        uint64_t now_ms = link_now_ns(engine) / NS_PER_MS;
        uint64_t due_ms = engine->wheel.now_ms + (uint64_t)next_ms + 1;
        if (due_ms <= now_ms)
            return VBN_BUSY;
        set_timer(engine, due_ms);
    } else {
        set_timer(engine, 0);
    }
    for (unsigned i = 0; i < engine->transport_count; i++)
        if (engine->transports[i].ops->arm(engine->transports[i].iface) != VBN_OK)
            return VBN_BUSY;
    engine->clock_every = 1; /* a timer may end the sleep */
    engine->slept = true;
    engine->wait.slept_ns = os_now_ns();
    return VBN_OK;
}

int link_engine_fd(const link_engine_t *engine)
{
    return engine->epoll_fd;
}

void link_engine_wake(link_engine_t *engine)
{
    uint64_t one = 1;
    /* Relaxed: the eventfd orders; the count only makes progress report an event. */
    atomic_fetch_add_explicit(&engine->wakes, 1, memory_order_relaxed);
    if (engine->wake_fd < 0)
        return;
    ssize_t wrote = write(engine->wake_fd, &one, sizeof(one));
    (void)wrote; /* EAGAIN: 2^64-2 wake-ups are pending already */
}

/* ---------------------------------------------------------------------------------------------- queries */

uint64_t link_engine_uid(const link_engine_t *engine)
{
    return engine->uid;
}

void link_engine_set_peer_lost(link_engine_t *engine, vbn_peer_error_func_t func, void *arg)
{
    engine->lost_func = func;
    engine->lost_arg = arg;
}

vbn_status_t link_engine_address(link_engine_t *engine, void *blob, size_t *length_p)
{
    uint8_t bytes[LINK_TRANSPORTS][TL_ADDRESS_MAX];
    link_address_t address = {.uid = engine->uid, .host_id = engine->host_id};
    vbn_status_t status = link_fork_check(engine);
    for (unsigned i = 0; i < engine->transport_count && status >= 0; i++) {
        link_section_t *section = &address.sections[i];
        snprintf(section->name, sizeof(section->name), "%s", engine->transports[i].name);
        section->bytes = bytes[i];
        section->length = sizeof(bytes[i]);
        status = engine->transports[i].ops->address(engine->transports[i].iface, bytes[i], &section->length);
        address.section_count++;
    }
    return status < 0 ? status : link_address_encode(&address, blob, length_p);
}
