/* SPDX-License-Identifier: Apache-2.0
 * mc.h - the client library's own structures.
 *
 * C1 A call belongs to the library, the request (vmc_req_t) to the caller. A request that ends early (time-out, cancel) leaves its
 * call behind; the answer that comes later finds no request and is thrown away. C2 Where the core still reads or writes the
 * caller's memory at that moment, the connection is ended first, so that the memory is the caller's again. C3 An answer by
 * message names a call by its number, which is not used again for 2^16 calls; answers on a socket come in the order of requests
 * and name them, too. C4 After a fork the child touches nothing of the parent's core. */
#ifndef MC_CLIENT_MC_H
#define MC_CLIENT_MC_H

#include "base/list.h"
#include "proto/hello.h"
#include "proto/message.h"
#include "vbn/vbn.h"
#include "verbena/mc.h"

#define CALL_COPY 4096u  /* bytes of a value that a call has space for */
#define KEY_ANY_MAX 186u /* bytes of a key that is no text: in base64 it has as many as a server takes */
#define FLYING_MAX 256u  /* requests of a server whose answers are outstanding; others wait here */
#define NS_PER_MS UINT64_C(1000000)
#define PLAIN_NS (600 * 1000 * NS_PER_MS) /* a server without messages is not asked again so soon */

typedef struct mc_server mc_server_t;
typedef struct onesided onesided_t;
typedef struct lookup lookup_t;

/* --------------------------------------------------------------------------------------------- calls */

typedef enum call_kind { CALL_GET, CALL_LIST, CALL_PUT, CALL_DELETE, CALL_DELTA, CALL_TOUCH, CALL_NOOP } call_kind_t;

/* Keys of one server, of a get of many. */
typedef struct key_list {
    const vmc_key_t *keys;
    const uint32_t *index; /* which of them */
    uint32_t count;
    vmc_found_t found;
    void *arg;
} key_list_t;

/* What is asked. Texts are the caller's. */
typedef struct ask {
    call_kind_t kind;
    put_mode_t mode;
    bool touch, decrement;
    bool pinned; /* put: pins the item; delete: releases it */
    const char *key;
    size_t key_bytes;
    const void *value; /* put */
    size_t value_bytes;
    int32_t exptime;
    uint32_t flags;
    uint64_t number; /* delta, or the CAS id to compare */
    void *buffer;    /* get */
    size_t capacity;
    key_list_t list;
} ask_t;

typedef struct call {
    list_link_t link; /* in the server's `queue` or `flying`, or in the handle's `spare` */
    mc_server_t *server;
    vmc_req_t *req; /* NULL: ended early (C1) */
    uint32_t id;
    ask_t ask; /* the key points to `key` */
    vbn_op_t send, pull;
    bool sending, pulling; /* the operation is not done */
    bool announced;        /* a value that the server fetches: later requests for the key wait */
    bool queued, flying;
    vmc_status_t result; /* when the value has come */
    message_answer_t answer;
    struct iovec iov[2];
    char *list_data; /* heap: entries that are fetched */
    size_t list_bytes;
    uint32_t list_done; /* keys of the list that are answered */
    char key[KEY_MAX];
    char copy[CALL_COPY]; /* of a value, or the keys of a list */
} call_t;

/* ------------------------------------------------------------------------------------------- servers */

typedef enum server_state {
    SERVER_NONE,       /* no connection */
    SERVER_RESOLVING,  /* the name */
    SERVER_CONNECTING, /* the socket */
    SERVER_HELLO,      /* the hello is sent, or the question whether meta commands are known */
    SERVER_JOINING,    /* the core connects */
    SERVER_MESSAGES,
    SERVER_SOCKET
} server_state_t;

/* Why the last connection ended, where a caller tells the kinds apart. */
typedef enum server_fault { FAULT_OTHER, FAULT_NAME, FAULT_SILENT, FAULT_OLD } server_fault_t;

typedef struct stream {
    char *bytes;
    size_t at, end, capacity;
} stream_t;

/* A context of the core and this handle's worker in it. */
typedef struct net {
    list_link_t link; /* in the handle's `nets` */
    struct mc_context *context;
    vbn_worker_t *worker;
    vmc_t *mc;
} net_t;

