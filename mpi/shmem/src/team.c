/* SPDX-License-Identifier: Apache-2.0
 * team.c - teams: a set of PEs of regular distance, and an id that no other team of its members has.
 */
#include <stdlib.h>

#include "shmem/src/entry.h"

#define KIND 5ull /* of the tags of messages; comm.h has the others */
#define IDS 64
#define ID_WORLD 0
#define ID_SHARED 1

shm_team_t shm_world;
shm_team_t shm_shared;
static shm_team_t *made;
static uint64_t free_ids;

static void prepare(shm_team_t *team, unsigned id)
{
    team->id = id;
    team->grp = (grp_t){.ranks = team->ranks, .base = KIND << 60 | (uint64_t)id << 36, .slots = 1};
}

static rt_group_t *ranks_of_node(void)
{
    const int alone = shm.pe;
    return shm.own != NULL ? rt_group_create(&alone, 1) : rt_group_create(rt_node.ranks, shm.on_node);
}

int shm_teams_open(void)
{
    free_ids = ~(uint64_t)0 << (ID_SHARED + 1);
    shm_world.ranks = rt_group_range(0, 1, shm.pes);
    shm_shared.ranks = ranks_of_node();
    if (shm_world.ranks == NULL || shm_shared.ranks == NULL)
        return rt_fail("teams: no memory left");
    prepare(&shm_world, ID_WORLD);
    prepare(&shm_shared, ID_SHARED);
    return 0;
}

static void end_team(shm_team_t *team)
{
    grp_end(&team->grp);
    rt_group_release(team->ranks);
    team->ranks = NULL;
}

void shm_teams_close(void)
{
    for (shm_team_t *team; (team = made) != NULL; free(team)) {
        made = team->next;
        end_team(team);
    }
    shm_sets_close();
    end_team(&shm_shared);
    end_team(&shm_world);
}

shm_team_t *shm_team_find(shmem_team_t team, const char *function)
{
    shm_check_ready(function);
    if (team == SHMEM_TEAM_WORLD)
        return &shm_world;
    if (team == SHMEM_TEAM_SHARED)
        return &shm_shared;
    for (shm_team_t *one = made; one != NULL; one = one->next)
        if (one == (shm_team_t *)team)
            return one;
    shm_fatal(function, "argument team is %s",
              team == SHMEM_TEAM_INVALID ? "SHMEM_TEAM_INVALID" : "no team, or one that was destroyed");
}

int shm_team_my_pe(shmem_team_t team, const char *function)
{
    return team == SHMEM_TEAM_INVALID ? -1 : shm_team_find(team, function)->ranks->rank;
}

int shm_team_n_pes(shmem_team_t team, const char *function)
{
    return team == SHMEM_TEAM_INVALID ? -1 : shm_team_find(team, function)->ranks->size;
}

int shm_team_get_config(shmem_team_t team, long mask, shmem_team_config_t *config, const char *function)
{
    if (team == SHMEM_TEAM_INVALID)
        return -1;
    const shm_team_t *found = shm_team_find(team, function);
    if ((mask & SHMEM_TEAM_NUM_CONTEXTS) != 0)
        config->num_contexts = found->num_contexts;
    return 0;
}

int shm_team_translate(shmem_team_t from, int pe, shmem_team_t to, const char *function)
{
    if (from == SHMEM_TEAM_INVALID || to == SHMEM_TEAM_INVALID)
        return -1;
    const shm_team_t *source = shm_team_find(from, function);
    const shm_team_t *target = shm_team_find(to, function);
    if (pe < 0 || pe >= source->ranks->size)
        return -1;
    return rt_group_find(target->ranks, rt_group_world(source->ranks, pe));
}

/* ---- splitting */

static void both_free(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    (void)reduce, (void)count;
    *(uint64_t *)inout &= *(const uint64_t *)in;
}

/* An id that is free at every PE of the parent; -1: none. */
static int agree_on_id(shm_team_t *parent, const char *function)
{
    const grp_reduce_t reduce = {.apply = both_free, .element = sizeof(uint64_t), .commutes = 1};
    uint64_t ids = free_ids;
    const int status = grp_allreduce(&parent->grp, &ids, 1, &reduce);
    if (status < 0)
        shm_failed(function, status, grp_error());
    return ids == 0 ? -1 : __builtin_ctzll(ids);
}

static shm_team_t *make(rt_group_t *ranks, int id, const shmem_team_config_t *config, long mask, const char *function)
{
    shm_team_t *team = calloc(1, sizeof(*team));
    if (team == NULL || ranks == NULL)
        shm_fatal(function, "no memory left for a team");
    team->ranks = ranks;
    prepare(team, (unsigned)id);
    if ((mask & SHMEM_TEAM_NUM_CONTEXTS) != 0 && config != NULL)
        team->num_contexts = config->num_contexts;
    free_ids &= ~((uint64_t)1 << id);
    team->next = made;
    made = team;
    return team;
}

