/* SPDX-License-Identifier: Apache-2.0
 * load.c - values on disk that a request waits for. */
#include "server/load.h"

#include <stdlib.h>

#include "server/server.h"

#define LOADS_MOST 64u          /* noted at once */
#define BYTES_MOST (256u << 10) /* of their values, if they are more than one */

struct load {
    disk_read_t read;
    load_t *next;
    loads_t *loads; /* NULL: nobody waits any more */
    bool begun, here;
    bool promotes; /* goes back to memory */
    uint8_t key_bytes;
    char key[STORE_KEY_MAX];
};

static store_key_t key_of(const load_t *load)
{
    return (store_key_t){.bytes = load->key, .length = load->key_bytes};
}

static void free_load(load_t *load)
{
    free(load->read.buffer);
    free(load);
}

bool loads_have_place(const loads_t *loads)
{
    return loads->count < LOADS_MOST && loads->bytes < BYTES_MOST;
}

/* What was noted for this place; NULL: nothing. */
static load_t *find(const loads_t *loads, store_key_t key, const place_t *place)
{
    for (load_t *load = loads->first; load != NULL; load = load->next)
        if (place_is(&load->read.place, place) && load->key_bytes == key.length &&
            memcmp(load->key, key.bytes, key.length) == 0)
            return load;
    return NULL;
}

static load_t *note(loads_t *loads, store_key_t key, const place_t *place)
{
    load_t *load = calloc(1, sizeof(*load));
    if (load == NULL)
        return NULL;
    load->read = (disk_read_t){.place = *place, .key_bytes = key.length};
    load->key_bytes = (uint8_t)key.length;
    memcpy(load->key, key.bytes, key.length);
    load->loads = loads;
    load->next = loads->first;
    loads->first = load;
    loads->count++;
    loads->bytes += place->value_bytes;
    return load;
}

/* The record is of this key: a place is only ever of one, unless memory or disk lie. */
static bool is_of(const load_t *load, store_key_t key)
{
    const disk_item_t *item = &load->read.item;
    return load->here && item->key_bytes == key.length && memcmp(item->key, key.bytes, key.length) == 0;
}

static void take_out(loads_t *loads, load_t *load)
{
    load_t **at = &loads->first;
    while (*at != load)
        at = &(*at)->next;
    *at = load->next;
    loads->count--;
    loads->bytes -= load->read.place.value_bytes;
    free_load(load);
}

/* A list of keys goes on behind those whose values were here: they have been answered. */
static void drop_used(loads_t *loads)
{
    for (load_t *load = loads->first, *next; load != NULL; load = next) {
        next = load->next;
        if (load->here)
            take_out(loads, load);
    }
}

const char *loads_fetch(void *arg, store_key_t key, const place_t *place)
{
    loads_t *loads = arg;
    const load_t *load = find(loads, key, place);
    if (load == NULL && !loads_have_place(loads))
        drop_used(loads);
    if (load == NULL)
        load = note(loads, key, place);
    return load != NULL && is_of(load, key) ? load->read.item.value : NULL;
}

store_status_t loads_promote(loads_t *loads, store_key_t key)
{
    place_t place;
    if (loads->no_memory)
        return STORE_NO_MEMORY;
    if (!store_where(loads->worker->server->store, key, &place))
        return STORE_ON_DISK; /* it came back meanwhile: the request runs again */
    load_t *load = find(loads, key, &place);
    if (load == NULL)
        load = note(loads, key, &place);
    if (load == NULL)
        return STORE_NO_MEMORY;
    load->promotes = true;
    return STORE_ON_DISK;
}

/* ------------------------------------------------------------------------------------------- reading */

/* A read is done. What cannot be had is no item any more. */
static void finish(loads_t *loads, load_t *load)
{
    store_t *store = loads->worker->server->store;
    load->here = load->read.result == DISK_OK;
    if (!load->here || !is_of(load, key_of(load)))
        store_lost(store, key_of(load), &load->read.place);
    else if (load->promotes)
        loads->no_memory = store_promote(store, key_of(load), &load->read.place, load->read.item.value) != STORE_OK;
    if (!load->here || load->promotes)
        take_out(loads, load);
}

static void on_read(disk_read_t *read)
{
    load_t *load = container_of(read, load_t, read);
    loads_t *loads = load->loads;
    if (loads == NULL) {
        free_load(load);
        return;
    }
    finish(loads, load);
    if (--loads->waiting == 0)
        loads->ready(loads);
}

bool loads_begin(loads_t *loads)
{
    disk_reader_t *reader = loads->worker->reader;
    for (load_t *load = loads->first, *next; load != NULL; load = next) {
        next = load->next;
        if (load->begun)
            continue;
        load->begun = true;
        load->read.done = on_read;
        if (disk_reader_read(reader, &load->read))
            finish(loads, load);
        else
            loads->waiting++;
    }
    loads->worker->reads_wait |= loads->waiting > 0;
    return loads->waiting == 0;
}

void loads_clear(loads_t *loads)
{
    for (load_t *load = loads->first, *next; load != NULL; load = next) {
        next = load->next;
        load->loads = NULL;
        if (!load->begun || load->here)
            free_load(load); /* otherwise on_read does */
    }
    loads->first = NULL;
    loads->count = loads->waiting = 0;
    loads->bytes = 0;
    loads->no_memory = false;
}
