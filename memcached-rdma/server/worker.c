/* SPDX-License-Identifier: Apache-2.0
 * worker.c - the thread that owns connections: epoll, one turn for each socket that is ready, no waiting anywhere else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/conn.h"
#include "server/native.h"

#define EVENTS_MOST 64
#define HANDSHAKE_S 30u /* for a handshake of TLS, also without idle_timeout */

/* ------------------------------------------------------------------------------------ connections */

bool worker_give(worker_t *worker, int fd, uint64_t serial, const char *address, unsigned listener)
{
    const server_t *server = worker->server;
    conn_t *conn = conn_open(worker, fd, serial, address, server->listener_names[listener]);
    if (conn == NULL)
        return false;
    conn->tls = server->settings.tls && !server->listener_plain[listener];
    pthread_mutex_lock(&worker->lock);
    list_append(&worker->fresh, &conn->link);
    pthread_mutex_unlock(&worker->lock);
    (void)eventfd_write(worker->wake, 1);
    return true;
}

static void end_conn(worker_t *worker, conn_t *conn)
{
    server_t *server = worker->server;
    pthread_mutex_lock(&worker->lock);
    list_remove(&conn->link);
    pthread_mutex_unlock(&worker->lock);
    log_line(server, 2, "<%d connection closed", conn->fd);
    conn_close(conn);
    (void)atomic_fetch_sub_explicit(&server->connections, 1, memory_order_relaxed);
}

static void take_fresh(worker_t *worker)
{
    for (;;) {
        pthread_mutex_lock(&worker->lock);
        list_link_t *link = list_pop(&worker->fresh);
        if (link != NULL)
            list_append(&worker->conns, link);
        pthread_mutex_unlock(&worker->lock);
        if (link == NULL)
            return;
        conn_t *conn = container_of(link, conn_t, link);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
        conn->events = EPOLLIN;
        watch_conn(worker->server, conn->address, conn->fd, NULL);
        if ((conn->tls && !wire_open(&conn->wire, worker, conn->fd)) ||
            epoll_ctl(worker->epoll, EPOLL_CTL_ADD, conn->fd, &event) != 0)
            end_conn(worker, conn);
    }
}

static void handle(worker_t *worker, const struct epoll_event *event)
{
    eventfd_t value;
    if (event->data.ptr == worker) { /* messages: the next turn handles them */
        native_wake(worker->native);
        return;
    }
    if (event->data.ptr == &worker->reader) {
        disk_reader_reap(worker->reader);
        return;
    }
    if (event->data.ptr == NULL) {
        (void)eventfd_read(worker->wake, &value);
        take_fresh(worker);
        return;
    }
    conn_t *conn = event->data.ptr;
    if (!conn_ready(conn, event->events))
        end_conn(worker, conn);
}

static void tell_watchers(worker_t *worker)
{
    (void)atomic_exchange_explicit(&worker->events, false, memory_order_acq_rel); /* pairs with worker_tell */
    for (list_link_t *link = worker->watching.next, *next; link != &worker->watching; link = next) {
        next = link->next;
        conn_t *conn = container_of(link, conn_t, watching);
        if (!conn_tell(conn))
            end_conn(worker, conn);
    }
}

/* Seconds for which a connection may be silent; 0: for ever. */
static uint32_t silence_most(const conn_t *conn)
{
    uint32_t idle = conn->worker->server->settings.idle_s;
    bool shaking = conn->tls && !conn->wire.shaken;
    return shaking && (idle == 0 || idle > HANDSHAKE_S) ? HANDSHAKE_S : idle;
}

/* Closes connections whose client has neither sent nor taken anything for too long. Clients by messages are silent on their
 * sockets, and the core watches them. */
static void end_silent(worker_t *worker)
{
    uint32_t now = store_now(worker->server->store);
    atomic_set_relaxed(&worker->look, false);
    for (list_link_t *link = worker->conns.next, *next; link != &worker->conns; link = next) {
        conn_t *conn = container_of(link, conn_t, link);
        uint32_t most = silence_most(conn);
        next = link->next;
        if (most == 0 || conn->messages || conn->watcher != NULL ||
            now - atomic_get_relaxed(&conn->last_second) <= most)
            continue;
        log_line(worker->server, 1, "client %s was silent for more than %u s; closed", conn->address, most);
        count(&worker->counters.idle_kicks, 1);
        conn->end = "idle_timeout";
        end_conn(worker, conn);
    }
}

void worker_look(worker_t *worker)
{
    atomic_set_relaxed(&worker->look, true);
    (void)eventfd_write(worker->wake, 1);
}

