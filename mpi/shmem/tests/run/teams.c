/* SPDX-License-Identifier: Apache-2.0
 * Teams: splits by strides and in two dimensions, numbers of PEs, contexts of teams, collectives of several teams at once,
 * more teams than there are ids.
 * PEs: 1 2 4 5 hosts
 */
#include "rule.h"

static long in[64], out[64];

static void check_sum(shmem_team_t team, long expected)
{
    in[0] = me;
    CHECK(shmem_long_sum_reduce(team, out, in, 1) == 0 && out[0] == expected);
    CHECK(shmem_team_sync(team) == 0);
}

static void predefined(void)
{
    CHECK(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me && shmem_team_n_pes(SHMEM_TEAM_WORLD) == size);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
    for (int pe = 0; pe < shmem_team_n_pes(SHMEM_TEAM_SHARED); pe++) {
        const int world = shmem_team_translate_pe(SHMEM_TEAM_SHARED, pe, SHMEM_TEAM_WORLD);
        CHECK(world >= 0 && world < size && shmem_ptr(in, world) != NULL &&
              shmem_team_ptr(SHMEM_TEAM_SHARED, in, pe) != NULL);
        CHECK((world == me) == (pe == shmem_team_my_pe(SHMEM_TEAM_SHARED)));
    }
}

/* Even and odd PEs. */
static void strided(void)
{
    shmem_team_t even, odd = SHMEM_TEAM_INVALID;
    const shmem_team_config_t config = {.num_contexts = 3};
    shmem_team_config_t found = {0};
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (size + 1) / 2, &config, SHMEM_TEAM_NUM_CONTEXTS, &even) ==
          0);
    if (size > 1)
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, size - 1 - size % 2, -2, size / 2, NULL, 0, &odd) == 0);
    const shmem_team_t mine = me % 2 == 0 ? even : odd;
    CHECK((even == SHMEM_TEAM_INVALID) == (me % 2 == 1) && (size == 1 || (odd == SHMEM_TEAM_INVALID) == (me % 2 == 0)));
    if (me % 2 == 0) {
        CHECK(shmem_team_get_config(even, SHMEM_TEAM_NUM_CONTEXTS, &found) == 0 && found.num_contexts == 3);
        CHECK(shmem_team_my_pe(even) == me / 2 && shmem_team_n_pes(even) == (size + 1) / 2);
        CHECK(shmem_team_translate_pe(even, me / 2, SHMEM_TEAM_WORLD) == me);
        CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 1, even) == -1);
    }
    long sum = 0;
    for (int pe = me % 2; pe < size; pe += 2)
        sum += pe;
    for (int i = 0; i < 50; i++)
        check_sum(mine, sum);
    shmem_ctx_t ctx;
    shmem_team_t of;
    CHECK(shmem_team_create_ctx(mine, SHMEM_CTX_SERIALIZED, &ctx) == 0 && shmem_ctx_get_team(ctx, &of) == 0 &&
          of == mine);
    out[1] = 0;
    shmem_barrier_all();
    const int next = (shmem_team_my_pe(mine) + 1) % shmem_team_n_pes(mine);
    shmem_ctx_long_p(ctx, &out[1], 10 + me, next);
    shmem_ctx_quiet(ctx);
    shmem_team_sync(mine);
    const int before = (shmem_team_my_pe(mine) + shmem_team_n_pes(mine) - 1) % shmem_team_n_pes(mine);
    CHECK(out[1] == 10 + shmem_team_translate_pe(mine, before, SHMEM_TEAM_WORLD));
    shmem_ctx_destroy(ctx);
    shmem_team_destroy(even);
    shmem_team_destroy(odd);
}

static void two_dimensions(void)
{
    shmem_team_t x, y;
    const int range = 2;
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, range, NULL, 0, &x, NULL, 0, &y) == 0);
    CHECK(shmem_team_my_pe(x) == me % range && shmem_team_my_pe(y) == me / range);
    long row = 0, column = 0;
    for (int pe = 0; pe < size; pe++) {
        row += pe / range == me / range ? pe : 0;
        column += pe % range == me % range ? pe : 0;
    }
    check_sum(x, row);
    check_sum(y, column);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
}

static void wrong(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size + 1, NULL, 0, &team) != 0 &&
          team == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0 && team == SHMEM_TEAM_INVALID);
}

/* At least 60 at a time; then it is an error, and destroying one makes room. */
static void many(void)
{
    static shmem_team_t teams[100];
    int made = 0;
    while (made < 100 && shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, NULL, 0, &teams[made]) == 0)
        check_sum(teams[made++], (long)size * (size - 1) / 2);
    CHECK(made >= 60 && made < 100);
    shmem_team_destroy(teams[--made]);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, NULL, 0, &teams[made]) == 0);
    for (int i = 0; i <= made; i++)
        shmem_team_destroy(teams[i]);
}

static void test(void)
{
    predefined();
    strided();
    two_dimensions();
    wrong();
    many();
    shmem_barrier_all();
}
