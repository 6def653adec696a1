/* SPDX-License-Identifier: Apache-2.0
 * conn_value.c - the value that a client sends behind its command line, and the login, which has the same form. */
#include "server/conn_value.h"

#include <stdlib.h>
#include <string.h>

#include "proto/binary.h"
#include "proto/text.h"
#include "server/login.h"

#define DRAFT_BYTES 128u /* that a value on its way takes beside itself */

exec_t conn_exec(conn_t *conn)
{
    return (exec_t){.server = conn->worker->server,
                    .counters = &conn->worker->counters,
                    .reply = &conn->reply,
                    .budget = &conn->worker->budget,
                    .loads = &conn->loads,
                    .native = conn->worker->native};
}

void conn_park(conn_t *conn, const exec_t *exec)
{
    if (exec->parked)
        conn->parked = !loads_begin(&conn->loads);
    else if (conn->loads.first != NULL)
        loads_clear(&conn->loads);
}

/* ------------------------------------------------------------------------------------------ values */

/* Where the next bytes of the value go; NULL: nowhere, it is lost. */
char *value_target(const conn_t *conn)
{
    return conn->body != NULL ? conn->body : conn->draft.pin.shard != NULL ? conn->draft.value : NULL;
}

/* The value gives up its memory: it was stored, or is lost. */
void value_drop(conn_t *conn)
{
    hold_set(&conn->worker->drafts, &conn->draft_hold, 0);
    store_abandon(&conn->draft);
    free(conn->body);
    conn->body = NULL;
}

/* Values that are on their way longest give way. */
static void bound_drafts(worker_t *worker)
{
    while (holds_bytes(&worker->drafts) > worker_share(worker)) {
        conn_t *oldest = container_of(hold_oldest(&worker->drafts), conn_t, draft_hold);
        log_line(worker->server, 1, "a value of client %s was on its way for too long, and gave way to others",
                 oldest->address);
        count(&worker->counters.drafts_lost, 1);
        value_drop(oldest);
    }
}

/* A value that was collected goes into its item. False: answered already. */
static bool move_body(conn_t *conn, exec_t *exec, const request_t *request)
{
    if (conn->body == NULL)
        return true;
    if (!exec_begin(exec, request, &conn->draft))
        return false;
    memcpy(conn->draft.value, conn->body, conn->value_bytes);
    free(conn->body);
    conn->body = NULL;
    return true;
}

/* False: it is parked. */
static bool end_value(conn_t *conn, const request_t *request)
{
    exec_t exec = conn_exec(conn);
    bool good = conn->value_tail == 0 || (conn->value_end[0] == '\r' && conn->value_end[1] == '\n');
    if (!good)
        exec_bad_value(&exec, request, &conn->draft);
    else if (value_target(conn) == NULL)
        exec_lost(&exec, request);
    else if (move_body(conn, &exec, request))
        exec_commit(&exec, request, &conn->draft);
    conn_park(conn, &exec);
    if (exec.parked)
        return false;
    value_drop(conn);
    conn->state = CONN_COMMAND;
    return true;
}

/* Takes bytes of the value and its end, at most as many as a turn may; returns how many. */
size_t value_take(conn_t *conn, const char *bytes, size_t length)
{
    size_t value = conn->value_bytes, taken = 0;
    length = length < TURN_BYTES ? length : TURN_BYTES;
    if (conn->value_done < value) {
        char *target = value_target(conn);
        taken = value - conn->value_done < length ? value - conn->value_done : length;
        if (target != NULL)
            memcpy(target + conn->value_done, bytes, taken);
        conn->value_done += taken;
    }
    while (taken < length && conn->value_done >= value && conn->value_done < value + conn->value_tail)
        conn->value_end[conn->value_done++ - value] = bytes[taken++];
    conn->worker->budget.taken += taken;
    return taken;
}

bool value_is_complete(const conn_t *conn)
{
    return conn->value_done == conn->value_bytes + conn->value_tail;
}

/* Memory for a value: its item, unless it is a small one that is not whole yet, which would keep a segment from being used. False:
 * there is none, and that is answered. */
