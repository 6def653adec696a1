/* SPDX-License-Identifier: Apache-2.0
 * Reductions of much data: in the heap and in static memory, to another place and in place, of all PEs and of a team.
 * PEs: 1 2 3 5 hosts
 */
#include "rule.h"

#define MOST 40000

static double fixed_in[MOST], fixed_out[MOST];

static void sum(shmem_team_t team, double *out, double *in, size_t count)
{
    double first = 0;
    const int n = shmem_team_n_pes(team);
    for (int i = 0; i < n; i++)
        first += shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
    for (size_t i = 0; i < count; i++)
        in[i] = me + (double)i;
    shmem_team_sync(team);
    CHECK(shmem_double_sum_reduce(team, out, in, count) == 0);
    for (size_t i = 0; i < count; i++)
        CHECK(out[i] == first + (double)i * n);
    shmem_team_sync(team);
}

static void test(void)
{
    static const size_t counts[] = {1, 1000, 5000, MOST};
    shmem_team_t even;
    double *in = shmem_malloc(MOST * sizeof(double));
    double *out = shmem_malloc(MOST * sizeof(double));
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (shmem_n_pes() + 1) / 2, NULL, 0, &even);
    for (int i = 0; i < 4; i++) {
        sum(SHMEM_TEAM_WORLD, out, in, counts[i]);
        sum(SHMEM_TEAM_WORLD, in, in, counts[i]);
        sum(SHMEM_TEAM_WORLD, fixed_out, fixed_in, counts[i]);
        sum(SHMEM_TEAM_WORLD, fixed_out, in, counts[i]);
        if (even != SHMEM_TEAM_INVALID)
            sum(even, out, in, counts[i]);
    }
    shmem_free(in);
    shmem_free(out);
}