struct mc_server {
    vmc_t *mc;
    char *host; /* or the path of a socket */
    int port;   /* 0: a path */
    unsigned weight;
    uint8_t state; /* server_state_t */
    int fd;        /* what it waits for: the socket, or the end of the lookup */
    lookup_t *lookup;
    struct addrinfo *addresses, *address; /* of the name; the next one to be tried */
    uint64_t share_ns;                    /* then it is that one's turn */
    uint64_t since_ns;                    /* of this state; SERVER_CONNECTING: of both that connect */
    uint64_t retry_ns;                    /* no new attempt before */
    uint64_t plain_ns;                    /* no hello before: it speaks memcached only */
    bool hello_asked;
    uint8_t hello_closed; /* connections in a row that ended before the hello was answered */
    char why[256];        /* this carrier, or why there is none */
    uint8_t fault;        /* server_fault_t: of the last server_break */
    hello_server_t hello;
    net_t *net;
    vbn_peer_t *peer;
    onesided_t *onesided; /* NULL: nothing is read one-sided */
    list_link_t queue, flying;
    unsigned flying_count, announced; /* announced: of those that fly */
    stream_t in, out;
    size_t value_left; /* bytes of a value and its end that are to come */
    size_t value_done;
};

typedef struct ring_point {
    uint32_t value, server;
} ring_point_t;

typedef enum carrier { CARRIER_AUTO, CARRIER_MESSAGES, CARRIER_SOCKETS } carrier_t;

struct vmc {
    mc_server_t *servers;
    unsigned server_count;
    ring_point_t *ring; /* sorted; NULL with one server */
    unsigned ring_count;
    uint64_t timeout_ns, connect_ns;
    carrier_t carrier;
    bool onesided_off; /* onesided=off */
    char *key_file;
    list_link_t nets;
    call_t **calls; /* by the low half of their number */
    uint32_t call_count, call_capacity;
    list_link_t spare;
    uint64_t forks; /* os_fork_generation when it was opened */
    vmc_counts_t counts;
    unsigned sockets; /* servers whose socket has to be looked at to get on */
};

