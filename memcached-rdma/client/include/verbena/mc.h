/* SPDX-License-Identifier: Apache-2.0 mc.h - client of memcached servers. To a verbena-memcached whose key the client
 * has, requests go as messages through the native core (shared memory, RDMA, TCP). To any other memcached 1.6 they go
 * over sockets, also if it replaces a verbena-memcached at run time.
 *
 * Threading: a handle is used by one thread at a time. Requests advance inside its calls. The library starts threads
 * only to resolve names of servers, so that a slow name server does not block the caller; such a thread ends with the
 * answer. fork(): a child may use the handle; it gets connections of its own, and requests in progress are cancelled
 * in the child. Keys: 1 to 250 bytes, no blanks, no control characters. Times: timeouts in ns, exptime as in
 * memcached (seconds; more than 30 days: Unix time; 0: never; negative: expired). */
#ifndef VERBENA_MC_H
#define VERBENA_MC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VMC_API __attribute__((visibility("default")))

typedef enum vmc_status {
    VMC_OK = 0,
    VMC_INPROGRESS = 1,         /* not complete yet */
    VMC_NOT_FOUND = 2,          /* there is no such item */
    VMC_EXISTS = 3,             /* the item has another CAS id */
    VMC_NOT_STORED = 4,         /* the condition of add, replace, append or prepend does not hold */
    VMC_ERR_INVALID = -1,       /* an argument is wrong */
    VMC_ERR_NO_MEMORY = -2,     /* of this process */
    VMC_ERR_TIMEOUT = -3,       /* no answer in time; the request may or may not have been carried out */
    VMC_ERR_SERVER_DEAD = -4,   /* the server cannot be reached, or its connection broke */
    VMC_ERR_TOO_LARGE = -5,     /* for the server */
    VMC_ERR_SERVER_MEMORY = -6, /* the server has no memory for it */
    VMC_ERR_NON_NUMERIC = -7,   /* incr, decr: the value is no number */
    VMC_ERR_TRUNCATED = -8,     /* the buffer is too small; length has the needed size, nothing was copied */
    VMC_ERR_CANCELLED = -9,
    VMC_ERR_PROTOCOL = -10 /* the server sent something that makes no sense, or knows no meta commands */
} vmc_status_t;

VMC_API const char *vmc_status_name(vmc_status_t status);

typedef struct vmc vmc_t;

/* config: "SERVER,SERVER;OPTION;OPTION"
 *   SERVER   host, host:port, [v6]:port or /path/of/socket; then /?WEIGHT if the weight is not 1.
 *   timeout=MS     time-out of the blocking calls (5000).
 *   connect=MS     time-out of each step of connecting (3000); then sockets instead of messages, or failure. The first
 *                  step resolves the name and tries its addresses in order. It tries an address when the one before has
 *                  failed or has used its share of the time.
 *   key=FILE       key of the servers (default: $VERBENA_MEMCACHED_KEY, else the default file of each server).
 *   carrier=auto|messages|sockets   messages: fail if messages are not possible (auto).
 *   onesided=on|off   gets read the server's memory if the server allows it (on).
 * NULL on failure: error_p (may be NULL) gets a static text or one valid until the thread's next vmc_open. Opens no connection. */
VMC_API vmc_t *vmc_open(const char *config, const char **error_p);
/* Cancels requests in progress. */
VMC_API void vmc_close(vmc_t *mc);

/* ----------------------------------------------------------------------------------------- blocking */

typedef struct vmc_value {
    size_t length;  /* of the value, also when it was truncated */
    uint32_t flags; /* of the client that stored it */
    uint64_t cas;
} vmc_value_t;

/* value may be NULL. */
VMC_API vmc_status_t vmc_get(vmc_t *mc, const char *key, size_t key_length, void *buffer, size_t capacity,
                             vmc_value_t *value);
/* Gets and sets another exptime. */
VMC_API vmc_status_t vmc_gat(vmc_t *mc, const char *key, size_t key_length, int32_t exptime, void *buffer,
                             size_t capacity, vmc_value_t *value);
typedef struct vmc_key {
    const char *bytes;
    size_t length;
} vmc_key_t;
/* Called for each item found, in any order; bytes are valid during the call. It must not use the handle. */
typedef void (*vmc_found_t)(void *arg, size_t index, const void *bytes, const vmc_value_t *value);
/* Gets many keys in as few requests as servers allow. Returns the first error of any server; items of other servers
 * were still passed to found. */
VMC_API vmc_status_t vmc_mget(vmc_t *mc, const vmc_key_t *keys, size_t count, vmc_found_t found, void *arg);
VMC_API vmc_status_t vmc_set(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                             int32_t exptime, uint32_t flags);
/* Stores an item that the server does not evict until vmc_release. VMC_ERR_SERVER_MEMORY: pinned items have used up
 * their share, and the old value stays. VMC_ERR_PROTOCOL: the server is one that has no pinned items. */
