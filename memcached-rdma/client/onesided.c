/* SPDX-License-Identifier: Apache-2.0
 * onesided.c - gets that read the server's memory, mapped here, without the server's help (store/reader.h). The keys of its
 * memories come with the first answer by message; mappings come in the background, and until then, and for all that the reader
 * cannot show for certain, requests go by message. */
#include <stdlib.h>

#include "client/mc.h"
#include "store/reader.h"

#define ASKED_EVERY 64u /* one of so many hits goes by message, so that the server sees what is in use */

typedef struct mapped {
    vbn_key_t *key;
    vbn_mapping_t *mapping;
} mapped_t;

struct onesided {
    mc_server_t *server;
    reader_t reader;
    bool open; /* the page is mapped, and the reader reads */
    unsigned hits;
    mapped_t page;
    mapped_t *memories; /* by their place in the page's table */
    uint32_t memory_count;
};

/* The memory's address once it is mapped. */
static const char *map(mc_server_t *server, mapped_t *mapped, const uint8_t *key, size_t key_bytes, size_t *bytes_p)
{
    void *address;
    if (mapped->key == NULL && vbn_key_import(server->peer, key, key_bytes, &mapped->key) != VBN_OK)
        return NULL;
    if (mapped->mapping == NULL)
        mapped->mapping = vbn_key_map(mapped->key, &address, bytes_p);
    else
        return NULL; /* it was too short when it was mapped */
    return mapped->mapping == NULL ? NULL : address;
}

static const char *map_memory(void *arg, uint32_t memory, const uint8_t *key, size_t key_bytes, size_t *bytes_p)
{
    onesided_t *onesided = arg;
    if (memory >= onesided->memory_count)
        return NULL;
    return map(onesided->server, &onesided->memories[memory], key, key_bytes, bytes_p);
}

void onesided_open(mc_server_t *server, const void *key, size_t key_bytes)
{
    onesided_t *onesided = calloc(1, sizeof(*onesided));
    if (onesided == NULL || vbn_key_import(server->peer, key, key_bytes, &onesided->page.key) != VBN_OK) {
        free(onesided);
        return;
    }
    onesided->server = server;
    server->onesided = onesided;
}

static void unmap(mapped_t *mapped, bool forked)
{
    if (mapped->mapping != NULL && !forked)
        vbn_key_unmap(mapped->mapping);
    if (mapped->key != NULL && !forked)
        vbn_key_release(mapped->key);
}

void onesided_close(mc_server_t *server, bool forked)
{
    onesided_t *onesided = server->onesided;
    server->onesided = NULL;
    if (onesided == NULL)
        return;
    for (uint32_t i = 0; i < onesided->memory_count; i++)
        unmap(&onesided->memories[i], forked);
    unmap(&onesided->page, forked);
    reader_close(&onesided->reader);
    free(onesided->memories);
    free(onesided);
}

/* The page is mapped now: looks at it. False: not yet, or never. */
static bool begin(onesided_t *onesided)
{
    size_t bytes;
    if (onesided->page.mapping != NULL)
        return false; /* it was refused before */
    const char *page = map(onesided->server, &onesided->page, NULL, 0, &bytes);
    if (page == NULL)
        return false;
    if (!reader_open(&onesided->reader, page, bytes, map_memory, onesided))
        return false;
    onesided->memories = calloc(onesided->reader.memory_count, sizeof(*onesided->memories));
    onesided->memory_count = onesided->memories == NULL ? 0 : onesided->reader.memory_count;
    return onesided->open = onesided->memories != NULL;
}

bool onesided_reads(const mc_server_t *server)
{
    return server->onesided != NULL && server->onesided->open;
}

bool onesided_get(vmc_t *mc, const ask_t *ask, vmc_req_t *req)
{
    return message_key_valid(ask->key, ask->key_bytes) &&
           onesided_get_at(ring_find(mc, ask->key, ask->key_bytes), ask, req);
}

bool onesided_get_at(mc_server_t *server, const ask_t *ask, vmc_req_t *req)
{
    reader_item_t item = {0};
    onesided_t *onesided = server->onesided;
    if (onesided == NULL || ask->touch || server->flying_count > 0 || !list_empty(&server->queue) ||
        (!onesided->open && !begin(onesided)) || ++onesided->hits % ASKED_EVERY == 0)
        return false;
    reader_status_t status = reader_get(&onesided->reader, ask->key, ask->key_bytes, ask->buffer, ask->capacity, &item);
    if (status == READER_DEAD)
        onesided_close(server, false);
    if ((status != READER_HIT && status != READER_TRUNCATED) || item.uncounted)
        return false; /* by message: it is not there, or the server is to know that it was read */
    server->mc->counts.onesided++;
    req->status = status == READER_HIT ? VMC_OK : VMC_ERR_TRUNCATED;
    req->flags = item.client_flags;
    req->length = item.value_bytes;
    req->cas = item.cas;
    req->priv = NULL;
    return true;
}
