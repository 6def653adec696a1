/* SPDX-License-Identifier: Apache-2.0
 * shelf.c - the disk of the server. Its thread writes what the store has put into the buffer, empties old pages, and has items go
 * to disk before those who write need their memory. Nobody waits for it. */
#include "server/shelf.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TICK_MS 1000
#define BUFFERS 4u                   /* of ext_wbuf_size */
#define ROOM_BYTES ((size_t)2 << 20) /* of the buffer, that is free before items are chosen to go there */
#define STEP_ITEMS 1000u             /* of a walk */
#define LOOKS_PER_AGE 4u             /* walks in ext_item_age, */
#define LOOK_RARELY_S 60u            /* or one in so many seconds */
#define LOOKS_FOR_LOST 2u            /* walks after a failure: the second for what was put meanwhile */

/* ----------------------------------------------------------------------------------- the store's shelf */

static bool put(void *arg, const store_hit_t *hit, uint32_t created, place_t *place_p)
{
    const server_t *server = arg;
    const disk_item_t item = {.key = hit->key,
                              .value = hit->value,
                              .key_bytes = hit->key_bytes,
                              .value_bytes = hit->value_bytes,
                              .client_flags = hit->client_flags,
                              .created = created,
                              .expiry = hit->expiry,
                              .cas = hit->cas};
    return disk_put(server->disk, &item, place_p);
}

static void gone(void *arg, const place_t *place, size_t key_bytes)
{
    const server_t *server = arg;
    disk_gone(server->disk, place, key_bytes);
}

store_shelf_t shelf_of(server_t *server)
{
    if (server->disk == NULL)
        return (store_shelf_t){.put = NULL};
    return (store_shelf_t){.put = put, .gone = gone, .arg = server, .least = server->settings.ext_item_bytes};
}

/* --------------------------------------------------------------------------------------- the disk's owner */

static disk_answer_t wants(void *arg, const disk_item_t *item, const place_t *place, bool keep)
{
    const server_t *server = arg;
    const store_key_t key = {.bytes = item->key, .length = item->key_bytes};
    switch (store_shelf_ask(server->store, key, place, keep)) {
    case STORE_SHELF_WANTED: return DISK_WANTED;
    case STORE_SHELF_DROPPED: return DISK_DROPPED;
    default: return DISK_DEAD;
    }
}

static bool moved(void *arg, const disk_item_t *item, const place_t *from, const place_t *to)
{
    const server_t *server = arg;
    return store_shelf_moved(server->store, (store_key_t){.bytes = item->key, .length = item->key_bytes}, from, to);
}

/* ---------------------------------------------------------------------------------------- the thread */

static void wake(void *arg)
{
    server_t *server = arg;
    if (!atomic_exchange_explicit(&server->disk_woken, true, memory_order_acq_rel)) /* pairs with main_of */
        (void)eventfd_write(server->disk_wake, 1);
}

static void relay_log(void *arg, const char *line)
{
    log_line(arg, 0, "%s", line);
}

static bool ends(server_t *server)
{
    return atomic_get_acquire(&server->disk_stop); /* pairs with shelf_stop */
}

/* Until there is nothing to do. */
static void work(server_t *server)
{
    const disk_owner_t owner = {.wants = wants, .moved = moved, .arg = server};
    disk_t *disk = server->disk;
    bool more = true;
    while (more && !ends(server))
        more = disk_write(disk, false) || disk_reclaim(disk, &owner) ||
               (disk_has_room(disk, ROOM_BYTES) && store_make_room(server->store));
}

/* Items that nobody has read for ext_item_age. */
static void look_for_idle(server_t *server, uint32_t age)
{
    uint64_t at = 0;
    while (!ends(server) && !store_shelve_idle(server->store, &at, STEP_ITEMS, age))
        work(server);
}

static void look_for_lost(server_t *server)
{
    uint64_t at = 0;
    while (!ends(server) && !store_lose_all(server->store, &at, STEP_ITEMS))
        ;
}

/* Once a second. next_p: when idle items are looked for. looks_p: walks after a failure. */
static void look_around(server_t *server, uint32_t *next_p, unsigned *looks_p)
{
    uint32_t age = server->settings.ext_item_age, now = store_now(server->store);
    if (disk_failed(server->disk)) {
        if (*looks_p < LOOKS_FOR_LOST)
            look_for_lost(server);
        *looks_p += *looks_p < LOOKS_FOR_LOST;
    } else if (age > 0 && now >= *next_p) {
        uint32_t wait = age / LOOKS_PER_AGE;
        look_for_idle(server, age);
        *next_p = now + (wait == 0 ? 1 : wait > LOOK_RARELY_S ? LOOK_RARELY_S : wait);
    }
}

static void *main_of(void *arg)
{
    server_t *server = arg;
    struct pollfd event = {.fd = server->disk_wake, .events = POLLIN};
    uint32_t looked = 0, next = 0;
    unsigned looks = 0;
    eventfd_t value;
    while (!ends(server)) {
        (void)poll(&event, 1, TICK_MS);
        (void)eventfd_read(server->disk_wake, &value);
        (void)atomic_exchange_explicit(&server->disk_woken, false, memory_order_acq_rel); /* pairs with wake */
        work(server);
        if (looked != store_now(server->store))
            look_around(server, &next, &looks);
        looked = store_now(server->store);
    }
    return NULL;
}

bool shelf_start(server_t *server)
{
    if (server->disk == NULL)
        return true;
    int error = pthread_create(&server->disk_thread, NULL, main_of, server);
    if (error != 0)
        log_line(server, 0, "the thread that writes to disk cannot be started: %s; see ulimit -u", strerror(error));
    else
        (void)pthread_setname_np(server->disk_thread, "mc-disk"); /* as top -H shows it */
    return error == 0;
}

void shelf_stop(server_t *server)
{
    if (server->disk == NULL)
        return;
    atomic_set_release(&server->disk_stop, true); /* pairs with ends */
    (void)eventfd_write(server->disk_wake, 1);
    (void)pthread_join(server->disk_thread, NULL);
}

/* -------------------------------------------------------------------------------------------- opening */

bool shelf_open(server_t *server)
{
    const settings_t *settings = &server->settings;
    char error[DISK_ERROR];
    if (settings->ext_path_count == 0)
        return true;
    server->disk_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const disk_config_t config = {.files = settings->ext_paths,
                                  .file_count = settings->ext_path_count,
                                  .page_bytes = (size_t)settings->ext_page_mb << 20,
                                  .buffer_bytes = BUFFERS * ((size_t)settings->ext_wbuf_mb << 20),
                                  .item_max = settings->item_max,
                                  .threads = settings->ext_threads,
                                  .log = relay_log,
                                  .wake = wake,
                                  .arg = server};
    if (server->disk_wake >= 0 && disk_open(&config, &server->disk, error))
        return true;
    fprintf(stderr, "verbena-memcached: -o ext_path: %s\n", server->disk_wake < 0 ? strerror(errno) : error);
    return false;
}

void shelf_close(server_t *server)
{
    if (server->settings.ext_path_count == 0)
        return;
    disk_close(server->disk);
    (void)close(server->disk_wake);
}
