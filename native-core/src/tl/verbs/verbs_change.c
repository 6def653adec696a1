/* SPDX-License-Identifier: Apache-2.0
 * verbs_change.c - the device's events, and a port that changes while it is in use: its GID, its place in the table, LID,
 * P_Key.
 *
 * A GID that is still in the table stays in use; else the first one of the same kind takes its place; without any the port
 * is `absent` until one comes. */
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tl/verbs/verbs_port.h"

#define GIDS_MAX 256u

/* The index of the GID to use from now on, the GID in *entry; -1: none. */
static int find_gid(const verbs_port_t *port, int table, struct ibv_gid_entry *entry)
{
    verbs_gid_kind_t kind = verbs_gid_kind(port->address.gid);
    int found = -1;
    for (int i = 0; i < table && i < (int)GIDS_MAX; i++) {
        struct ibv_gid_entry at = {0};
        if ((port->gid_wanted >= 0 && port->gid_wanted != i) ||
            port->api->query_gid(port->context, port->number, (uint32_t)i, &at, 0, sizeof(at)) != 0 ||
            at.gid_type != IBV_GID_TYPE_ROCE_V2)
            continue;
        bool same = memcmp(at.gid.raw, port->address.gid, sizeof(port->address.gid)) == 0;
        if (!same && (found >= 0 || (port->gid_wanted < 0 && verbs_gid_kind(at.gid.raw) != kind)))
            continue;
        found = i;
        *entry = at;
        if (same)
            break;
    }
    return found;
}

static void say(verbs_port_t *port, const char *what, const char *before, const char *after)
{
    port->moved = true;
    (void)snprintf(port->news, sizeof(port->news), "%s of %s has changed from %s to %s", what, port->name, before,
                   after);
    LOG_WARN(port->log, "%s; its connections end and reconnect where they can", port->news);
}

static void compare_gid(verbs_port_t *port, int table)
{
    struct ibv_gid_entry entry = {0};
    char before[64], after[64];
    int index = find_gid(port, table, &entry);
    verbs_gid_text(port->address.gid, before, sizeof(before));
    if (index < 0 && !port->absent) {
        say(port, "the address", before, "none");
        port->absent = true;
    }
    if (index < 0)
        return;
    verbs_gid_text(entry.gid.raw, after, sizeof(after));
    if (memcmp(entry.gid.raw, port->address.gid, sizeof(port->address.gid)) != 0 || port->absent)
        say(port, "the address", port->absent ? "none" : before, after);
    else if (index != port->gid_index)
        say(port, "the index of the address", before, "another");
    port->absent = false;
    port->gid_index = (uint8_t)index;
    port->network = entry.ndev_ifindex;
    memcpy(port->address.gid, entry.gid.raw, sizeof(port->address.gid));
}

static void compare_lid(verbs_port_t *port, uint16_t lid)
{
    char before[16], after[16];
    if (lid == port->address.lid || lid == 0)
        return;
    (void)snprintf(before, sizeof(before), "%u", port->address.lid);
    (void)snprintf(after, sizeof(after), "%u", lid);
    say(port, "the LID", before, after);
    port->address.lid = lid;
}

static void compare_pkey(verbs_port_t *port)
{
    __be16 pkey = 0;
    char before[16], after[16];
    if (port->api->query_pkey(port->context, port->number, 0, &pkey) != 0 || pkey == port->pkey)
        return;
    (void)snprintf(before, sizeof(before), "0x%04x", (unsigned)be16toh(port->pkey));
    (void)snprintf(after, sizeof(after), "0x%04x", (unsigned)be16toh(pkey));
    say(port, "the P_Key", before, after);
    port->pkey = pkey;
}

/* After an event that may mean so: the port's address and P_Key, beside those of before. */
static void compare(verbs_port_t *port)
{
    struct ibv_port_attr attr;
    if (port->dead)
        return;
    if (verbs_port_query(port, &attr) != 0)
        memset(&attr, 0, sizeof(attr)); /* it is being removed: no GIDs */
    if (port->iwarp)
        return; /* its connections are of TCP and break by themselves */
    if (port->address.ethernet)
        compare_gid(port, attr.gid_tbl_len);
    else
        compare_lid(port, attr.lid);
    compare_pkey(port);
    verbs_port_describe(port);
}

bool verbs_port_event(verbs_port_t *port, struct ibv_async_event *event)
{
    struct pollfd fd = {.fd = port->context->async_fd, .events = POLLIN};
    if (poll(&fd, 1, 0) <= 0 || (fd.revents & POLLIN) == 0 || port->api->get_async_event(port->context, event) != 0)
        return false;
    if (event->event_type == IBV_EVENT_DEVICE_FATAL)
        port->dead = true;
    if (event->event_type == IBV_EVENT_DEVICE_FATAL || event->event_type == IBV_EVENT_PORT_ERR)
        LOG_WARN(port->log, "%s: %s", port->name, port->api->event_text(event->event_type));
    else if (event->event_type != IBV_EVENT_QP_LAST_WQE_REACHED && /* every connection's end has one */
             event->event_type != IBV_EVENT_SRQ_LIMIT_REACHED)     /* more receives are posted then */
        LOG_INFO(port->log, "%s: %s", port->name, port->api->event_text(event->event_type));
    if (event->event_type == IBV_EVENT_GID_CHANGE || event->event_type == IBV_EVENT_LID_CHANGE ||
        event->event_type == IBV_EVENT_PKEY_CHANGE || event->event_type == IBV_EVENT_PORT_ACTIVE)
        compare(port);
    return true;
}
