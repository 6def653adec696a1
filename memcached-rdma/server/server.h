/* SPDX-License-Identifier: Apache-2.0
 * server.h - the server: settings, store, workers, and what counts for all of it.
 *
 * Threads: the main thread accepts connections; another one keeps house (house.c); each worker owns its connections and runs their
 * commands to completion on the store, whose shards have locks. The event fd of a worker's core worker (vbn_event_fd) stands in its
 * epoll set, too: requests through the core (native.h). */
#ifndef MC_SERVER_SERVER_H
#define MC_SERVER_SERVER_H

#include <pthread.h>

#include "base/atomics.h"
#include "base/list.h"
#include "proto/reply.h"
#include "server/budget.h"
#include "server/detail.h"
#include "server/hold.h"
#include "server/watch.h"
#include "ssd/disk.h"
#include "store/store.h"
#include "vbn/vbn.h"

#define MC_VERSION "1.6.18" /* of memcached, whose protocol and statistics these are */
#define LISTENERS_MAX 32u
#define WORKERS_MAX 512u
#define HELD_SHARE 4u                            /* of -m: what clients may hold by drafts, and as much by answers */
#define EXPTIME_RELATIVE_MAX (60 * 60 * 24 * 30) /* seconds; a larger exptime is a moment, in Unix time */

/* Which clients by message may read one-sided: those of the server's user, all, none. */
typedef enum onesided { ONESIDED_USER, ONESIDED_ON, ONESIDED_OFF } onesided_t;

typedef enum protocol { PROTOCOL_AUTO, PROTOCOL_TEXT, PROTOCOL_BINARY } protocol_t;

typedef struct settings {
    int port; /* 0: no TCP; -1: any free one */
    const char *listen[LISTENERS_MAX];
    bool listen_plain[LISTENERS_MAX]; /* notls: */
    unsigned listen_count;
    const char *socket_path; /* NULL: no Unix socket */
    unsigned socket_mask;
    const char *user, *pid_file;
    bool daemon, lock_memory, core_dumps;
    size_t memory_bytes;
    protocol_t protocol; /* -B */
    bool evict, cas, flush_enabled, dump_enabled, watch_enabled, shutdown_enabled, track_sizes;
    size_t item_max;
    unsigned connections_max;
    unsigned threads, requests_per_event, backlog;
    int verbosity;
    double growth_factor; /* accepted, no effect */
    unsigned chunk_bytes; /* accepted, no effect */
    unsigned napi_ids;    /* accepted, no effect */
    char delimiter;       /* of prefixes in stats detail */
    bool detail, large_pages;
    const char *memory_file;                                /* -e; NULL: every start is cold */
    bool tls;                                               /* -Z, and the words ssl_* */
    const char *tls_chain, *tls_key, *tls_ca, *tls_ciphers; /* NULL: not given */
    unsigned tls_key_format, tls_verify, tls_version, tls_write_kb;
    bool tls_sessions, tls_kernel;
    const char *login_file;   /* -Y; NULL: no login */
    const char *key_file;     /* verbena_key; NULL: the default one */
    bool no_auth;             /* verbena_auth=none */
    const char *core;         /* verbena_core: settings of the core, "key=value:key=value" */
    unsigned idle_s;          /* idle_timeout; 0: connections may be silent for ever */
    unsigned read_buffers_mb; /* read_buf_mem_limit; 0: no bound */
    unsigned packet_mark;     /* sock_cookie_id; 0: none */
    unsigned lease_ms;        /* verbena_lease */
    onesided_t onesided;      /* verbena_onesided */
    unsigned pinned_percent;  /* verbena_pinned */
    disk_file_t ext_paths[DISK_FILES_MAX];
    unsigned ext_path_count, ext_page_mb, ext_wbuf_mb, ext_item_bytes, ext_threads;
    unsigned ext_item_age; /* seconds; 0: only what memory has no place for goes to disk */
} settings_t;

