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

static void show_conn(exec_t *exec, conn_t *conn)
{
    uint32_t last = atomic_get_relaxed(&conn->last_second);
    uint32_t now = store_now(exec->server->store);
    bool mine = &conn->reply == exec->reply;
    reply_format(exec->reply, "STAT %d:addr %s\r\n", conn->fd, conn->address);
    reply_format(exec->reply, "STAT %d:listen_addr %s\r\n", conn->fd, conn->listener);
    reply_format(exec->reply, "STAT %d:state %s\r\n", conn->fd, mine ? "conn_parse_cmd" : "conn_read");
    reply_format(exec->reply, "STAT %d:secs_since_last_cmd %u\r\n", conn->fd, last == 0 ? 0 : now - last);
}

void stats_conns(exec_t *exec)
{
    server_t *server = exec->server;
    for (unsigned i = 0; i < server->listener_count; i++)
        show_listener(exec, i);
    for (unsigned i = 0; i < server->worker_count; i++) {
        worker_t *worker = &server->workers[i];
        pthread_mutex_lock(&worker->lock);
        list_for_each(link, &worker->conns)
            show_conn(exec, container_of(link, conn_t, link));
        pthread_mutex_unlock(&worker->lock);
    }
}