/* Connections that had yielded go on, each for a turn. */
static void resume(worker_t *worker, list_link_t *yielded)
{
    for (list_link_t *link = list_pop(yielded); link != NULL; link = list_pop(yielded)) {
        conn_t *conn = container_of(link, conn_t, again);
        if (!conn_resume(conn))
            end_conn(worker, conn);
    }
}

/* What all requests since the last time want from disk, with one system call. */
static void submit_reads(worker_t *worker)
{
    worker->reads_wait = false;
    disk_reader_submit(worker->reader);
}

/* Messages until there are none, then sockets; sleeps only when the core says that it may. */
static void run(worker_t *worker)
{
    struct epoll_event events[EVENTS_MOST];
    while (!atomic_get_acquire(&worker->stop)) { /* pairs with worker_stop */
        list_link_t yielded;
        int most_ms = worker->native == NULL ? -1 : native_turn(worker->native);
        if (worker->reads_wait)
            submit_reads(worker);
        if (most_ms == NATIVE_AGAIN)
            continue;
        list_init(&yielded);
        list_append_all(&yielded, &worker->again);
        int ready = epoll_wait(worker->epoll, events, EVENTS_MOST, list_empty(&yielded) ? most_ms : 0);
        for (int i = 0; i < ready; i++)
            handle(worker, &events[i]);
        resume(worker, &yielded);
        if (atomic_get_relaxed(&worker->events))
            tell_watchers(worker);
        if (atomic_get_relaxed(&worker->look))
            end_silent(worker);
        buffers_trim(worker, 1);
    }
}

/* Without a reader, for which there is always a way but for lack of memory, what is on disk cannot be read: the server ends. */
static void open_reader(worker_t *worker)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &worker->reader};
    if (worker->server->disk == NULL)
        return;
    worker->reader = disk_reader_open(worker->server->disk);
    if (worker->reader != NULL && epoll_ctl(worker->epoll, EPOLL_CTL_ADD, disk_reader_fd(worker->reader), &event) == 0)
        return;
    log_line(worker->server, 0, "thread %u cannot read from disk: %s; raise ulimit -n", worker->number,
             strerror(errno));
    (void)eventfd_write(worker->server->stop, 1);
}

static void *main_of(void *arg)
{
    worker_t *worker = arg;
    server_t *server = worker->server;
    open_reader(worker);
    worker->native = native_open(worker);
    if (atomic_fetch_add_explicit(&server->workers_open, 1, memory_order_acq_rel) + 1 == server->settings.threads)
        log_start(server, worker->native); /* the last one: lines about other threads have come */
    run(worker);
    disk_reader_close(worker->reader);
    worker->reader = NULL;
    native_close(worker->native);
    while (!list_empty(&worker->conns))
        end_conn(worker, container_of(worker->conns.next, conn_t, link));
    take_fresh(worker);
    while (!list_empty(&worker->conns))
        end_conn(worker, container_of(worker->conns.next, conn_t, link));
    buffers_trim(worker, 0);
    reply_free(&worker->reply);
    free(worker->tls_buffer);
    return NULL;
}

bool worker_start(server_t *server, unsigned number)
{
    worker_t *worker = &server->workers[number];
    *worker = (worker_t){.server = server, .number = number};
    pthread_mutex_init(&worker->lock, NULL);
    list_init(&worker->fresh);
    list_init(&worker->conns);
    list_init(&worker->again);
    list_init(&worker->watching);
    holds_init(&worker->drafts);
    holds_init(&worker->drafts_called);
    holds_init(&worker->slow);
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    worker->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    bool ok = worker->epoll >= 0 && worker->wake >= 0 &&
              epoll_ctl(worker->epoll, EPOLL_CTL_ADD, worker->wake, &event) == 0;
    int error = ok ? pthread_create(&worker->thread, NULL, main_of, worker) : errno;
    if (error == 0) {
        (void)pthread_setname_np(worker->thread, "mc-worker"); /* as top -H shows it */
        return true;
    }
    log_line(server, 0, "worker thread %u cannot be started: %s; use a smaller -t", number, strerror(error));
    return false;
}

void worker_stop(worker_t *worker)
{
    atomic_set_release(&worker->stop, true); /* pairs with run */
    (void)eventfd_write(worker->wake, 1);
    (void)pthread_join(worker->thread, NULL);
    (void)close(worker->epoll);
    (void)close(worker->wake);
    pthread_mutex_destroy(&worker->lock);
}
