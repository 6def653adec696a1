/* SPDX-License-Identifier: Apache-2.0
 * native.c - the core worker of a thread: its turns, sessions, leases. */
#include "server/native.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/os.h"
#include "server/call.h"

#define PROGRESS_MOST 64u  /* rounds before sockets get their turn */
#define MESSAGES_MOST 64u  /* messages before that, and what the round has beyond: at most a ring of each client */
#define CHECK_NS 50000000u /* between two looks at leases */
#define SOCKETS_NS 50000u  /* sockets are looked at so often while messages keep coming */

/* ---------------------------------------------------------------------------------------- sessions */

static void on_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    native_t *native = arg;
    session_t *session = vbn_peer_user(peer);
    (void)status;
    if (session == NULL)
        return;
    log_line(native->worker->server, 2, "a client by messages is gone: %s", text);
    vbn_peer_set_user(peer, NULL);
    session_end(session);
}

/* ------------------------------------------------------------------------------------------ leases */

static void end_lease(native_t *native, session_t *session)
{
    vbn_peer_t *peer = session->peer;
    count(&native->worker->counters.leases_ended, 1);
    log_line(native->worker->server, 1, "a client by messages did not take its answer in time; disconnected");
    vbn_peer_set_user(peer, NULL);
    session_end(session);
    vbn_disconnect(peer, VBN_CLOSE_NOW); /* its operations end, in this call or in vbn_progress */
}

static void check_leases(native_t *native)
{
    uint64_t now = native_clock(native);
    session_t *late;
    do {
        late = NULL;
        list_for_each(link, &native->waiting) {
            const call_t *call = container_of(link, call_t, link);
            if (call->deadline_ns <= now && call->session->peer != NULL) {
                late = call->session;
                break;
            }
        }
        if (late != NULL)
            end_lease(native, late);
    } while (late != NULL);
}

/* -------------------------------------------------------------------------------------------- turns */

static bool may_progress(const native_t *native, unsigned rounds)
{
    return rounds < PROGRESS_MOST && native->handled < MESSAGES_MOST;
}

/* Sockets are looked at next. */
static void end_round(native_t *native)
{
    count_peak(&native->worker->counters.turn_messages, native->handled);
    native->handled = 0;
}

int native_turn(native_t *native)
{
    unsigned rounds = 0;
    if (native->armed && list_empty(&native->waiting))
        return -1; /* requests on sockets do not call the core, so turns of those cost it nothing */
    native->armed = false;
    while (may_progress(native, rounds) && vbn_progress(native->core) > 0)
        rounds++;
    if (!list_empty(&native->waiting) && os_now_ns() >= native->next_check_ns) {
        check_leases(native);
        native->next_check_ns = native->looked_ns + CHECK_NS;
    }
    if (may_progress(native, rounds) && vbn_arm(native->core) == VBN_OK) {
        native->sockets_ns = 0;
        end_round(native);
        native->armed = true;
        return list_empty(&native->waiting) ? -1 : (int)(CHECK_NS / 1000000);
    }
    uint64_t now = os_now_ns();
    if (now - native->sockets_ns < SOCKETS_NS && native->handled < MESSAGES_MOST)
        return NATIVE_AGAIN;
    native->sockets_ns = now;
    end_round(native);
    return 0;
}

/* ------------------------------------------------------------------------------------- start and end */

static bool join_epoll(native_t *native)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = native->worker};
    return epoll_ctl(native->worker->epoll, EPOLL_CTL_ADD, vbn_event_fd(native->core), &event) == 0;
}

/* What clients can come by: rc and ud are in tl.enable also where no device is. */
static void find_transports(native_t *native)
{
    (void)vbn_worker_transports(native->core, native->transports, sizeof(native->transports));
    native->devices = strstr(native->transports, "rc") != NULL || strstr(native->transports, "ud") != NULL;
    log_line(native->worker->server, 1, "thread %u serves messages over %s", native->worker->number,
             native->transports);
}

native_t *native_open(worker_t *worker)
{
    server_t *server = worker->server;
    if (!server->messages)
        return NULL;
    native_t *native = calloc(1, sizeof(*native));
    if (native == NULL)
        return NULL;
    native->worker = worker;
    list_init(&native->sessions);
    list_init(&native->waiting);
    list_init(&native->spare);
    if (vbn_worker_create(server->context, &native->core) != VBN_OK) {
        log_line(server, 0, "thread %u serves sockets only: %s", worker->number, vbn_error_text());
        free(native);
        return NULL;
    }
    find_transports(native);
    vbn_worker_set_peer_lost(native->core, on_lost, native);
    if (join_epoll(native) && vbn_am_handler(native->core, MESSAGE_REQUEST, call_on_message, native) == VBN_OK)
        return native;
    log_line(server, 0, "thread %u serves sockets only: its events cannot be waited for", worker->number);
    native_close(native);
    return NULL;
}

void native_close(native_t *native)
{
    if (native == NULL)
        return;
    list_for_each(link, &native->sessions)
        container_of(link, session_t, link)->peer = NULL;
    vbn_worker_set_peer_lost(native->core, NULL, NULL);
    vbn_worker_destroy(native->core); /* every operation ends, and its call */
    for (list_link_t *link = list_pop(&native->sessions); link != NULL; link = list_pop(&native->sessions))
        free(container_of(link, session_t, link));
    for (list_link_t *link = list_pop(&native->spare); link != NULL; link = list_pop(&native->spare))
        call_free(container_of(link, call_t, link));
    free(native);
}
