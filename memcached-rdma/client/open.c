/* SPDX-License-Identifier: Apache-2.0
 * open.c - handles: opening, closing, and what happens to them in a child of fork(). */
#include <stdlib.h>

#include "base/fork.h"
#include "base/os.h"
#include "client/mc.h"

static void free_handle(vmc_t *mc)
{
    for (unsigned i = 0; i < mc->server_count; i++) {
        stream_free(&mc->servers[i].in);
        stream_free(&mc->servers[i].out);
        free(mc->servers[i].host);
    }
    for (list_link_t *link = list_pop(&mc->spare); link != NULL; link = list_pop(&mc->spare))
        free(container_of(link, call_t, link));
    free(mc->servers);
    free(mc->ring);
    free(mc->calls);
    free(mc->key_file);
    free(mc);
}

vmc_t *vmc_open(const char *config, const char **error_p)
{
    const char *error = "no memory";
    vmc_t *mc = calloc(1, sizeof(*mc));
    if (error_p == NULL)
        error_p = &error;
    *error_p = error;
    if (mc == NULL)
        return NULL;
    *mc = (vmc_t){.forks = os_fork_generation()};
    list_init(&mc->nets);
    list_init(&mc->spare);
    if (config_read(mc, config, error_p) && ring_build(mc))
        return mc;
    free_handle(mc);
    return NULL;
}

void vmc_close(vmc_t *mc)
{
    if (mc == NULL)
        return;
    handle_check(mc);
    for (unsigned i = 0; i < mc->server_count; i++) {
        calls_fail(&mc->servers[i], VMC_ERR_CANCELLED, true);
        server_leave(&mc->servers[i]);
    }
    while (!list_empty(&mc->nets))
        net_close(container_of(mc->nets.next, net_t, link)); /* every operation ends, and its call */
    free_handle(mc);
}

/* The core's objects of the parent, and calls whose operations they hold, are not touched and not freed (C4). */
static void forget(vmc_t *mc)
{
    for (unsigned i = 0; i < mc->server_count; i++) {
        mc_server_t *server = &mc->servers[i];
        list_link_t *lists[] = {&server->flying, &server->queue};
        for (unsigned j = 0; j < 2; j++)
            for (list_link_t *link = list_pop(lists[j]); link != NULL; link = list_pop(lists[j]))
                call_end_early(container_of(link, call_t, link)->req, VMC_ERR_CANCELLED);
        server->flying_count = 0;
        server_close(server, true);
    }
    list_init(&mc->nets);
    list_init(&mc->spare);
    mc->calls = NULL;
    mc->call_count = mc->call_capacity = 0;
}

void handle_check(vmc_t *mc)
{
    uint64_t forks = os_fork_generation_now();
    if (mc->forks == forks)
        return;
    mc->forks = forks;
    forget(mc);
}
