/* SPDX-License-Identifier: Apache-2.0
 * detail.c - commands by prefix. */
#include "server/detail.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PREFIXES_MOST 4096u /* memcached has no bound, and clients choose keys */
#define SLOTS 1024u

typedef struct prefix {
    struct prefix *next;
    uint64_t gets, hits, sets, deletes;
    size_t length;
    char name[];
} prefix_t;

struct detail {
    pthread_mutex_t lock; /* of the prefixes */
    _Atomic bool on;
    char delimiter;
    unsigned count;
    prefix_t *slots[SLOTS];
};

detail_t *detail_open(char delimiter, bool on)
{
    detail_t *detail = calloc(1, sizeof(*detail));
    if (detail == NULL)
        return NULL;
    pthread_mutex_init(&detail->lock, NULL);
    detail->delimiter = delimiter;
    atomic_set_relaxed(&detail->on, on);
    return detail;
}

bool detail_is_on(const detail_t *detail)
{
    return atomic_get_relaxed(&detail->on);
}

void detail_switch(detail_t *detail, bool on)
{
    atomic_set_relaxed(&detail->on, on);
}

/* The counters of a prefix, new ones if there is place; NULL: there is none. The lock is held. */
static prefix_t *prefix_of(detail_t *detail, const char *name, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    prefix_t **slot = &detail->slots[hash % SLOTS];
    for (prefix_t *prefix = *slot; prefix != NULL; prefix = prefix->next)
        if (prefix->length == length && memcmp(prefix->name, name, length) == 0)
            return prefix;
    prefix_t *prefix = detail->count < PREFIXES_MOST ? calloc(1, sizeof(*prefix) + length) : NULL;
    if (prefix == NULL)
        return NULL;
    memcpy(prefix->name, name, length);
    prefix->length = length;
    prefix->next = *slot;
    *slot = prefix;
    detail->count++;
    return prefix;
}

void detail_count(detail_t *detail, text_t key, detail_kind_t kind, bool hit)
{
    if (!detail_is_on(detail))
        return;
    const char *end = memchr(key.at, detail->delimiter, key.length);
    if (end == NULL)
        return;
    pthread_mutex_lock(&detail->lock);
    prefix_t *prefix = prefix_of(detail, key.at, (size_t)(end - key.at));
    if (prefix != NULL) {
        prefix->gets += kind == DETAIL_GET;
        prefix->hits += kind == DETAIL_GET && hit;
        prefix->sets += kind == DETAIL_SET;
        prefix->deletes += kind == DETAIL_DELETE;
    }
    pthread_mutex_unlock(&detail->lock);
}

void detail_dump(detail_t *detail, reply_t *reply)
{
    pthread_mutex_lock(&detail->lock);
    for (unsigned i = 0; i < SLOTS; i++)
        for (const prefix_t *prefix = detail->slots[i]; prefix != NULL; prefix = prefix->next) {
            reply_string(reply, "PREFIX ");
            reply_bytes(reply, prefix->name, prefix->length);
            reply_format(reply, " get %llu hit %llu set %llu del %llu\r\n", (unsigned long long)prefix->gets,
                         (unsigned long long)prefix->hits, (unsigned long long)prefix->sets,
                         (unsigned long long)prefix->deletes);
        }
    pthread_mutex_unlock(&detail->lock);
}

void detail_reset(detail_t *detail)
{
    pthread_mutex_lock(&detail->lock);
    for (unsigned i = 0; i < SLOTS; i++)
        while (detail->slots[i] != NULL) {
            prefix_t *prefix = detail->slots[i];
            detail->slots[i] = prefix->next;
            free(prefix);
        }
    detail->count = 0;
    pthread_mutex_unlock(&detail->lock);
}
