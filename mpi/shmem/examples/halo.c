/* SPDX-License-Identifier: Apache-2.0
 * halo.c - heat in a plate: rows are spread over the PEs; in each step a PE puts its outer rows into its neighbours' borders,
 * with a signal that says so, and waits for theirs. The result does not depend on the number of PEs.
 *
 *     oshcc halo.c -o halo && oshrun -n 4 ./halo [SIZE STEPS]
 */
#include <shmem.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UP, DOWN };

static uint64_t arrived[2]; /* steps whose border has come from the PE above, below */
static uint64_t used[2];    /* steps that the PE above, below has used my row of */

static int size, first, rows; /* this PE's rows are first .. first + rows - 1 */

/* The border of the plate is warm on one side. */
static void start(double *plate)
{
    memset(plate, 0, (size_t)(rows + 2) * (size_t)size * sizeof(double));
    for (int row = 0; row < rows + 2; row++)
        plate[row * size] = 100.0;
}

/* Both buffers take turns, so the border of a step is written only when the one of two steps before was used. */
static void exchange(double *plate, uint64_t step, int last_row)
{
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    const size_t row = (size_t)size * sizeof(double);
    if (me > 0)
        shmem_putmem_signal(plate + (last_row + 1) * size, plate + size, row, &arrived[DOWN], step, SHMEM_SIGNAL_SET,
                            me - 1);
    if (me < pes - 1)
        shmem_putmem_signal(plate, plate + rows * size, row, &arrived[UP], step, SHMEM_SIGNAL_SET, me + 1);
    if (me > 0)
        (void)shmem_signal_wait_until(&arrived[UP], SHMEM_CMP_GE, step);
    if (me < pes - 1)
        (void)shmem_signal_wait_until(&arrived[DOWN], SHMEM_CMP_GE, step);
}

static void compute(double *restrict to, const double *restrict from)
{
    for (int row = 1; row <= rows; row++) {
        if (first + row - 1 == 0 || first + row - 1 == size - 1)
            continue; /* the plate's border */
        for (int i = 1; i < size - 1; i++)
            to[row * size + i] = 0.25 * (from[row * size + i - 1] + from[row * size + i + 1] +
                                         from[(row - 1) * size + i] + from[(row + 1) * size + i]);
    }
}

static int first_of(int pe)
{
    return (int)((long)size * pe / shmem_n_pes());
}

int main(int argc, char **argv)
{
    shmem_init();
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    size = argc > 1 ? atoi(argv[1]) : 128;
    const int steps = argc > 2 ? atoi(argv[2]) : 100;
    first = first_of(me);
    rows = first_of(me + 1) - first;
    const int above = me > 0 ? first - first_of(me - 1) : 0; /* rows of the PE above, below whose last is its border */
    const size_t room = (size_t)(size / pes + 3) * (size_t)size * sizeof(double);
    double *plates[2] = {shmem_malloc(room), shmem_malloc(room)};
    static double mine, sum;
    if (plates[0] == NULL || plates[1] == NULL || size < pes)
        shmem_global_exit(1);
    start(plates[0]);
    start(plates[1]);
    shmem_barrier_all();
    for (int step = 1; step <= steps; step++) {
        exchange(plates[step % 2], (uint64_t)step, above);
        compute(plates[1 - step % 2], plates[step % 2]);
        if (me > 0)
            shmem_uint64_atomic_set(&used[DOWN], (uint64_t)step, me - 1);
        if (me < pes - 1)
            shmem_uint64_atomic_set(&used[UP], (uint64_t)step, me + 1);
        if (me > 0)
            shmem_uint64_wait_until(&used[UP], SHMEM_CMP_GE, (uint64_t)step - 1);
        if (me < pes - 1)
            shmem_uint64_wait_until(&used[DOWN], SHMEM_CMP_GE, (uint64_t)step - 1);
    }
    for (int i = 0; i < rows * size; i++)
        mine += plates[1 - steps % 2][size + i];
    (void)shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    if (me == 0)
        printf("checksum %.6f after %d steps\n", sum, steps);
    shmem_finalize();
    return 0;
}