VMC_API vmc_status_t vmc_set_pinned(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                                    int32_t exptime, uint32_t flags);
/* The item stays, as one that may be evicted. Also of an item that is not pinned. */
VMC_API vmc_status_t vmc_release(vmc_t *mc, const char *key, size_t key_length);
VMC_API vmc_status_t vmc_add(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                             int32_t exptime, uint32_t flags);
VMC_API vmc_status_t vmc_replace(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                                 int32_t exptime, uint32_t flags);
VMC_API vmc_status_t vmc_append(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length);
VMC_API vmc_status_t vmc_prepend(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length);
VMC_API vmc_status_t vmc_cas(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                             int32_t exptime, uint32_t flags, uint64_t cas);
VMC_API vmc_status_t vmc_delete(vmc_t *mc, const char *key, size_t key_length);
/* result may be NULL. incr wraps at 2^64, decr stops at 0. */
VMC_API vmc_status_t vmc_incr(vmc_t *mc, const char *key, size_t key_length, uint64_t delta, uint64_t *result);
VMC_API vmc_status_t vmc_decr(vmc_t *mc, const char *key, size_t key_length, uint64_t delta, uint64_t *result);
VMC_API vmc_status_t vmc_touch(vmc_t *mc, const char *key, size_t key_length, int32_t exptime);

/* ------------------------------------------------------------------------------------- non-blocking */

/* A request, in memory of the caller, which stays put until it is complete. Any content before the first use. */
typedef struct vmc_req {
    vmc_status_t status; /* VMC_INPROGRESS until it is complete */
    uint32_t flags;      /* get */
    size_t length;       /* get: of the value */
    uint64_t cas;        /* of the item that a get has read or a set has stored */
    uint64_t number;     /* incr, decr: the new value */
    void *user;          /* the caller's */
    void *priv;          /* the library's */
} vmc_req_t;

/* Return VMC_INPROGRESS; or how it ended, where that is known at once: an error without effect, or a get that was
 * one-sided. Key, value and buffer belong to the library until the request is complete. Requests of one handle for one
 * key are carried out in their order. */
VMC_API vmc_status_t vmc_iset(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                              int32_t exptime, uint32_t flags, vmc_req_t *req);
VMC_API vmc_status_t vmc_iset_pinned(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                                     int32_t exptime, uint32_t flags, vmc_req_t *req);
VMC_API vmc_status_t vmc_iget(vmc_t *mc, const char *key, size_t key_length, void *buffer, size_t capacity,
                              vmc_req_t *req);
/* The same, but when they return, key and value may be reused; the buffer of a get may not. */
VMC_API vmc_status_t vmc_bset(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length,
                              int32_t exptime, uint32_t flags, vmc_req_t *req);
VMC_API vmc_status_t vmc_bget(vmc_t *mc, const char *key, size_t key_length, void *buffer, size_t capacity,
                              vmc_req_t *req);
/* Advances everything; returns the request's status, VMC_INPROGRESS when it is not complete. */
VMC_API vmc_status_t vmc_test(vmc_t *mc, vmc_req_t *req);
/* Waits for the request; after timeout_ns it ends with VMC_ERR_TIMEOUT, and its late answer is thrown away. */
VMC_API vmc_status_t vmc_wait(vmc_t *mc, vmc_req_t *req, uint64_t timeout_ns);
/* Waits for all of them, together as long; returns VMC_OK, or the first error (not VMC_NOT_FOUND and the like). */
VMC_API vmc_status_t vmc_wait_all(vmc_t *mc, vmc_req_t *const *reqs, size_t count, uint64_t timeout_ns);
/* Waits until one of them is complete; returns its status, *index_p gets its place (the first one's, where several are
 * complete). NULL entries are passed over: a caller that has dealt with a request sets its entry to NULL. After
 * timeout_ns without any: VMC_INPROGRESS, the requests go on, *index_p is untouched. VMC_ERR_INVALID: all entries are
 * NULL, or index_p is. */
VMC_API vmc_status_t vmc_wait_any(vmc_t *mc, vmc_req_t *const *reqs, size_t count, uint64_t timeout_ns,
                                  size_t *index_p);
/* Ends a request that is not complete with VMC_ERR_CANCELLED; its memory is the caller's again. */
VMC_API void vmc_cancel(vmc_t *mc, vmc_req_t *req);
/* Advances everything without waiting. */
VMC_API void vmc_progress(vmc_t *mc);

/* ------------------------------------------------------------------------------------------- insight */

/* Index, in the list of vmc_open, of the server that a key belongs to (ketama, as libmemcached with KETAMA_WEIGHTED);
 * negative: the key is invalid. */
VMC_API int vmc_server_of(const vmc_t *mc, const char *key, size_t key_length);
/* Writes one line: the server of the key, its carrier, and the reason for the carrier. Returns the length of the full
 * text. */
VMC_API size_t vmc_explain(vmc_t *mc, const char *key, size_t key_length, char *text, size_t capacity);
/* Requests that got an answer by messages, by sockets; gets that needed none; answers that came too late. */
typedef struct vmc_counts {
    uint64_t messages, sockets, onesided, late, connects;
} vmc_counts_t;
VMC_API void vmc_get_counts(const vmc_t *mc, vmc_counts_t *counts);

#ifdef __cplusplus
}
#endif
#endif