/* World ranks of PEs start, start + stride, ... of a team. */
static rt_group_t *pick(const shm_team_t *parent, int start, int stride, int size, const char *function)
{
    int *ranks = malloc((size_t)size * sizeof(int));
    if (ranks == NULL)
        shm_fatal(function, "no memory left for a team of %d PEs", size);
    for (int i = 0; i < size; i++)
        ranks[i] = rt_group_world(parent->ranks, start + i * stride);
    rt_group_t *group = rt_group_create(ranks, size);
    free(ranks);
    return group;
}

static int is_valid(const shm_team_t *parent, int start, int stride, int size)
{
    const int64_t last = (int64_t)start + (int64_t)(size - 1) * stride;
    return start >= 0 && start < parent->ranks->size && size > 0 && last >= 0 && last < parent->ranks->size &&
           (stride != 0 || size == 1);
}

static int split(shm_team_t *parent, int start, int stride, int size, const shmem_team_config_t *config, long mask,
                 shmem_team_t *team, const char *function)
{
    *team = SHMEM_TEAM_INVALID;
    const int id = agree_on_id(parent, function); /* with wrong arguments, too: who calls takes part */
    if (!is_valid(parent, start, stride, size))
        return -1;
    if (id < 0) {
        if (parent->ranks->rank == 0)
            shm_log("%s: a PE has %d teams already, and there are no more; destroy some", function, IDS);
        return -1;
    }
    rt_group_t *ranks = pick(parent, start, stride, size, function);
    if (ranks != NULL && ranks->rank < 0) {
        rt_group_release(ranks);
        return 0;
    }
    *team = (shmem_team_t)make(ranks, id, config, mask, function);
    return 0;
}

int shm_team_split(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t *config, long mask,
                   shmem_team_t *team, const char *function)
{
    if (parent == SHMEM_TEAM_INVALID) {
        *team = SHMEM_TEAM_INVALID;
        return -1;
    }
    shm_team_t *found = shm_team_find(parent, function);
    rt_enter();
    const int rc = split(found, start, stride, size, config, mask, team, function);
    rt_leave();
    return rc;
}

/* Axes: PE x + y * range of the parent is at (x, y). Rows are teams of their own, and so are columns. */
int shm_team_split_2d(shmem_team_t parent, int range, const shmem_team_config_t *x_config, long x_mask,
                      shmem_team_t *x_team, const shmem_team_config_t *y_config, long y_mask, shmem_team_t *y_team,
                      const char *function)
{
    *x_team = *y_team = SHMEM_TEAM_INVALID;
    if (parent == SHMEM_TEAM_INVALID || range < 1)
        return -1;
    shm_team_t *found = shm_team_find(parent, function);
    const int size = found->ranks->size;
    const int width = range < size ? range : size;
    const int x = found->ranks->rank % width;
    const int y = found->ranks->rank / width;
    const int in_row = size - y * width < width ? size - y * width : width;
    rt_enter();
    int rc = split(found, y * width, 1, in_row, x_config, x_mask, x_team, function);
    if (rc == 0)
        rc = split(found, x, width, (size - x + width - 1) / width, y_config, y_mask, y_team, function);
    rt_leave();
    return rc;
}

void shm_team_destroy(shmem_team_t team, const char *function)
{
    if (team == SHMEM_TEAM_INVALID)
        return;
    shm_team_t *found = shm_team_find(team, function);
    if (found == &shm_world || found == &shm_shared)
        shm_fatal(function, "argument team is a predefined team, which stays");
    rt_enter();
    const int status = grp_barrier(&found->grp); /* nobody is inside a collective of it any more */
    if (status < 0)
        shm_failed(function, status, grp_error());
    shm_team_t **at = &made;
    while (*at != found)
        at = &(*at)->next;
    *at = found->next;
    shm_contexts_of_team_close(found);
    free_ids |= (uint64_t)1 << found->id;
    end_team(found);
    free(found);
    rt_leave();
}

int shm_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx, const char *function)
{
    *ctx = SHMEM_CTX_INVALID;
    if (team == SHMEM_TEAM_INVALID)
        return -1;
    shm_team_t *found = shm_team_find(team, function);
    return shm_ctx_make(found == &shm_world ? NULL : found, options, ctx);
}

void *shm_team_ptr(shmem_team_t team, const void *address, int pe, const char *function)
{
    if (team == SHMEM_TEAM_INVALID)
        return NULL;
    const shm_team_t *found = shm_team_find(team, function);
    if (pe < 0 || pe >= found->ranks->size)
        shm_fatal(function, "argument pe is %d, but the team has %d PEs", pe, found->ranks->size);
    return shm_ptr(address, rt_group_world(found->ranks, pe), function);
}