/* Counted by one thread, read by any. */
/* clang-format off */
#define WORKER_COUNTERS(X)                                                                                             \
    X(bytes_read) X(bytes_written) X(cmd_meta) X(cmd_flush) X(conn_yields) X(conns) X(oom) X(hellos) X(messages)       \
    X(messages_bad) X(clients_shm) X(clients_tcp) X(clients_rdma) X(leases_ended) X(readers) X(drafts_lost) X(slow_closed)    \
    X(auth_cmds) X(auth_errors) X(idle_kicks) X(read_buf_oom)    \
    X(ssl_new_sessions) X(ssl_handshake_errors)
/* clang-format on */
/* The most of it in one turn of a connection (budget.h), and of a core worker (native.h). */
#define WORKER_PEAKS(X) X(turn_commands) X(turn_taken) X(turn_sent) X(turn_messages)
#define WORKER_FIELD(name) _Atomic uint64_t name;
typedef struct worker_counters {
    WORKER_COUNTERS(WORKER_FIELD)
    WORKER_PEAKS(WORKER_FIELD)
} worker_counters_t;
#undef WORKER_FIELD

static inline void count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_set_relaxed(counter, atomic_get_relaxed(counter) + more);
}

static inline void count_peak(_Atomic uint64_t *peak, uint64_t value)
{
    if (value > atomic_get_relaxed(peak))
        atomic_set_relaxed(peak, value);
}

typedef struct server server_t;
typedef struct native native_t;

typedef struct worker {
    server_t *server;
    pthread_t thread;
    int epoll, wake;      /* wake: eventfd, new connections or the end */
    pthread_mutex_t lock; /* of `fresh` and `conns`, which `stats conns` reads too */
    list_link_t fresh;    /* accepted, not yet in the epoll set */
    list_link_t conns;
    list_link_t again; /* connections that have yielded: they go on after the others */
    budget_t budget;   /* of the turn that runs */
    unsigned number;
    worker_counters_t counters;
    char *buffers;                                       /* spare read buffers, linked by their first word */
    char *tls_buffer;                                    /* what a record is gathered in; NULL: none was yet */
    reply_t reply;                                       /* a spare one, for the next connection that answers */
    holds_t drafts, drafts_called;                       /* values on their way: by sockets, by messages */
    holds_t slow;                                        /* answers that clients do not take */
    disk_reader_t *reader;                               /* of items on disk; NULL: there are none */
    bool reads_wait;                                     /* for disk_reader_submit */
    native_t *native;                                    /* requests through the core; NULL: there are none */
    _Atomic uint64_t read_count, read_bytes, read_spare; /* read buffers; bytes of all, and of spare ones */
    _Atomic bool events;                                 /* for watchers of this thread */
    list_link_t watching;                                /* connections */
    _Atomic bool look;                                   /* at silent connections */
    _Atomic bool stop;
} worker_t;

struct server {
    settings_t settings;
    store_t *store;
    vbn_context_t *context; /* NULL: memory is private */
    uint64_t instance;      /* of this start; random */
    bool messages;          /* clients may send requests through the core */
    char no_messages[512];  /* else why not */
    char key_path[512];     /* of the key that clients prove */
    watch_t *watch;
    detail_t *detail;
    struct tls *tls;           /* NULL: no TLS */
    struct login_users *users; /* who may log in; NULL: no login is needed */
    pthread_mutex_t users_lock;
    char login_path[512];  /* of the file of -Y */
    char warm_path[512];   /* of the file of -e */
    _Atomic bool graceful; /* the end that was asked for: the items are saved */
    int greeting;          /* stderr as it was before -d; -1: stderr */
    uint64_t started_ns;
    int64_t started_unix; /* wall clock at second 0 of the store's clock */
    worker_t workers[WORKERS_MAX];
    unsigned worker_count;
    _Atomic unsigned workers_open; /* that have tried to open the core */
    bool any_port;                 /* -p -1 */
    int listeners[LISTENERS_MAX];
    bool listener_plain[LISTENERS_MAX];  /* without TLS also with -Z */
    char *listener_names[LISTENERS_MAX]; /* as stats conns shows them */
    unsigned listener_count;
    disk_t *disk;  /* of ext_path; NULL: all items are in memory */
    int disk_wake; /* eventfd: its thread has something to do */
    _Atomic bool disk_woken, disk_stop;
    pthread_t disk_thread;
    int stop; /* eventfd: the server ends */
    pthread_t house;
    int house_stop; /* eventfd: that thread ends */
    _Atomic uint64_t connections, connections_total, connections_rejected;
    _Atomic int verbosity;
    _Atomic bool sizes_enabled, crawler_off; /* crawler_off: lru_crawler disable */
    _Atomic uint64_t memory_limit;
};

