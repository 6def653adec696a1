/* SPDX-License-Identifier: Apache-2.0
 * compat.h - how libmemcached's calls stand on the client library.
 *
 * P1 A memcached_st has one vmc_t with all its servers in their order; it is opened by the first request after the list has
 * changed. The server of a key is chosen here (place.c), as libmemcached does. P2 Requests whose answer nobody waits for (NOREPLY,
 * BUFFER_REQUESTS) are in `pending` until it has come; every other request waits for them first. P3 No wait is without an end: each
 * takes its limit from the behaviors POLL_TIMEOUT and CONNECT_TIMEOUT. P4 After fork() a child gets connections of its own
 * (client/mc.h C4). */
#ifndef MC_COMPAT_COMPAT_H
#define MC_COMPAT_COMPAT_H

#include "client/mc.h"
#include "compat/api.h"

#define DEFAULT_PORT 11211
#define VERSION_UNKNOWN UINT8_MAX
#define ERROR_BYTES 512u
#define PENDING_MAX 128u /* fewer than FLYING_MAX: each is on its way when its call returns */

#define INSTANCE_NAME_AT 16576u /* of memcached_instance_st */

typedef struct line line_t;

/* The last error of a handle, or of a server. */
typedef struct failure {
    rc_t rc;
    int error; /* errno, or 0 */
    char text[ERROR_BYTES];
} failure_t;

/* Programs know it by pointer only; but Debian's memping reads the port and the name where libmemcached has them. */
struct memcached_instance_st {
    union {
        struct {
            memcached_st *root;
            line_t *line; /* commands that the client library does not have; NULL: none was asked yet */
            in_port_t port;
            uint32_t weight;
            memcached_connection_t type;
            enum memcached_server_state_t state;
            time_t next_retry; /* in STATE_IN_TIMEOUT: no request before */
            uint32_t failures; /* attempts to connect in a row that failed */
            uint32_t timeouts; /* answers in a row that did not come */
            uint64_t failure_query_id;
            uint8_t major_version, minor_version, micro_version;
            failure_t failure;
        };
        char before_hostname[INSTANCE_NAME_AT];
    };
    char hostname[MEMCACHED_NI_MAXHOST];
};
_Static_assert(sizeof(void *) != 8 || (offsetof(memcached_instance_st, port) == 16 &&
                                       offsetof(memcached_instance_st, hostname) == INSTANCE_NAME_AT),
               "memcached_instance_st");

typedef struct prefix {
    size_t length;
    char bytes[MEMCACHED_MAX_NAMESPACE];
} prefix_t;

/* An item that mget has found: key and value lie behind each other in the handle's `arena`. */
typedef struct found {
    bool present;
    uint8_t key_length;
    uint32_t flags;
    uint64_t cas;
    size_t at, length;
} found_t;

typedef struct arena {
    char *bytes;
    size_t used, capacity;
} arena_t;

/* What a memcached_st has behind `error_messages`. */
struct handle {
    vmc_t *mc;
    failure_t failure;
    bool server_failed; /* a server has a failure that is not cleared */
    list_link_t pending;
    unsigned pending_count;
    found_t *found; /* of the last mget, in the order of its keys */
    size_t found_count, found_next;
    rc_t fetch_end; /* what the fetch after the last item answers */
    arena_t arena;
};

/* A request for one server. The key is complete: with its prefix. */
typedef struct query {
    memcached_st *ptr;
    memcached_instance_st *server;
    ask_t ask;
    char key[KEY_MAX];
    vmc_req_t req;
} query_t;

