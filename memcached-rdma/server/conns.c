/* SPDX-License-Identifier: Apache-2.0
 * conns.c - `stats conns`. */
#include "server/conn.h"
#include "server/stats.h"

static void show_listener(exec_t *exec, unsigned i)
{
    const server_t *server = exec->server;
    int fd = server->listeners[i];
    reply_format(exec->reply, "STAT %d:addr %s\r\n", fd, server->listener_names[i]);
    reply_format(exec->reply, "STAT %d:state conn_listening\r\n", fd);
    reply_format(exec->reply, "STAT %d:secs_since_last_cmd %u\r\n", fd, clock_uptime(server));
}

/* As memcached names what a connection does. */
static const char *state_of(conn_t *conn, bool asks)
{
    if (asks)
        return "conn_parse_cmd";
    switch (atomic_get_relaxed(&conn->shown_state)) {
    case CONN_VALUE: return "conn_nread";
    case CONN_SWALLOW: return "conn_swallow";
    case CONN_WRITING: return "conn_mwrite";
    case CONN_WATCHING: return "conn_watch";
    case CONN_ENDING:
    case CONN_CLOSED: return "conn_closing";
    default: return "conn_read";
    }
}

static void show_conn(exec_t *exec, conn_t *conn)
{
    uint32_t last = atomic_get_relaxed(&conn->last_second);
    uint32_t now = store_now(exec->server->store);
    reply_format(exec->reply, "STAT %d:addr %s\r\n", conn->fd, conn->address);
    reply_format(exec->reply, "STAT %d:listen_addr %s\r\n", conn->fd, conn->listener);
    reply_format(exec->reply, "STAT %d:state %s\r\n", conn->fd, state_of(conn, &conn->reply == exec->reply));
    reply_format(exec->reply, "STAT %d:secs_since_last_cmd %u\r\n", conn->fd, last == 0 ? 0 : now - last);
}

/* Those of a worker that came after the serial, as many as *left_p says. Returns the last one's serial. */
static uint64_t show_conns(exec_t *exec, worker_t *worker, uint64_t serial, unsigned *left_p)
{
    pthread_mutex_lock(&worker->lock);
    for (list_link_t *link = worker->conns.next; link != &worker->conns && *left_p > 0; link = link->next) {
        conn_t *conn = container_of(link, conn_t, link);
        if (conn->serial <= serial) /* shown in an earlier turn */
            continue;
        show_conn(exec, conn);
        serial = conn->serial;
        (*left_p)--;
    }
    pthread_mutex_unlock(&worker->lock);
    return serial;
}

/* resume: worker << 48 | serial of the last connection that was shown. */
bool stats_conns(exec_t *exec, uint64_t *resume_p)
{
    server_t *server = exec->server;
    unsigned left = TURN_LINES / 4;
    uint64_t serial = *resume_p & ((UINT64_C(1) << 48) - 1);
    for (unsigned i = 0; i < server->listener_count && *resume_p == 0; i++)
        show_listener(exec, i);
    for (uint64_t i = *resume_p >> 48; i < server->worker_count; i++, serial = 0) {
        serial = show_conns(exec, &server->workers[i], serial, &left);
        if (left == 0) {
            *resume_p = i << 48 | serial;
            return false;
        }
    }
    return true;
}
