/* SPDX-License-Identifier: Apache-2.0
 * verbs_route.c - the routes of a datagram queue pair: found, made, failed, freed. See verbs_datagram.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "tl/verbs/verbs_datagram.h"

#define SILENT_NS UINT64_C(3000000000)
#define WAIT_NS UINT64_C(2000000) /* for a neighbour that answers at once: its first datagram is not lost */

/* FNV-1a over what tells one port from another. */
static uint64_t route_key(const verbs_address_t *to)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ to->lid;
    bool by_gid = to->ethernet || to->lid >= VERBS_LID_GROUP; /* groups may share a LID */
    for (unsigned i = 0; by_gid && i < sizeof(to->gid); i++)
        hash = (hash ^ to->gid[i]) * UINT64_C(1099511628211);
    return hash;
}

static void free_route(const verbs_datagram_t *datagram, verbs_route_t *route)
{
    if (route->making != NULL && route->making->ah != NULL) /* closing: nobody took the answer */
        (void)datagram->port->api->destroy_ah(route->making->ah);
    free(route->making);
    if (route->ah != NULL)
        (void)datagram->port->api->destroy_ah(route->ah);
    free(route->problem);
    free(route);
}

void verbs_routes_sweep(verbs_datagram_t *datagram)
{
    uint64_t done = datagram->taken - datagram->sq.used;
    for (list_link_t *link = datagram->old.next, *next; link != &datagram->old; link = next) {
        verbs_route_t *route = container_of(link, verbs_route_t, link);
        next = link->next;
        if (route->references > 0 || route->last > done || route->making != NULL)
            continue;
        list_remove(link);
        free_route(datagram, route);
    }
}

/* It is not found any more; those who have it keep it. */
static void retire(verbs_datagram_t *datagram, verbs_route_t *route)
{
    if (!list_empty(&route->link))
        return;
    (void)map_remove(&datagram->routes, route->key);
    list_append(&datagram->old, &route->link);
}

static vbn_status_t say_silent(const verbs_datagram_t *datagram, const uint8_t gid[16])
{
    char text[64];
    verbs_gid_text(gid, text, sizeof(text));
    return err_set(VBN_ERR_UNREACHABLE,
                   "the host of GID %s does not answer on the network of %s: it is down, or no route leads "
                   "there (ip neigh, ip route get)",
                   text, datagram->port->name);
}

static bool was_silent(const verbs_datagram_t *datagram, uint64_t key)
{
    for (unsigned i = 0; i < VERBS_SILENT; i++)
        if (datagram->silent[i].until_ns != 0 && datagram->silent[i].key == key)
            return os_now_ns() < datagram->silent[i].until_ns;
    return false;
}

static void note_silent(verbs_datagram_t *datagram, uint64_t key)
{
    verbs_silent_t *at = &datagram->silent[datagram->next_silent++ % VERBS_SILENT];
    for (unsigned i = 0; i < VERBS_SILENT; i++)
        if (datagram->silent[i].until_ns != 0 && datagram->silent[i].key == key)
            at = &datagram->silent[i];
    *at = (verbs_silent_t){.key = key, .until_ns = os_now_ns() + SILENT_NS};
}

/* The answer for a route: the error, if it is one, is the thread's. */
static vbn_status_t settle(verbs_datagram_t *datagram, verbs_handle_t *handle)
{
    verbs_route_t *route = handle->owner;
    vbn_status_t status = VBN_OK;
    route->making = NULL;
    route->ah = handle->ah;
    if (handle->error == ETIMEDOUT) {
        note_silent(datagram, route->key);
        status = say_silent(datagram, handle->attr.grh.dgid.raw);
    } else if (route->ah == NULL) {
        status = verbs_failed(datagram->port, "an address handle", handle->error);
    }
    if (status < 0)
        route->problem = strdup(err_text());
    if (status < 0 || route->references == 0)
        retire(datagram, route);
    free(handle);
    return status;
}

/* Takes the answers that are there; endpoints are told in progress. */
static void take_answers(verbs_datagram_t *datagram)
{
    for (verbs_handle_t *handle; (handle = verbs_handles_answer(&datagram->handles)) != NULL;)
        if (settle(datagram, handle) < 0)
            datagram->failed = true;
    verbs_routes_sweep(datagram);
}

bool verbs_routes_look(verbs_datagram_t *datagram)
{
    take_answers(datagram);
    bool failed = datagram->failed;
    datagram->failed = false;
    datagram->unsettled = datagram->handles.open > 0;
    return failed;
}

/* Only RoCE asks the network, and not for groups. */
static vbn_status_t make_handle(verbs_datagram_t *datagram, const verbs_address_t *to, verbs_route_t *route)
{
    verbs_handle_t *handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a route");
    handle->owner = route;
    verbs_port_route(datagram->port, to, &handle->attr);
    if (!to->ethernet || verbs_gid_is_group(to->gid)) {
        verbs_handle_make(datagram->port, handle);
        return settle(datagram, handle);
    }
    route->making = handle;
    datagram->unsettled = true;
    verbs_handles_ask(&datagram->handles, datagram->cq, handle);
    verbs_handles_wait(&datagram->handles, WAIT_NS);
    take_answers(datagram);
    return route->making == NULL && route->ah == NULL
               ? err_set(VBN_ERR_UNREACHABLE, "%s", route->problem != NULL ? route->problem : "no heap for a route")
               : VBN_OK;
}

vbn_status_t verbs_route_get(verbs_datagram_t *datagram, const verbs_address_t *to, verbs_route_t **route_p)
{
    uint64_t key = route_key(to);
    verbs_route_t *route = map_get(&datagram->routes, key);
    if (route != NULL) {
        route->references++;
        *route_p = route;
        return VBN_OK;
    }
    if (was_silent(datagram, key))
        return say_silent(datagram, to->gid);
    route = calloc(1, sizeof(*route));
    if (route == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a route");
    *route = (verbs_route_t){.key = key, .references = 1};
    list_init(&route->link);
    vbn_status_t status = map_put(&datagram->routes, key, route);
    if (status < 0) {
        free(route);
        return status;
    }
    status = make_handle(datagram, to, route);
    if (status < 0) {
        verbs_route_put(datagram, route);
        return status;
    }
    *route_p = route;
    return VBN_OK;
}

void verbs_route_put(verbs_datagram_t *datagram, verbs_route_t *route)
{
    if (--route->references > 0 || route->making != NULL)
        return;
    retire(datagram, route);
    route->last = datagram->taken;
    datagram->sq.waited = datagram->sq.waited || datagram->sq.used > 0; /* the next doorbell asks for a completion */
    verbs_routes_sweep(datagram);
}

void verbs_routes_forget(verbs_datagram_t *datagram)
{
    size_t cursor = 0;
    for (verbs_route_t *route; (route = map_next(&datagram->routes, &cursor, NULL)) != NULL;)
        list_append(&datagram->old, &route->link);
    map_free(&datagram->routes);
    map_init(&datagram->routes);
}

void verbs_routes_open(verbs_datagram_t *datagram)
{
    map_init(&datagram->routes);
    list_init(&datagram->old);
    verbs_handles_open(&datagram->handles, datagram->port);
}

void verbs_routes_close(verbs_datagram_t *datagram)
{
    verbs_handles_close(&datagram->handles);
    verbs_routes_forget(datagram);
    for (list_link_t *link; (link = list_pop(&datagram->old)) != NULL;)
        free_route(datagram, container_of(link, verbs_route_t, link));
    map_free(&datagram->routes);
}
