/* SPDX-License-Identifier: Apache-2.0
 * conn.c - reading commands and values, sending answers. */
#include "server/conn_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/binary.h"
#include "proto/text.h"
#include "server/login.h"

#define IOV_MOST 64
#define KEYS_LINE_MAX (8u << 20) /* bytes of a list of keys */

/* What the command needed was read: it runs when it is the connection's turn. */
static void on_loaded(loads_t *loads)
{
    conn_t *conn = container_of(loads, conn_t, loads);
    conn->parked = false;
    conn->more = true;
    if (list_empty(&conn->again))
        list_append(&conn->worker->again, &conn->again);
}

conn_t *conn_open(worker_t *worker, int fd, uint64_t serial, const char *address, const char *listener)
{
    conn_t *conn = calloc(1, sizeof(*conn));
    if (conn == NULL)
        return NULL;
    list_init(&conn->link);
    list_init(&conn->again);
    list_init(&conn->watching);
    conn->serial = serial;
    conn->worker = worker;
    conn->loads = (loads_t){.worker = worker, .ready = on_loaded};
    conn->fd = fd;
    atomic_set_relaxed(&conn->last_second, store_now(worker->server->store));
    conn->logged_in = !login_is_needed(worker->server);
    conn->protocol = (uint8_t)(conn->logged_in ? worker->server->settings.protocol : PROTOCOL_TEXT);
    memcpy(conn->address, address, strnlen(address, ADDRESS_BYTES - 1));
    memcpy(conn->listener, listener, strnlen(listener, ADDRESS_BYTES - 1));
    return conn;
}

/* ---------------------------------------------------------------------------------------- buffers */

static void drop_input(conn_t *conn)
{
    if (conn->in == NULL)
        return;
    buffer_put(conn->worker, conn->in, conn->in_capacity);
    conn->in = NULL;
    conn->in_at = conn->in_end = conn->in_capacity = 0;
}

/* Makes place behind what is buffered; false: no memory, or a line that is too long. */
static bool make_place(conn_t *conn)
{
    if (conn->in == NULL) {
        conn->in = buffer_get(conn->worker, CONN_BUFFER);
        conn->in_capacity = CONN_BUFFER;
        conn->in_at = conn->in_end = 0;
        return conn->in != NULL;
    }
    if (conn->in_at > 0) {
        memmove(conn->in, conn->in + conn->in_at, conn->in_end - conn->in_at);
        conn->in_end -= conn->in_at;
        conn->in_at = 0;
    }
    if (conn->in_end < conn->in_capacity)
        return true;
    if (conn->in_capacity >= KEYS_LINE_MAX)
        return false;
    char *larger = buffer_get(conn->worker, conn->in_capacity * 2);
    if (larger == NULL)
        return false;
    size_t length = conn->in_end, capacity = conn->in_capacity * 2;
    memcpy(larger, conn->in, length);
    drop_input(conn);
    conn->in = larger;
    conn->in_end = length;
    conn->in_capacity = capacity;
    return true;
}

/* ---------------------------------------------------------------------------------------- sending */

/* The client is slow, and others need the memory that it holds: its answers are gone, the connection ends. */
static void close_slow(conn_t *conn)
{
    log_line(conn->worker->server, 1,
             "client %s does not take its answers, and other clients need their memory; closed", conn->address);
    count(&conn->worker->counters.slow_closed, 1);
    hold_set(&conn->worker->slow, &conn->slow_hold, 0);
    reply_sent(&conn->reply, conn->reply.pending, exec_piece_done);
    conn->state = CONN_CLOSED;
    (void)shutdown(conn->fd, SHUT_RDWR); /* the next turn of another connection than this one closes it */
}

/* The client does not take its answers at once: large items stay pinned, small values are copied. */
static void hold_answers(conn_t *conn)
{
    worker_t *worker = conn->worker;
    const server_t *server = worker->server;
    if (conn->slow_hold.bytes == 0) {
        reply_own(&conn->reply, exec_piece_stays, exec_piece_done);
        hold_set(&worker->slow, &conn->slow_hold, conn->reply.capacity + 1);
    }
    while (holds_bytes(&worker->slow) > worker_share(worker) ||
           store_held(server->store) > atomic_get_relaxed(&server->memory_limit) / HELD_SHARE) {
        hold_t *oldest = hold_oldest(&worker->slow);
        if (oldest == NULL)
            break;
        close_slow(container_of(oldest, conn_t, slow_hold));
    }
    if (conn->reply.failed)
        conn->state = CONN_CLOSED;
}