/* ---- state.c */
/* Begins a call: checks the handle, drops the last error. */
rc_t call_begin(memcached_st *ptr);
/* Sends pending requests, then ends the connections. The next request connects again. */
void connections_close(memcached_st *ptr);
/* Drops the items that no fetch has taken. */
void found_drop(memcached_st *ptr);
/* ---- error.c */
rc_t fail(memcached_st *ptr, rc_t rc, const char *detail);
/* Also that of the server; the detail comes from the client library. */
rc_t fail_server(memcached_instance_st *server, rc_t rc, int error, const char *detail);
void failure_clear(memcached_st *ptr);
/* ---- memory.c */
void memory_default(struct memcached_allocator_t *allocators);
void *memory_take(const memcached_st *ptr, size_t bytes);
void memory_give(const memcached_st *ptr, void *memory);
/* ---- servers.c */
rc_t servers_add(memcached_st *ptr, const char *hostname, in_port_t port, uint32_t weight, memcached_connection_t type);
void servers_free(memcached_st *ptr);
/* ---- place.c */
/* Places the servers anew, after the list or the way of placing has changed. */
rc_t place_servers(memcached_st *ptr);
/* The server of a key; the list has at least one. */
memcached_instance_st *place_of(memcached_st *ptr, KEY);
bool place_is_consistent(const memcached_st *ptr);
void place_free(memcached_st *ptr);
/* ---- key.c */
rc_t keys_check(memcached_st *ptr, KEYS);
/* The prefix, then the key, in bytes[KEY_MAX]; 0: too long. */
size_t key_join(const memcached_st *ptr, KEY, char *bytes);
rc_t prefix_set(memcached_st *ptr, const char *bytes, size_t length);
/* Servers of buckets, for the distribution of that name. */
rc_t place_buckets(memcached_st *ptr, const uint32_t *host_map, uint32_t count);
/* ---- pending.c */
/* For a request that starts; NULL: no memory. */
vmc_req_t *pending_add(handle_t *handle);
/* Those at the front that are complete. */
void pending_drop_complete(handle_t *handle);
/* Waits for all of them. */
void pending_finish(memcached_st *ptr);
/* ---- reach.c */
/* The client library, opened when there is none; NULL: the handle's error says why. */
vmc_t *reach_open(memcached_st *ptr);
mc_server_t *reach_server(const memcached_instance_st *server);
/* Whether requests may go to the server now: servers that fail are left alone for a time. */
rc_t reach_ready(memcached_instance_st *server);
/* It could not be reached: it is left alone for RETRY_TIMEOUT. */
void reach_not(memcached_instance_st *server);
/* How long a request to it may take. */
uint64_t reach_limit(const memcached_instance_st *server);
/* What the status of a request means; notes failures of the server. */
rc_t reach_result(memcached_instance_st *server, vmc_status_t status);
/* ---- query.c */
/* Begins a call for one key: checks, chooses the server. */
rc_t query_begin(query_t *query, memcached_st *ptr, GROUP, KEY);
rc_t query_run(query_t *query);
/* As servers take it: 32 bits. */
int32_t query_exptime(time_t expiration);
/* Does not wait for the answer. */
rc_t query_send(query_t *query);
/* The same request to each of the next servers of the list that has a copy of the item: as in libmemcached, with
 * BINARY_PROTOCOL. */
void query_send_copies(const query_t *query);
/* ---- arena.c */
/* Space for `bytes` at the end; NULL: no memory. */
char *arena_reserve(arena_t *arena, size_t bytes);
void arena_reset(arena_t *arena);
/* ---- result.c */
rc_t string_assign(memcached_string_st *string, const char *bytes, size_t length);
/* ---- line.c */
/* Sends a command of one line to the server, and hands each line of the answer to `take`, which returns false after the last one.
 * Connects first where need be. */
typedef bool (*line_take_t)(void *arg, char *text, size_t length);
rc_t line_ask(memcached_instance_st *server, const char *command, line_take_t take, void *arg);
void line_close(memcached_instance_st *server);
/* ---- command.c */
/* The same, but servers that fail are left alone for a time. */
rc_t command_ask(memcached_instance_st *server, const char *command, line_take_t take, void *arg);

#endif
