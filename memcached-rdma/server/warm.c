/* SPDX-License-Identifier: Apache-2.0
 * warm.c - items to a file, and back. The file gets its name when it is whole, and is gone before a client is served: whatever
 * kills the server, the next start finds the last items, or begins cold. */
#include "server/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/request.h"
#include "proto/saved.h"

#define STEP_ITEMS 1000u
#define BUFFER_BYTES (1u << 20)

bool warm_open(server_t *server)
{
    const char *file = server->settings.memory_file;
    char here[sizeof(server->warm_path)] = "";
    if (file == NULL)
        return true;
    bool known = *file == '/' || getcwd(here, sizeof(here)) != NULL;
    int length = snprintf(server->warm_path, sizeof(server->warm_path), "%s%s%s", here, *file == '/' ? "" : "/", file);
    if (known && length < (int)sizeof(server->warm_path) - 8)
        return true;
    log_line(server, 0, "-e %s: the path is too long, or its folder is unknown; give a shorter one", file);
    return false;
}

/* ---------------------------------------------------------------------------------------------- saving */

typedef struct saving {
    FILE *file;
    bool disk; /* what is on disk can be found again */
    uint64_t items;
    uint64_t on_disk; /* of the items */
} saving_t;

static void save_item(void *arg, const store_hit_t *hit)
{
    saving_t *saving = arg;
    saved_item_t item = {.cas = hit->cas,
                         .client_flags = hit->client_flags,
                         .ttl = hit->expiry == 0 ? 0 : hit->expiry - hit->now,
                         .value_bytes = hit->value_bytes,
                         .key_bytes = (uint8_t)hit->key_bytes,
                         .flags = (uint8_t)((hit->binary_key ? SAVED_BINARY_KEY : 0) |
                                            (hit->pinned ? SAVED_PINNED : 0) | (hit->on_disk ? SAVED_ON_DISK : 0))};
    const char *value = hit->on_disk ? (const char *)&hit->shelved : hit->value;
    if (hit->on_disk)
        item.value_bytes = sizeof(hit->shelved);
    if ((hit->on_disk && !saving->disk) || hit->stale ||
        (hit->expiry != 0 && item.ttl == 0)) /* a stale one would come back as a fresh one */
        return;
    item.crc = saved_crc(&item, saving->items++, hit->key, value);
    saving->on_disk += hit->on_disk;
    (void)fwrite(&item, sizeof(item), 1, saving->file);
    (void)fwrite(hit->key, 1, hit->key_bytes, saving->file);
    (void)fwrite(value, 1, item.value_bytes, saving->file);
}

/* What waits to be written goes to disk first, so that all places of items are there. */
static void save_disk(const server_t *server, saving_t *saving)
{
    saving->disk = server->disk != NULL && disk_sync(server->disk);
    saved_disk_t disk = {.pages = saving->disk ? disk_pages(server->disk) : 0};
    saved_page_t *pages = calloc(disk.pages + 1, sizeof(*pages));
    saving->disk = saving->disk && pages != NULL;
    disk.pages = saving->disk ? disk.pages : 0;
    disk.instance = saving->disk ? disk_instance(server->disk) : 0;
    disk.page_bytes = saving->disk ? disk_page_bytes(server->disk) : 0;
    for (uint32_t i = 0; i < disk.pages; i++) {
        disk_page_state_t state = disk_page_state(server->disk, i);
        pages[i] = (saved_page_t){.version = state.version, .used = state.used};
    }
    disk.crc = saved_disk_crc(&disk, pages);
    (void)fwrite(&disk, sizeof(disk), 1, saving->file);
    (void)fwrite(pages, sizeof(*pages), disk.pages, saving->file);
    free(pages);
}