/* Cuts a list of bytes off; returns how many entries are left. */
static size_t cut_iov(struct iovec *iov, int entries, size_t most)
{
    size_t used = 0;
    for (; used < (size_t)entries && most > 0; used++) {
        iov[used].iov_len = iov[used].iov_len < most ? iov[used].iov_len : most;
        most -= iov[used].iov_len;
    }
    return used;
}

/* Sends what is pending, as much as a turn may. `blocked`: the client does not take more now. */
static void flush(conn_t *conn)
{
    budget_t *budget = &conn->worker->budget;
    struct iovec iov[IOV_MOST];
    conn->blocked = false;
    if (!wire_flush(&conn->wire)) {
        conn->blocked = true;
        hold_answers(conn);
        return;
    }
    while (conn->reply.pending > 0 && budget->sent < TURN_BYTES && conn->state != CONN_CLOSED) {
        struct msghdr message = {.msg_iov = iov};
        message.msg_iovlen = cut_iov(iov, reply_iov(&conn->reply, iov, IOV_MOST), TURN_BYTES - budget->sent);
        ssize_t sent = wire_send(&conn->wire, conn->worker, conn->fd, &message);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            conn->blocked = true;
            hold_answers(conn);
            return;
        }
        if (sent <= 0) {
            conn->state = CONN_CLOSED;
            return;
        }
        budget->sent += (size_t)sent;
        count(&conn->worker->counters.bytes_written, (uint64_t)sent);
        reply_sent(&conn->reply, (size_t)sent, exec_piece_done);
    }
    conn->blocked = wire_keeps(&conn->wire);
    if (conn->reply.pending == 0)
        hold_set(&conn->worker->slow, &conn->slow_hold, 0);
}

/* Between commands a connection holds no buffer for answers either: the worker has a spare one. */
static void take_reply(conn_t *conn)
{
    if (conn->reply.bytes != NULL)
        return;
    conn->reply = conn->worker->reply;
    conn->worker->reply = (reply_t){0};
}

static void leave_reply(conn_t *conn)
{
    if (conn->reply.pending > 0)
        return;
    if (conn->worker->reply.bytes != NULL || conn->reply.capacity > CONN_BUFFER || conn->reply.failed) {
        reply_free(&conn->reply);
        return;
    }
    conn->worker->reply = conn->reply;
    conn->reply = (reply_t){0};
}

/* --------------------------------------------------------------------------------------- commands */

/* The connection ends, and its client gets what was answered before. */
static void end_after_answers(conn_t *conn)
{
    if (conn->state != CONN_CLOSED)
        conn->state = CONN_ENDING;
}

static bool runs(const conn_t *conn)
{
    return conn->state != CONN_CLOSED && conn->state != CONN_ENDING;
}

/* A command whose answer comes in portions goes on where its last turn ended. */
static void resume_at(const conn_t *conn, request_t *request, const char *line)
{
    request->resume = conn->resume;
    request->shown = conn->shown;
    if (conn->keys_checked == 0)
        return;
    request->checked = line + conn->keys_checked;
    request->rest.length -= conn->keys_done - (size_t)(request->rest.at - line);
    request->rest.at = line + conn->keys_done;
}

/* Before a login only those commands run by which a client with the key comes to messages. */
static bool is_open(const conn_t *conn, const request_t *request)
{
    bool knocks = request->kind == REQUEST_HELLO || request->kind == REQUEST_META_NOOP;
    return conn->logged_in || (knocks && login_lets_messages(conn->worker->server));
}

