/* SPDX-License-Identifier: Apache-2.0
 * ctx.c - contexts: each counts its own operations under way; those of a team number PEs as the team does.
 */
#include <stdlib.h>

#include "shmem/src/entry.h"

static shm_ctx_t *made; /* guarded by the runtime */

shm_ctx_t *shm_ctx_find(shmem_ctx_t ctx, const char *function)
{
    shm_check_ready(function);
    if (ctx == SHMEM_CTX_INVALID)
        shm_fatal(function, "argument ctx is SHMEM_CTX_INVALID");
    return (shm_ctx_t *)ctx;
}

int shm_ctx_make(shm_team_t *team, long options, shmem_ctx_t *ctx)
{
    shm_ctx_t *made_now = calloc(1, sizeof(*made_now));
    *ctx = SHMEM_CTX_INVALID;
    if (made_now == NULL)
        return -1;
    made_now->team = team;
    made_now->options = options;
    rt_enter();
    made_now->next = made;
    made = made_now;
    rt_leave();
    *ctx = (shmem_ctx_t)made_now;
    return 0;
}

int shm_ctx_create(long options, shmem_ctx_t *ctx, const char *function)
{
    shm_check_ready(function);
    return shm_ctx_make(NULL, options, ctx);
}

static void end(shm_ctx_t **at)
{
    shm_ctx_t *gone = *at;
    shm_drain(gone);
    *at = gone->next;
    free(gone);
}

void shm_ctx_destroy(shmem_ctx_t ctx, const char *function)
{
    shm_check_ready(function);
    if (ctx == SHMEM_CTX_INVALID)
        return;
    if (ctx == SHMEM_CTX_DEFAULT)
        shm_fatal(function, "argument ctx is SHMEM_CTX_DEFAULT, which stays");
    rt_enter();
    shm_ctx_t **at = &made;
    while (*at != NULL && *at != (shm_ctx_t *)ctx)
        at = &(*at)->next;
    if (*at == NULL)
        shm_fatal(function, "argument ctx is no context, or one that was destroyed");
    end(at);
    rt_leave();
}

void shm_contexts_close(void)
{
    shm_drain(&shm_default);
    while (made != NULL)
        end(&made);
}

void shm_contexts_of_team_close(const shm_team_t *team)
{
    for (shm_ctx_t **at = &made; *at != NULL;)
        if ((*at)->team == team)
            end(at);
        else
            at = &(*at)->next;
}

int shm_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team, const char *function)
{
    *team = SHMEM_TEAM_INVALID;
    if (ctx == SHMEM_CTX_INVALID)
        return -1;
    const shm_ctx_t *found = shm_ctx(ctx, function);
    *team = found->team == NULL          ? SHMEM_TEAM_WORLD
            : found->team == &shm_shared ? SHMEM_TEAM_SHARED
                                         : (shmem_team_t)found->team;
    return 0;
}

/* Hints, also those of later versions: what is put together leaves together anyway. */
void shm_ctx_session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long mask,
                           const char *function)
{
    if (ctx != SHMEM_CTX_INVALID)
        (void)shm_ctx(ctx, function);
    (void)options;
    (void)config;
    (void)mask;
}

void shm_ctx_session_stop(shmem_ctx_t ctx, const char *function)
{
    if (ctx != SHMEM_CTX_INVALID)
        (void)shm_ctx(ctx, function);
}