/* ---- config.c */
bool config_read(vmc_t *mc, const char *text, const char **error_p);
/* ---- ring.c */
bool ring_build(vmc_t *mc);
mc_server_t *ring_find(const vmc_t *mc, const char *key, size_t length);
/* ---- context.c */
/* This handle's worker in the context with this key; NULL: the core's error text says why. */
net_t *net_get(vmc_t *mc, const uint8_t key[VBN_JOB_KEY_BYTES], bool no_auth, bool devices);
void net_close(net_t *net);
/* ---- open.c */
/* To be called first by every call of the API: in a child of fork() it forgets the parent's connections (C4). */
void handle_check(vmc_t *mc);
/* ---- request.c */
/* Queues a request; VMC_INPROGRESS, or an error. copy: the value is the caller's again on return, when it fits a call. */
vmc_status_t call_start(vmc_t *mc, const ask_t *ask, vmc_req_t *req, bool copy);
/* The same for a server that the caller has chosen. The key is text, or any KEY_ANY_MAX bytes. */
vmc_status_t call_start_at(mc_server_t *server, const ask_t *ask, vmc_req_t *req, bool copy);
call_t *call_start_list(vmc_t *mc, mc_server_t *server, const key_list_t *list, vmc_req_t *req);
/* ---- call.c */
/* The call's answer: ends the request. The call goes when its operations are done. */
void call_end(call_t *call, vmc_status_t status);
/* Ends everything that was sent (C1), or also what waits, with this status. */
void calls_fail(mc_server_t *server, vmc_status_t status, bool queued);
call_t *call_of(const vmc_t *mc, uint32_t id);
call_t *call_new(vmc_t *mc, mc_server_t *server, vmc_req_t *req); /* NULL: no memory */
void call_again(call_t *call);   /* back to the front of the queue, under another number */
void call_sent(call_t *call);    /* it is in `flying` from now on */
void call_op_done(call_t *call); /* one of its operations is done */
void call_end_early(vmc_req_t *req, vmc_status_t status);
/* ---- pump.c */
/* Sends what waits, connecting first where need be. */
void server_pump(mc_server_t *server);
/* Goes on with the socket from now on. */
void join_socket(mc_server_t *server);
/* The server has answered by message. */
void server_joined(mc_server_t *server);
/* ---- server.c */
/* The socket is ready: events as of poll. */
void server_ready(mc_server_t *server, short events);
/* What the socket waits for, as of poll; 0: nothing. */
short server_events(const mc_server_t *server);
/* Time limits of connecting. */
void server_check(mc_server_t *server, uint64_t now);
/* ---- state.c */
/* Ends the connection; what was sent fails. */
void server_break(mc_server_t *server, const char *format, ...) __attribute__((format(printf, 2, 3)));
void server_break_by(mc_server_t *server, server_fault_t fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void server_close(mc_server_t *server, bool forked);
/* The same in order: the server sees that this client leaves, and no loss. The caller closes the nets next. */
void server_leave(mc_server_t *server);
void server_say(mc_server_t *server, const char *format, ...) __attribute__((format(printf, 2, 3)));
void server_enter(mc_server_t *server, server_state_t state);
/* Ends an attempt to connect by the core: the caller goes on with join_socket. */
void join_end(mc_server_t *server);
/* ---- lookup.c */
/* Asks for a name's addresses. NULL: errno says why. */
lookup_t *lookup_start(const char *host, int port);
/* Readable when the answer is there. */
int lookup_fd(const lookup_t *lookup);
/* The answer is there, and is an error or more than a minute old: the next attempt asks again. */
bool lookup_is_spent(const lookup_t *lookup);
/* The answer, once: NULL, and the addresses are the caller's (freeaddrinfo); or why there are none. */
const char *lookup_take(lookup_t *lookup, struct addrinfo **addresses_p);
/* Nobody waits for the answer any more. */
void lookup_drop(lookup_t *lookup, bool forked);
/* ---- dial.c */
/* Begins to connect: the server resolves or connects from then on, or the attempt has ended. */
void dial_start(mc_server_t *server);
/* The name's addresses are there. */
void dial_resolved(mc_server_t *server);
/* Goes on with the next address, since the last one has failed; ends the attempt where there is none. */
void dial_next(mc_server_t *server, int error);
/* ---- join.c */
/* The server has messages: connects by the core. False: not possible, `why` says why. */
bool join_start(mc_server_t *server);
/* ---- message.c */
/* Whether the order of requests and their number allow it now. */
bool message_may_send(const call_t *call);
/* Ends the connection when it cannot be sent. */
void message_send(call_t *call);
/* Asks for an answer, which brings the server to SERVER_MESSAGES. False: no memory. */
bool message_knock(mc_server_t *server);
/* ---- answer.c */
void message_listen(net_t *net);
void message_lost(void *server, vbn_peer_t *peer, vbn_status_t status, const char *text);
/* ---- onesided.c */
/* The server lets this client read: with the key of its page. */
void onesided_open(mc_server_t *server, const void *key, size_t key_bytes);
void onesided_close(mc_server_t *server, bool forked);
bool onesided_reads(const mc_server_t *server);
/* True: the get is done, the request is filled. False: it is to be asked for. */
bool onesided_get(vmc_t *mc, const ask_t *ask, vmc_req_t *req);
/* The same from a server that the caller has chosen. The key is as for call_start_at, and handle_check was called. */
bool onesided_get_at(mc_server_t *server, const ask_t *ask, vmc_req_t *req);
/* ---- socket.c */
/* Writes the request to the server's stream; false: no memory. */
bool socket_write(call_t *call);
/* Reads answers; false: they make no sense, or the connection has ended. */
bool socket_read(mc_server_t *server);
bool socket_flush(mc_server_t *server);
bool stream_add(stream_t *stream, const void *bytes, size_t length);
/* Receives what is there; false: the connection has ended. */
bool stream_fill(stream_t *stream, int fd);
/* A whole line without its end, taken off; false: there is none. */
bool stream_line(stream_t *stream, text_t *line_p);
void stream_free(stream_t *stream);
/* ---- wait.c */
/* Handles what has come; returns how much. */
unsigned wait_progress(vmc_t *mc, bool sockets);
/* Until one of the requests is complete or the time is over. NULL entries are passed over. */
void wait_for(vmc_t *mc, vmc_req_t *const *reqs, size_t count, uint64_t end_ns);
/* The place of the first one that is complete; count: none is. */
size_t wait_complete(vmc_req_t *const *reqs, size_t count);

#endif