/* Nothing that a watcher sends is a command any more. */
static void begin_watch(conn_t *conn, const request_t *request)
{
    const char *error = watch_add(conn->worker, request, &conn->watcher);
    reply_line(&conn->reply, error == NULL ? "OK" : error);
    if (error == NULL) {
        list_append(&conn->worker->watching, &conn->watching);
        conn->state = CONN_SWALLOW;
        conn->swallow = SIZE_MAX;
    }
}

/* A command that begins at in_at, `line` in so many bytes with its end. */
static void run_request(conn_t *conn, request_t *request, text_t line, size_t bytes)
{
    exec_t exec = conn_exec(conn);
    request->client = conn->fd;
    conn->value_tail = request->packet.speaks ? 0 : sizeof(conn->value_end);
    if (request_has_value(request)) {
        conn->in_at += bytes;
        value_begin(conn, request, line.at, line.length);
        return;
    }
    if (request->kind == REQUEST_WATCH) {
        conn->in_at += bytes;
        begin_watch(conn, request);
        return;
    }
    resume_at(conn, request, line.at);
    bool done = exec_request(&exec, request);
    if (done || exec.parked)
        conn_park(conn, &exec);
    conn->messages = conn->messages || (request->kind == REQUEST_HELLO && exec.native != NULL);
    conn->keys_done = done || request->checked == NULL ? 0 : (size_t)(request->rest.at - line.at);
    conn->keys_checked = done || request->checked == NULL ? 0 : (size_t)(request->checked - line.at);
    conn->resume = done ? 0 : request->resume;
    conn->shown = done ? 0 : request->shown;
    conn->in_at += done ? bytes : 0;
    if (request->kind == REQUEST_ERROR && request->swallow)
        value_swallow(conn, request);
    if (exec.close)
        end_after_answers(conn);
}

/* One command line, from in_at on, of so many bytes with its end. */
static void run_line(conn_t *conn, size_t bytes)
{
    request_t request;
    text_t line = {.at = conn->in + conn->in_at};
    line.length = text_line(line.at, bytes);
    text_parse(line.at, line.length, &request);
    log_line(conn->worker->server, 2, "<%d %.*s", conn->fd, line.length > 200 ? 200 : (int)line.length, line.at);
    conn->worker->budget.commands++;
    if (is_open(conn, &request)) {
        run_request(conn, &request, line, bytes);
        return;
    }
    conn->in_at += bytes;
    value_login(conn, line.at, line.length);
}

/* One packet, but for a value behind it. False: more bytes have to come. */
static bool run_packet(conn_t *conn, const char *at, size_t length)
{
    request_t request;
    text_t packet = {.at = at, .length = binary_parse(at, length, &request)};
    if (packet.length == 0)
        return false;
    log_line(conn->worker->server, 2, "<%d packet 0x%02x", conn->fd, request.packet.opcode);
    conn->worker->budget.commands++;
    run_request(conn, &request, packet, packet.length);
    return true;
}

/* Whether a line without an end yet may still become a command. */
static bool may_continue(conn_t *conn)
{
    const char *at = conn->in + conn->in_at;
    size_t length = conn->in_end - conn->in_at;
    return length <= LINE_MAX_BYTES || (conn->logged_in && text_is_long_get(at, length));
}

static void swallow(conn_t *conn, size_t length)
{
    size_t step = conn->swallow < length ? conn->swallow : length;
    conn->in_at += step;
    conn->swallow -= step;
    conn->state = conn->swallow > 0 ? CONN_SWALLOW : CONN_COMMAND;
}

/* The next command of the buffer, a new one or one that goes on. False: more bytes have to come. */
static bool run_command(conn_t *conn, const char *at, size_t length)
{
    if (conn->protocol == PROTOCOL_AUTO)
        conn->protocol = (unsigned char)*at == BINARY_MAGIC ? PROTOCOL_BINARY : PROTOCOL_TEXT;
    if (conn->protocol == PROTOCOL_BINARY)
        return run_packet(conn, at, length);
    const char *end = memchr(at + conn->line_seen, '\n', length - conn->line_seen);
    conn->line_seen = end == NULL ? length : 0;
    if (end != NULL) {
        run_line(conn, (size_t)(end - at) + 1);
    } else if (!may_continue(conn)) {
        conn->end = "error";
        end_after_answers(conn);
    }
    return end != NULL;
}

