/* SPDX-License-Identifier: Apache-2.0
 * session.c - a client by messages, from its first request to the end of its last call (N2). */
#include <stdlib.h>
#include <string.h>

#include "server/native.h"

#define EXPLAIN_MAX 512u

static _Atomic uint64_t *counter_of(worker_counters_t *counters, const vbn_peer_t *peer)
{
    const char *name = vbn_peer_transport(peer);
    if (name != NULL && strcmp(name, "shm") == 0)
        return &counters->clients_shm;
    if (name != NULL && strcmp(name, "tcp") == 0)
        return &counters->clients_tcp;
    return &counters->clients_rdma;
}

static void log_client(const native_t *native, const vbn_peer_t *peer)
{
    char how[EXPLAIN_MAX];
    const server_t *server = native->worker->server;
    if (atomic_get_relaxed(&server->verbosity) < 1)
        return;
    (void)vbn_explain(peer, how, sizeof(how));
    log_line(server, 1, "a client by messages over %s", how);
}

session_t *session_of(native_t *native, vbn_peer_t *peer)
{
    session_t *session = vbn_peer_user(peer);
    if (session != NULL)
        return session;
    session = calloc(1, sizeof(*session));
    if (session == NULL)
        return NULL;
    *session = (session_t){.peer = peer, .counter = counter_of(&native->worker->counters, peer)};
    list_append(&native->sessions, &session->link);
    count(session->counter, 1);
    vbn_peer_set_user(peer, session);
    log_client(native, peer);
    return session;
}

void session_end(session_t *session)
{
    count(session->counter, (uint64_t)-1);
    session->peer = NULL;
    if (session->calls > 0)
        return;
    list_remove(&session->link);
    free(session);
}

void session_put_call(session_t *session)
{
    session->calls--;
    if (session->peer != NULL || session->calls > 0)
        return;
    list_remove(&session->link);
    free(session);
}