/* False: errno says why. */
static bool save_all(const server_t *server, saving_t *saving)
{
    saved_head_t head = {.items = 0};
    uint64_t at = 0;
    (void)fwrite(&head, sizeof(head), 1, saving->file);
    save_disk(server, saving);
    while (!store_walk(server->store, &at, STEP_ITEMS, save_item, saving) && ferror(saving->file) == 0)
        ;
    saved_head_make(&head, (int64_t)time(NULL), saving->items);
    return fseek(saving->file, 0, SEEK_SET) == 0 && fwrite(&head, sizeof(head), 1, saving->file) == 1 &&
           fflush(saving->file) == 0 && ferror(saving->file) == 0 && fsync(fileno(saving->file)) == 0;
}

void warm_save(server_t *server)
{
    char unfinished[sizeof(server->warm_path) + 8];
    if (server->settings.memory_file == NULL || !atomic_get_relaxed(&server->graceful))
        return;
    (void)snprintf(unfinished, sizeof(unfinished), "%s.new", server->warm_path);
    (void)unlink(unfinished);
    int fd = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* the items are nobody else's */
    saving_t saving = {.file = fd < 0 ? NULL : fdopen(fd, "w")};
    bool saved = saving.file != NULL && setvbuf(saving.file, NULL, _IOFBF, BUFFER_BYTES) == 0 &&
                 save_all(server, &saving);
    int error = errno;
    if (saving.file != NULL)
        saved = fclose(saving.file) == 0 && saved;
    if (saved && rename(unfinished, server->warm_path) == 0) {
        log_line(server, 0, "-e %s: %llu items are saved, %llu of them stay on disk", server->warm_path,
                 (unsigned long long)saving.items, (unsigned long long)saving.on_disk);
        return;
    }
    log_line(server, 0, "-e %s: no item is saved, and the next start is cold: %s; give a file in a folder of this user",
             server->warm_path, strerror(error));
    if (saving.file != NULL)
        (void)unlink(unfinished);
}

/* --------------------------------------------------------------------------------------------- loading */

typedef struct loading {
    server_t *server;
    FILE *file;
    size_t bytes; /* of the file */
    saved_head_t head;
    char *value; /* of item_max bytes */
    char key[STORE_KEY_MAX];
    uint64_t stored;
    bool disk;        /* the files of ext_path are those that were saved */
    uint32_t elapsed; /* seconds since the items were saved; a clock that was set back counts as none */
} loading_t;

/* An item on disk, if its page is still there. */
static void restore_item(loading_t *loading, store_key_t key, uint32_t expiry, const store_put_t *put)
{
    const server_t *server = loading->server;
    place_t place;
    memcpy(&place, loading->value, sizeof(place));
    if (loading->disk && disk_restore_item(server->disk, &place, key.length))
        loading->stored += store_restore(server->store, key, &place, expiry, put) == STORE_OK;
}

static void store_item(loading_t *loading, const saved_item_t *item)
{
    store_t *store = loading->server->store;
    store_key_t key = {.bytes = loading->key, .length = item->key_bytes};
    store_put_t put = {.mode = STORE_SET,
                       .client_flags = item->client_flags,
                       .cas = item->cas,
                       .restores = true,
                       .binary_key = (item->flags & SAVED_BINARY_KEY) != 0};
    store_draft_t draft;
    if (item->ttl != 0 && item->ttl <= loading->elapsed)
        return;
    uint32_t expiry = item->ttl == 0 ? 0 : store_now(store) + item->ttl - loading->elapsed;
    if ((item->flags & SAVED_ON_DISK) != 0) {
        restore_item(loading, key, expiry, &put);
        return;
    }
    bool pinned = (item->flags & SAVED_PINNED) != 0;
    if ((pinned ? store_begin_pinned : store_begin)(store, key, item->value_bytes, expiry, &draft) != STORE_OK)
        return; /* -I, -m or the share of pinned items is smaller than it was */
    if (item->value_bytes > 0)
        memcpy(draft.value, loading->value, item->value_bytes);
    loading->stored += store_commit(&draft, &put, NULL) == STORE_OK;
}

