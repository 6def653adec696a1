/* SPDX-License-Identifier: Apache-2.0
 * fabric_ah.c - address handles, and neighbours that answer late or never when their address is asked for. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "fabric_private.h"

/* Read and changed by any thread. */
static _Atomic int neighbours[FABRIC_DEVICES]; /* enum fabric_neighbour */
static _Atomic unsigned asked, asking;

void fabric_set_neighbour(unsigned device, enum fabric_neighbour how)
{
    neighbours[device] = how;
}

unsigned fabric_asked(void)
{
    return asked;
}

unsigned fabric_asking(void)
{
    return asking;
}

/* The last byte of a GID is one more than the device. */
static bool answers(const struct ibv_ah_attr *attr)
{
    unsigned device = attr->is_global ? attr->grh.dgid.raw[15] - 1u : FABRIC_DEVICES;
    asked++;
    asking++;
    while (device < FABRIC_DEVICES && neighbours[device] == FABRIC_HELD)
        usleep(500);
    asking--;
    return device >= FABRIC_DEVICES || neighbours[device] == FABRIC_ANSWERS;
}

/* Any thread. */
static struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    if (!answers(attr)) {
        errno = ETIMEDOUT;
        return NULL;
    }
    FABRIC_GUARD;
    fabric_ah_t *ah = calloc(1, sizeof(*ah));
    if (ah == NULL)
        abort();
    __atomic_add_fetch(&fabric_counts.ahs, 1, __ATOMIC_RELAXED);
    ah->ah.context = pd->context;
    ah->ah.pd = pd;
    ah->route = *attr;
    return &ah->ah;
}

/* A request that names it is still in the device's hands: soft-RoCE would drop its datagram. */
static bool is_named(const struct ibv_ah *ah)
{
    size_t cursor = 0;
    for (const fabric_qp_t *qp; (qp = map_next(&fabric_qps, &cursor, NULL)) != NULL;) {
        if (qp->qp.qp_base.qp_type != IBV_QPT_UD)
            continue;
        list_for_each(link, &qp->requests)
            if (container_of(link, fabric_request_t, link)->wr.wr.ud.ah == ah)
                return true;
    }
    return false;
}

static int destroy_ah(struct ibv_ah *ah)
{
    FABRIC_GUARD;
    fabric_counts.bad_memory += is_named(ah);
    free(ah);
    __atomic_sub_fetch(&fabric_counts.ahs, 1, __ATOMIC_RELAXED);
    return 0;
}

/* As after fabric_install: every neighbour answers. */
void fabric_ah_reset(void)
{
    for (unsigned i = 0; i < FABRIC_DEVICES; i++)
        fabric_set_neighbour(i, FABRIC_ANSWERS);
    asked = 0;
}

void fabric_ah_calls(verbs_api_t *api)
{
    api->create_ah = create_ah;
    api->destroy_ah = destroy_ah;
}