/* ------------------------------------------------------------------------------------------ house.c */

/* False: the log says why. */
bool house_start(server_t *server);
void house_stop(server_t *server);

/* ------------------------------------------------------------------------------------------ clock.c */

void clock_start(server_t *server);
uint32_t clock_now(void *server);
/* A client's exptime as a second of the store's clock; 0: never. */
uint32_t clock_expiry(const server_t *server, int32_t exptime);
uint32_t clock_uptime(const server_t *server);
/* A second of the store's clock in Unix time, of which `now` is the present one. */
int64_t clock_unix(uint32_t second, uint32_t now);

/* ----------------------------------------------------------------------------------------- memory.c */

/* Memory for the store: of the core where it can be had, else private memory, and one line says why. */
store_source_t memory_source(server_t *server);
/* The key of the store's published page; returns its length, 0: there is no such page. */
size_t memory_page_key(const server_t *server, uint8_t key[VBN_KEY_MAX]);
/* Tries settings of the core, "key=value:key=value"; false: the core's error text says what is wrong with them. */
bool memory_check_settings(const char *settings);
void memory_close(server_t *server);

/* ----------------------------------------------------------------------------------------- within.c */

/* A word of -l: "host", "host:port", "[v6]:port" or "v6". port stays as it is where none is given. */
#define LISTEN_HOST 256u
#define LISTEN_PORT 16u
void listen_split(const char *where, char host[LISTEN_HOST], char port[LISTEN_PORT]);
/* Keeps the core's transports within -l and -s, where nobody has chosen others. */
vbn_status_t within_listeners(const settings_t *settings, vbn_config_t *config);

/* ----------------------------------------------------------------------------------------- listen.c */

/* Opens the sockets of the settings, and tells the file that MEMCACHED_PORT_FILENAME names their ports. False: one line on stderr
 * says which could not be opened and why. */
bool listen_open(server_t *server);
void listen_close(server_t *server);
/* Accepts until the server stops. */
void listen_run(server_t *server);

/* ----------------------------------------------------------------------------------------- worker.c */

bool worker_start(server_t *server, unsigned number);
void worker_stop(worker_t *worker);
/* Hands an accepted socket, with its number of all connections, to a worker; false: no memory, the socket is the caller's. The
 * thread that accepts. */
bool worker_give(worker_t *worker, int fd, uint64_t serial, const char *address, unsigned listener);
/* A second has passed: connections that have been silent for too long are closed. Any thread. */
void worker_look(worker_t *worker);
/* There are events for a watcher of this thread (share.c). Any thread. */
void worker_tell(worker_t *worker);
/* Bytes that clients of one thread may hold: its part of HELD_SHARE, at least two of the largest item (share.c). */
uint64_t worker_share(const worker_t *worker);

/* -------------------------------------------------------------------------------------------- log.c */

/* A line on stderr when the verbosity is at least this. Any thread. */
void log_line(const server_t *server, int verbosity, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The line of the start, once: where the server listens, its memory, messages on or off and why. native is that of the calling
 * thread; NULL: the thread's error text says why there is none. */
void log_start(server_t *server, const native_t *native);

#endif