/* The pages of ext_path; restores: the disk has them again, if it is the same one. False: they are wrong. */
static bool read_disk(loading_t *loading, bool restores)
{
    disk_t *disk = loading->server->disk;
    saved_disk_t saved;
    if (fread(&saved, sizeof(saved), 1, loading->file) != 1 || saved.pages > loading->bytes / sizeof(saved_page_t))
        return false;
    uint32_t count = disk != NULL && disk_pages(disk) > saved.pages ? disk_pages(disk) : saved.pages;
    saved_page_t *pages = calloc(count + 1, sizeof(*pages));
    disk_page_state_t *states = calloc(count + 1, sizeof(*states));
    bool right = pages != NULL && states != NULL &&
                 fread(pages, sizeof(*pages), saved.pages, loading->file) == saved.pages &&
                 saved.crc == saved_disk_crc(&saved, pages);
    loading->disk = right && disk != NULL && saved.pages > 0 && saved.page_bytes == disk_page_bytes(disk);
    for (uint32_t i = 0; right && i < saved.pages; i++)
        states[i] = (disk_page_state_t){.version = pages[i].version, .used = pages[i].used};
    if (restores && loading->disk)
        disk_restore(disk, saved.instance, states);
    free(pages);
    free(states);
    return right;
}

/* Reads all records; stores: and stores them. False: one is wrong. */
static bool read_all(loading_t *loading, size_t value_most, bool stores)
{
    saved_item_t item;
    if (fseek(loading->file, 0, SEEK_SET) != 0 || fread(&loading->head, sizeof(loading->head), 1, loading->file) != 1 ||
        !saved_head_is_right(&loading->head) || !read_disk(loading, stores))
        return false;
    for (uint64_t i = 0; i < loading->head.items; i++) {
        if (fread(&item, sizeof(item), 1, loading->file) != 1 || !saved_item_is_possible(&item, value_most) ||
            fread(loading->key, 1, item.key_bytes, loading->file) != item.key_bytes ||
            fread(loading->value, 1, item.value_bytes, loading->file) != item.value_bytes ||
            item.crc != saved_crc(&item, i, loading->key, loading->value))
            return false;
        if (stores)
            store_item(loading, &item);
    }
    if (stores && loading->disk)
        disk_restored(loading->server->disk);
    return fgetc(loading->file) == EOF;
}

/* NULL: the items are stored; otherwise why not. The file is removed in between, so that no later start finds old values. */
static const char *load(loading_t *loading)
{
    const char *path = loading->server->warm_path;
    size_t most = VALUE_MAX; /* another -I may have been in force */
    if (fseek(loading->file, 0, SEEK_END) == 0 && ftell(loading->file) >= 0)
        loading->bytes = (size_t)ftell(loading->file);
    if (loading->bytes < most)
        most = loading->bytes;
    loading->value = malloc(most + 1);
    if (loading->value == NULL)
        return "no memory";
    bool right = read_all(loading, most, false);
    int64_t since = (int64_t)time(NULL) - loading->head.moment;
    loading->elapsed = since <= 0 ? 0 : since > UINT32_MAX ? UINT32_MAX : (uint32_t)since;
    if (unlink(path) != 0)
        return "the file cannot be removed, and a later start would find old values";
    return right && read_all(loading, most, true) ? NULL : "the file is not whole";
}

void warm_load(server_t *server)
{
    loading_t loading = {.server = server};
    if (server->settings.memory_file == NULL)
        return;
    loading.file = fopen(server->warm_path, "r");
    const char *error = loading.file != NULL ? load(&loading)
                        : errno == ENOENT    ? "there is no file yet"
                                             : strerror(errno);
    if (error != NULL)
        log_line(server, 0, "-e %s: a cold start: %s", server->warm_path, error);
    else
        log_line(server, 0, "-e %s: a warm start with %llu of %llu items", server->warm_path,
                 (unsigned long long)loading.stored, (unsigned long long)loading.head.items);
    if (loading.file != NULL)
        (void)fclose(loading.file);
    free(loading.value);
}