static bool place_value(conn_t *conn, const request_t *request)
{
    exec_t exec = conn_exec(conn);
    const server_t *server = conn->worker->server;
    bool whole = conn->in_end - conn->in_at >= conn->value_bytes + conn->value_tail;
    if (whole || conn->value_bytes > server->settings.item_max ||
        store_is_large(server->store, request->key.length, conn->value_bytes))
        return exec_begin(&exec, request, &conn->draft);
    conn->body = malloc(conn->value_bytes + 1);
    if (conn->body == NULL)
        exec_lost(&exec, request);
    return conn->body != NULL;
}

void value_swallow(conn_t *conn, const request_t *request)
{
    conn->swallow = request->value_bytes + conn->value_tail;
    conn->state = conn->swallow > 0 ? CONN_SWALLOW : CONN_COMMAND;
}

/* A value whose command line is `line`: takes what is buffered, and remembers the line when more has to come. */
void value_begin(conn_t *conn, const request_t *request, const char *line, size_t line_bytes)
{
    conn->value_bytes = request->value_bytes;
    conn->value_done = 0;
    if (!place_value(conn, request)) {
        value_swallow(conn, request);
        return;
    }
    conn->in_at += value_take(conn, conn->in + conn->in_at, conn->in_end - conn->in_at);
    if (value_is_complete(conn) && end_value(conn, request))
        return;
    conn->line = malloc(line_bytes);
    if (conn->line == NULL) {
        value_drop(conn);
        conn->state = CONN_CLOSED;
        count(&conn->worker->counters.oom, 1);
        return;
    }
    memcpy(conn->line, line, line_bytes);
    conn->line_bytes = line_bytes;
    conn->state = CONN_VALUE;
    hold_set(&conn->worker->drafts, &conn->draft_hold, conn->value_bytes + DRAFT_BYTES);
    bound_drafts(conn->worker);
}

/* ------------------------------------------------------------------------------------------ login */

/* A line of a client that has not logged in: only the data of a login may follow, which is collected as a value is. */
void value_login(conn_t *conn, const char *line, size_t length)
{
    uint32_t bytes;
    if (!login_line(line, length, &bytes)) {
        reply_line(&conn->reply, "CLIENT_ERROR unauthenticated");
        return;
    }
    conn->body = bytes > LOGIN_BYTES_MAX ? NULL : malloc((size_t)bytes + 1);
    if (conn->body == NULL) {
        conn->state = CONN_CLOSED;
        return;
    }
    conn->value_bytes = bytes;
    conn->value_tail = sizeof(conn->value_end);
    conn->value_done = 0;
    conn->state = CONN_VALUE;
    hold_set(&conn->worker->drafts, &conn->draft_hold, conn->value_bytes + DRAFT_BYTES);
    bound_drafts(conn->worker);
}

static void end_login(conn_t *conn)
{
    server_t *server = conn->worker->server;
    login_result_t result = LOGIN_WRONG;
    bool good = conn->value_end[0] == '\r' && conn->value_end[1] == '\n';
    if (good && conn->body != NULL) /* else it was too slow, and gave way */
        result = login_try(server, conn->body, conn->value_bytes);
    conn->logged_in = good && result == LOGIN_RIGHT;
    count(&conn->worker->counters.auth_cmds, good && result != LOGIN_MALFORMED);
    count(&conn->worker->counters.auth_errors, good && result == LOGIN_WRONG);
    if (good && result == LOGIN_WRONG)
        log_line(server, 1, "client %s: a login failed", conn->address);
    reply_line(&conn->reply, !good                       ? "CLIENT_ERROR bad command line termination"
                             : result == LOGIN_MALFORMED ? "CLIENT_ERROR bad authentication token format"
                             : result == LOGIN_WRONG     ? "CLIENT_ERROR authentication failure"
                                                         : "STORED");
    if (conn->body != NULL)
        explicit_bzero(conn->body, conn->value_bytes);
    value_drop(conn);
    conn->state = CONN_COMMAND;
}

/* The value is complete: the command again, from the copy of its line. */
void value_finish(conn_t *conn)
{
    request_t request;
    if (!conn->logged_in) {
        end_login(conn);
        return;
    }
    if (conn->protocol == PROTOCOL_BINARY)
        (void)binary_parse(conn->line, conn->line_bytes, &request);
    else
        text_parse(conn->line, conn->line_bytes, &request);
    if (!end_value(conn, &request))
        return;
    free(conn->line);
    conn->line = NULL;
}