/* The turn may go on with what is buffered. */
static bool may_run(const conn_t *conn)
{
    const budget_t *budget = &conn->worker->budget;
    return runs(conn) && !conn->blocked && !conn->parked && conn->reply.pending <= REPLY_PENDING_MAX &&
           budget_allows(budget) && (budget->commands < budget->commands_most || conn->state != CONN_COMMAND);
}

/* The checksum of what has come of a value, in each turn a little. */
static void sum_value(conn_t *conn)
{
    if (conn->state == CONN_VALUE && conn->body == NULL && conn->draft.pin.shard != NULL)
        store_sum(&conn->draft, conn->value_done < conn->value_bytes ? conn->value_done : conn->value_bytes);
}

/* Handles what is buffered, as far as the turn's budget goes. True: more could be done at once. */
static bool run_input(conn_t *conn)
{
    while (conn->in_at < conn->in_end || (conn->state == CONN_VALUE && value_is_complete(conn))) {
        const char *at = conn->in == NULL ? "" : conn->in + conn->in_at;
        size_t length = conn->in_end - conn->in_at;
        if (!may_run(conn))
            return runs(conn) && !conn->parked;
        if (conn->state == CONN_SWALLOW) {
            swallow(conn, length);
        } else if (conn->state == CONN_VALUE) {
            conn->in_at += value_take(conn, at, length);
            if (value_is_complete(conn))
                value_finish(conn);
        } else if (!run_command(conn, at, length)) {
            return false;
        }
        if (conn->reply.failed)
            conn->state = CONN_CLOSED;
    }
    return false;
}

/* ---------------------------------------------------------------------------------------- reading */

/* Reads: a value that is on its way into its draft, what follows it into the buffer. 0: nothing there, or the end. */
static ssize_t read_some(conn_t *conn)
{
    struct iovec iov[2];
    struct msghdr message = {.msg_iov = iov};
    size_t value = 0;
    ssize_t got;
    if (!make_place(conn)) {
        conn->state = CONN_CLOSED;
        return 0;
    }
    char *target = conn->state == CONN_VALUE && conn->in_at == conn->in_end ? value_target(conn) : NULL;
    if (target != NULL && conn->value_done < conn->value_bytes) {
        size_t left = conn->value_bytes - conn->value_done;
        value = left < TURN_BYTES ? left : TURN_BYTES;
        iov[message.msg_iovlen++] = (struct iovec){.iov_base = target + conn->value_done, .iov_len = value};
    }
    if (value < TURN_BYTES) /* else more of the value comes behind */
        iov[message.msg_iovlen++] = (struct iovec){.iov_base = conn->in + conn->in_end,
                                                   .iov_len = conn->in_capacity - conn->in_end};
    do {
        got = wire_receive(&conn->wire, conn->worker, conn->fd, &message);
    } while (got < 0 && errno == EINTR);
    if (got == 0 && conn->watcher != NULL)
        conn->deaf = true; /* a client such as `nc -N` says that it sends nothing more, and reads */
    else if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
        conn->state = CONN_CLOSED;
    if (got < 0 && conn->state == CONN_CLOSED)
        conn->end = "error";
    if (got <= 0)
        return 0;
    count(&conn->worker->counters.bytes_read, (uint64_t)got);
    size_t direct = (size_t)got < value ? (size_t)got : value;
    conn->worker->budget.taken += direct;
    conn->value_done += direct;
    conn->in_end += (size_t)got - direct;
    return got;
}

static void set_events(conn_t *conn, uint32_t events)
{
    if (conn->events == events)
        return;
    struct epoll_event event = {.events = events, .data.ptr = conn};
    conn->events = events;
    conn->writing = events == EPOLLOUT;
    if (epoll_ctl(conn->worker->epoll, EPOLL_CTL_MOD, conn->fd, &event) != 0)
        conn->state = CONN_CLOSED;
}

/* While a connection waits for the disk its client mostly sends nothing: its events stay until one comes. */
static void want(conn_t *conn, bool writing)
{
    set_events(conn, writing ? EPOLLOUT : conn->deaf ? 0 : conn->parked ? conn->events & EPOLLIN : EPOLLIN);
}

