/* SPDX-License-Identifier: Apache-2.0
 * tcp_sources.h - hosts that unauthenticated connections come from: how many places each holds, and who waits for one. A host is
 * an IPv4 address or the network of 64 bits of an IPv6 one, which is one host's as a rule.
 *
 * Bounded: kept are sources that have a connection without authentication, and the last TCP_KNOWN_MAX that have proved the
 * job key. */
#ifndef VBN_TL_TCP_SOURCES_H
#define VBN_TL_TCP_SOURCES_H

#include "base/list.h"
#include "base/map.h"
#include "tl/tcp/tcp_address.h"

#define TCP_KNOWN_MAX 1024u

typedef struct tcp_source {
    uint64_t key;
    uint32_t held;      /* places */
    uint32_t waiting;   /* connections in spoken and silent */
    list_link_t link;   /* in tcp_sources_t.waiting while some wait */
    list_link_t known;  /* in tcp_sources_t.known: a connection with it has proved the job key */
    list_link_t spoken; /* tcp_guest_t.link of those that have sent something, oldest first */
    list_link_t silent;
} tcp_source_t;

/* A connection that waits for a place. */
typedef struct tcp_guest {
    list_link_t link; /* in its source's lists, or among those that have gone */
    tcp_source_t *source;
    int fd; /* -1: it has gone */
    tcp_ip_t ip;
    uint16_t port;
} tcp_guest_t;

typedef struct tcp_sources {
    map_t all;
    list_link_t waiting; /* sources; the one that has waited longest for its turn comes first */
    list_link_t known;   /* the one that has proved the key last at the end */
    uint32_t known_count;
} tcp_sources_t;

void tcp_sources_init(tcp_sources_t *sources);
void tcp_sources_free(tcp_sources_t *sources);
/* NULL: no memory. */
tcp_source_t *tcp_source_of(tcp_sources_t *sources, const tcp_ip_t *ip);
bool tcp_source_is_known(const tcp_source_t *source);
/* A connection with it has proved the job key. */
void tcp_source_proved(tcp_sources_t *sources, tcp_source_t *source);
/* After held or waiting has fallen: forgets it when nothing keeps it. */
void tcp_source_left(tcp_sources_t *sources, tcp_source_t *source);

void tcp_source_add(tcp_sources_t *sources, tcp_source_t *source, tcp_guest_t *guest); /* silent at first */
void tcp_source_spoke(tcp_guest_t *guest);
void tcp_source_take(tcp_sources_t *sources, tcp_guest_t *guest); /* it waits no longer */
/* Whose turn it is: guests of known sources first, then those that have spoken, then those of the source that holds the fewest
 * places, then those of the source whose last turn is longest ago; of its guests the oldest. NULL: nobody waits. */
tcp_guest_t *tcp_source_next(const tcp_sources_t *sources);
/* Who makes room for another that waits: the newest silent one of the unknown source with the most that wait, else the newest
 * one of an unknown source that has spoken (*spoken_p), else the same of known sources. NULL: nobody waits. */
tcp_guest_t *tcp_source_last(const tcp_sources_t *sources, bool *spoken_p);

#endif
