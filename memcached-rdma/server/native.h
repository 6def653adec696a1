/* SPDX-License-Identifier: Apache-2.0
 * native.h - requests through the core: one core worker for each worker thread, in that thread's epoll set. All of it belongs to
 * that thread.
 *
 * N1 A call (call.h) holds pins or a draft only until its operation is done, or until its client's lease ends: a client that
 * does not take its answer, or does not let its value be fetched, within the lease is disconnected, which ends the operation. A
 * lease counts the time in which the server's thread ran.
 * N2 A session ends when its peer is lost or disconnected; its memory goes with its last call. */
#ifndef MC_SERVER_NATIVE_H
#define MC_SERVER_NATIVE_H

#include "base/os.h"
#include "server/exec.h"

#define TRANSPORTS_MAX 64u

/* A client, from its first request on. */
typedef struct session {
    list_link_t link;          /* in native->sessions */
    vbn_peer_t *peer;          /* NULL: lost or disconnected */
    unsigned calls;            /* that wait for an operation */
    bool reads;                /* it may read one-sided, so answers need not hide the memory of items */
    _Atomic uint64_t *counter; /* of clients by transport */
} session_t;

struct native {
    worker_t *worker;
    vbn_worker_t *core;
    list_link_t sessions;
    list_link_t waiting; /* calls whose operation is not done */
    list_link_t spare;   /* calls */
    unsigned spare_count;
    unsigned handled;                /* messages since sockets were last looked at */
    uint64_t ran_ns, looked_ns;      /* the clock of leases, and when it was last looked at */
    uint64_t next_check_ns;          /* of leases */
    uint64_t sockets_ns;             /* when sockets were last looked at */
    bool devices;                    /* the core has an RDMA device open */
    char transports[TRANSPORTS_MAX]; /* that it has open, as tl.enable names them */
    bool armed;                      /* nothing to do for the core until its descriptor is ready, or it is called */
};

/* On the worker's thread. NULL: there are no messages; a line on stderr says why unless that is wanted. */
native_t *native_open(worker_t *worker);
void native_close(native_t *native);
/* Handles what has come. Returns how long epoll_wait may sleep, in ms: 0 not at all, -1 until something comes; or
 * NATIVE_AGAIN: there is more, and sockets need not be looked at yet. */
#define NATIVE_AGAIN (-2)
int native_turn(native_t *native);
/* The core's descriptor is ready. */
static inline void native_wake(native_t *native)
{
    native->armed = false;
}
/* The clock of leases, in ns: it stands while this thread does (SIGSTOP, a guest that is paused), as clients cannot be served
 * then. Of the time between two looks at most a step counts; while calls wait, looks are less than that apart. */
#define NATIVE_STEP_NS 100000000u
static inline uint64_t native_clock(native_t *native)
{
    uint64_t now = os_now_ns(), passed = now - native->looked_ns;
    native->ran_ns += passed < NATIVE_STEP_NS ? passed : NATIVE_STEP_NS;
    native->looked_ns = now;
    return native->ran_ns;
}
/* Answers a hello line; the client goes on by messages to this thread. */
void native_hello(exec_t *exec, const request_t *request);

/* The session of a peer (session.c); NULL: no memory. */
session_t *session_of(native_t *native, vbn_peer_t *peer);
/* One of its calls has ended. */
void session_put_call(session_t *session);
/* The peer must not be used any more (N2). */
void session_end(session_t *session);

#endif
