/* SPDX-License-Identifier: Apache-2.0
 * conn.h - one client on a socket. All of it belongs to the worker's thread, but for what `stats conns` reads: addresses,
 * which do not change, `last_second` and `shown_state`.
 *
 * A connection that waits for its next command holds no buffer, neither for input nor for answers. */
#ifndef MC_SERVER_CONN_H
#define MC_SERVER_CONN_H

#include "server/exec.h"
#include "server/wire.h"

#define CONN_BUFFER (16u << 10) /* bytes of a read buffer; only long lists of keys and cut-off lines need more */
#define ADDRESS_BYTES 128

typedef enum conn_state {
    CONN_COMMAND, /* between commands, or within a command line */
    CONN_VALUE,   /* a value is read into its draft */
    CONN_SWALLOW, /* bytes are thrown away */
    CONN_ENDING,  /* nothing is read or run any more; closed when the last answer is sent */
    CONN_CLOSED,
    CONN_WRITING, /* as it is shown: answers wait until the client takes them */
    CONN_WATCHING /* and so is a watcher */
} conn_state_t;

typedef struct conn {
    list_link_t link;  /* in the worker's `conns` or `fresh` */
    list_link_t again; /* in a list: it has yielded, and goes on without an event of its socket */
    worker_t *worker;
    uint64_t serial; /* of all connections, from 1 up: the order of `conns` */
    int fd;
    uint8_t state;   /* conn_state_t */
    uint32_t events; /* of the epoll set */
    bool writing;    /* the epoll set asks for EPOLLOUT, and nothing is read */
    wire_t wire;
    bool tls;
    bool more; /* the last turn left commands in the buffer that could run at once */
    bool logged_in;
    uint8_t protocol; /* protocol_t; its first byte decides */
    bool messages;    /* the client was told how to come by messages */
    bool blocked;     /* answers wait to be sent; commands in the buffer wait for them */
    char *in;         /* NULL: nothing is buffered */
    size_t in_capacity, in_at, in_end;
    size_t line_seen;               /* bytes from in_at on that hold no end of a line */
    size_t keys_done, keys_checked; /* of a list of keys at in_at that is answered in portions: bytes of its line */
    uint64_t resume, shown;         /* of a long answer of the command at in_at (request.h) */
    char *line;                     /* of the command whose value is read, a copy */
    size_t line_bytes;
    store_draft_t draft; /* pin.shard NULL: there is none */
    char *body;          /* a small value that is collected here until it is whole; NULL: in its draft, or lost */
    size_t value_bytes, value_done; /* how long it is; bytes of it and its end that have come */
    hold_t draft_hold, slow_hold;
    unsigned value_tail; /* bytes of its end: none in a packet */
    char value_end[2];
    size_t swallow; /* bytes to throw away */
    reply_t reply;
    loads_t loads;        /* values on disk for the command at in_at, or the value that has come */
    bool parked;          /* they are being read: nothing else goes on */
    watcher_t *watcher;   /* the client gets lines about events, and its commands are thrown away */
    list_link_t watching; /* in the worker's list */
    bool deaf;            /* nothing more comes from a watcher */
    const char *end;      /* why the connection ends; NULL: as its client wanted */
    _Atomic uint32_t last_second, shown_state; /* for `stats conns`; CONN_* */
    char address[ADDRESS_BYTES], listener[ADDRESS_BYTES];
} conn_t;

conn_t *conn_open(worker_t *worker, int fd, uint64_t serial, const char *address, const char *listener);
/* The socket is ready; events as epoll_wait gives them. False: the connection is to be closed. */
bool conn_ready(conn_t *conn, uint32_t events);
/* The next turn of a connection that had yielded, and is in no list any more. False: it is to be closed. */
bool conn_resume(conn_t *conn);
void conn_close(conn_t *conn);
/* Events of a watcher. False: the connection is to be closed. */
bool conn_tell(conn_t *conn);

/* Read buffers of a worker (share.c). */
char *buffer_get(worker_t *worker, size_t bytes); /* NULL: no memory, or above the limit */
void buffer_put(worker_t *worker, char *buffer, size_t bytes);
void buffers_trim(worker_t *worker, unsigned kept); /* frees spare ones but so many */

#endif
