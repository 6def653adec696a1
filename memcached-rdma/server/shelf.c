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
#define ROOM_BYTES ((size_t)4 << 20) /* of the buffer, that is free before items are chosen to go there */
#define STEP_ITEMS 1000u             /* of a walk */

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

/* Items that nobody has read for ext_item_age, and what of the disk is lost. */
static void look_around(server_t *server)
{
    uint64_t at = 0;
    bool failed = disk_failed(server->disk);
    uint32_t age = server->settings.ext_item_age;
    if (!failed && age == 0)
        return;
    while (!ends(server) && !(failed ? store_lose_all(server->store, &at, STEP_ITEMS)
                                     : store_shelve_idle(server->store, &at, STEP_ITEMS, age)))
        work(server);
}

static void *main_of(void *arg)
{
    server_t *server = arg;
    struct pollfd event = {.fd = server->disk_wake, .events = POLLIN};
    uint32_t looked = 0;
    eventfd_t value;
    while (!ends(server)) {
        (void)poll(&event, 1, TICK_MS);
        (void)eventfd_read(server->disk_wake, &value);
        (void)atomic_exchange_explicit(&server->disk_woken, false, memory_order_acq_rel); /* pairs with wake */
        work(server);
        if (looked != store_now(server->store))
            look_around(server);
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