static void begin_turn(conn_t *conn)
{
    const settings_t *settings = &conn->worker->server->settings;
    atomic_set_relaxed(&conn->last_second, store_now(conn->worker->server->store));
    conn->worker->budget = (budget_t){.commands_most = settings->requests_per_event};
}

/* more: the connection could go on at once, but others come first. False: it is to be closed. */
static bool end_turn(conn_t *conn, bool more)
{
    worker_t *worker = conn->worker;
    worker_counters_t *counters = &worker->counters;
    count_peak(&counters->turn_commands, worker->budget.commands);
    count_peak(&counters->turn_taken, worker->budget.taken);
    count_peak(&counters->turn_sent, worker->budget.sent);
    if (conn->in != NULL && conn->in_at == conn->in_end)
        drop_input(conn);
    sum_value(conn);
    if (conn->state == CONN_ENDING && conn->reply.pending == 0 && !conn->blocked)
        conn->state = CONN_CLOSED;
    leave_reply(conn);
    if (conn->state != CONN_CLOSED)
        want(conn, conn->blocked);
    if (conn->state == CONN_CLOSED)
        return false;
    conn->more = more;
    if (!conn->blocked && !conn->parked && (more || conn->reply.pending > 0 || wire_has_more(&conn->wire))) {
        count(&counters->conn_yields, 1);
        list_append(&worker->again, &conn->again);
    }
    conn_state_t shown = conn->watcher != NULL ? CONN_WATCHING : conn->blocked ? CONN_WRITING : conn->state;
    atomic_set_relaxed(&conn->shown_state, shown);
    return true;
}

/* What a watcher's log has is sent when everything before has gone. */
static void take_events(conn_t *conn)
{
    if (conn->watcher == NULL || conn->reply.pending > 0 || conn->state == CONN_CLOSED)
        return;
    take_reply(conn);
    watch_take(conn->worker->server, conn->watcher, &conn->reply);
    flush(conn);
}

/* What is pending is sent first; then, with reads, the socket is read once. */
static bool turn(conn_t *conn, bool reads)
{
    bool more = false;
    begin_turn(conn);
    flush(conn);
    if (conn->reply.pending == 0 && !conn->blocked && conn->state != CONN_CLOSED && (!reads || read_some(conn) > 0)) {
        take_reply(conn);
        more = run_input(conn);
        flush(conn);
    }
    take_events(conn);
    return end_turn(conn, more);
}

bool conn_tell(conn_t *conn)
{
    return !list_empty(&conn->again) || conn->blocked || turn(conn, false);
}

bool conn_ready(conn_t *conn, uint32_t events)
{
    if (!list_empty(&conn->again) && conn->state != CONN_CLOSED)
        return true; /* it goes on when it is its turn */
    bool silent = conn->writing || conn->deaf || conn->parked;
    if (conn->state == CONN_CLOSED || (silent && (events & (EPOLLERR | EPOLLHUP)) != 0))
        return false;
    if (conn->parked && !conn->writing) {
        set_events(conn, 0); /* what comes has to wait */
        return conn->state != CONN_CLOSED;
    }
    return turn(conn, !conn->writing);
}

bool conn_resume(conn_t *conn)
{
    return conn->state != CONN_CLOSED && turn(conn, !conn->more && wire_has_more(&conn->wire));
}

void conn_close(conn_t *conn)
{
    if (conn->watcher != NULL)
        watch_remove(conn->worker->server, conn->watcher);
    list_remove(&conn->watching);
    watch_conn(conn->worker->server, conn->address, conn->fd, conn->end == NULL ? "normal" : conn->end);
    list_remove(&conn->again);
    value_drop(conn);
    loads_clear(&conn->loads);
    hold_set(&conn->worker->slow, &conn->slow_hold, 0);
    reply_sent(&conn->reply, conn->reply.pending, exec_piece_done); /* ends the pins */
    reply_free(&conn->reply);
    drop_input(conn);
    free(conn->line);
    wire_close(&conn->wire);
    (void)close(conn->fd);
    free(conn);
}
