/* SPDX-License-Identifier: Apache-2.0
 * tcp_sources.c - who holds places, who waits for one, and whose turn it is. */
#include "tl/tcp/tcp_sources.h"

#include <stdlib.h>
#include <string.h>

void tcp_sources_init(tcp_sources_t *sources)
{
    map_init(&sources->all);
    list_init(&sources->waiting);
    list_init(&sources->known);
    sources->known_count = 0;
}

void tcp_sources_free(tcp_sources_t *sources)
{
    size_t cursor = 0;
    tcp_source_t *source;
    while ((source = map_next(&sources->all, &cursor, NULL)) != NULL)
        free(source);
    map_free(&sources->all);
}

/* Equal for no IPv4 address and IPv6 network: those begin with a byte other than 0, but for loopback. */
static uint64_t key_of(const tcp_ip_t *ip)
{
    uint64_t key = 0;
    for (unsigned i = 0; i < (ip->family == 4 ? 4u : 8u); i++)
        key = key << 8 | ip->bytes[i];
    return key;
}

tcp_source_t *tcp_source_of(tcp_sources_t *sources, const tcp_ip_t *ip)
{
    uint64_t key = key_of(ip);
    tcp_source_t *source = map_get(&sources->all, key);
    if (source != NULL)
        return source;
    source = calloc(1, sizeof(*source));
    if (source == NULL)
        return NULL;
    source->key = key;
    list_init(&source->link);
    list_init(&source->known);
    list_init(&source->spoken);
    list_init(&source->silent);
    if (map_put(&sources->all, key, source) == VBN_OK)
        return source;
    free(source);
    return NULL;
}

bool tcp_source_is_known(const tcp_source_t *source)
{
    return !list_empty(&source->known);
}

void tcp_source_left(tcp_sources_t *sources, tcp_source_t *source)
{
    if (source->held > 0 || source->waiting > 0 || tcp_source_is_known(source))
        return;
    (void)map_remove(&sources->all, source->key);
    free(source);
}

void tcp_source_proved(tcp_sources_t *sources, tcp_source_t *source)
{
    if (tcp_source_is_known(source))
        list_remove(&source->known);
    else
        sources->known_count++;
    list_append(&sources->known, &source->known);
    if (sources->known_count <= TCP_KNOWN_MAX)
        return;
    tcp_source_t *oldest = container_of(list_pop(&sources->known), tcp_source_t, known);
    sources->known_count--;
    tcp_source_left(sources, oldest);
}

void tcp_source_add(tcp_sources_t *sources, tcp_source_t *source, tcp_guest_t *guest)
{
    guest->source = source;
    list_append(&source->silent, &guest->link);
    if (source->waiting++ == 0)
        list_append(&sources->waiting, &source->link);
}

void tcp_source_spoke(tcp_guest_t *guest)
{
    list_remove(&guest->link);
    list_append(&guest->source->spoken, &guest->link);
}

void tcp_source_take(tcp_sources_t *sources, tcp_guest_t *guest)
{
    tcp_source_t *source = guest->source;
    list_remove(&guest->link);
    guest->source = NULL;
    list_remove(&source->link);
    if (--source->waiting > 0)
        list_append(&sources->waiting, &source->link);
    tcp_source_left(sources, source);
}

static tcp_guest_t *first_of(const tcp_source_t *source)
{
    const list_link_t *list = list_empty(&source->spoken) ? &source->silent : &source->spoken;
    return container_of(list->next, tcp_guest_t, link);
}

/* b's last turn is longer ago. */
static bool overtakes(const tcp_source_t *a, const tcp_source_t *b)
{
    bool known = tcp_source_is_known(a), speaks = !list_empty(&a->spoken);
    if (known != tcp_source_is_known(b))
        return known;
    if (speaks != !list_empty(&b->spoken))
        return speaks;
    return a->held < b->held;
}

tcp_guest_t *tcp_source_next(const tcp_sources_t *sources)
{
    const tcp_source_t *best = NULL;
    list_for_each(link, &sources->waiting) {
        const tcp_source_t *source = container_of(link, tcp_source_t, link);
        if (best == NULL || overtakes(source, best))
            best = source;
    }
    return best != NULL ? first_of(best) : NULL;
}

/* Of the sources with guests in that list, unknown ones first, the one with the most that wait. */
static tcp_guest_t *newest_of_most(const tcp_sources_t *sources, bool spoken)
{
    const tcp_source_t *most = NULL;
    list_for_each(link, &sources->waiting) {
        const tcp_source_t *source = container_of(link, tcp_source_t, link);
        bool known = tcp_source_is_known(source);
        if (list_empty(spoken ? &source->spoken : &source->silent))
            continue;
        if (most == NULL || (tcp_source_is_known(most) && !known) ||
            (tcp_source_is_known(most) == known && source->waiting > most->waiting))
            most = source;
    }
    if (most == NULL)
        return NULL;
    return container_of(spoken ? most->spoken.prev : most->silent.prev, tcp_guest_t, link);
}

tcp_guest_t *tcp_source_last(const tcp_sources_t *sources, bool *spoken_p)
{
    tcp_guest_t *silent = newest_of_most(sources, false), *spoken = newest_of_most(sources, true);
    bool keeps_silent = spoken != NULL && !tcp_source_is_known(spoken->source);
    *spoken_p = silent == NULL || (tcp_source_is_known(silent->source) && keeps_silent);
    return *spoken_p ? spoken : silent;
}
