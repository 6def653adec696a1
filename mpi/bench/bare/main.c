/* SPDX-License-Identifier: Apache-2.0
 * main.c - barebench: the best that two processes of this machine can do, without any library of messages.
 *
 * usage: barebench two CPU,CPU
 * It prints what mpibench prints, so that the same programs read both.
 */
#include "bare.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

bare_t bare;

static void meet(void)
{
    bare_say();
    bare_hear();
}

static void gather(const bench_t *bench, double mine, double *values)
{
    bare.meeting->values[bench->rank] = mine;
    meet();
    memcpy(values, bare.meeting->values, sizeof(bare.meeting->values));
    meet();
}

static int agree(int value)
{
    if (bare.rank == 0)
        bare.meeting->value = value;
    meet();
    const int agreed = bare.meeting->value;
    meet();
    return agreed;
}

static void *map(size_t bytes, int flags)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        bench_fail("memory", "the system has none");
    return memory;
}

/* Loops use the memory of `bare`; the forms of a benchmark get a page. */
static char *memory(size_t bytes)
{
    return map(bytes, MAP_PRIVATE);
}

static void release(char *memory)
{
    (void)memory; /* ends with the process */
}

static void abort_all(void)
{
    (void)kill(bare.meeting->pids[bare.other], SIGKILL);
    exit(1);
}

static void set_up(void)
{
    bare.meeting = map(sizeof(meeting_t), MAP_SHARED);
    for (int rank = 0; rank < 2; rank++) {
        bare.out[rank] = map(SPAN, MAP_SHARED);
        bare.in[rank] = map(SPAN, MAP_SHARED);
        bare.ring[rank] = map(RING_BYTES, MAP_SHARED);
    }
    bare.own_out = map(SPAN, MAP_PRIVATE);
    bare.own_in = map(SPAN, MAP_PRIVATE);
}

/* Every page is there before a clock runs. */
static void touch(void)
{
    memset(bare.out[bare.rank], bare.rank + 1, SPAN);
    memset(bare.in[bare.rank], 0, SPAN);
    memset(bare.own_out, bare.rank + 1, SPAN);
    memset(bare.own_in, 0, SPAN);
    memset(bare.ring[bare.rank], 0, RING_BYTES);
}

static int finish(pid_t child)
{
    int status = 0;
    if (child == 0)
        return 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    const size_t count = copy_cell_count + sum_cell_count + rate_cell_count;
    cell_t *cells = calloc(count, sizeof(*cells));
    if (cells == NULL)
        return 1;
    memcpy(cells, copy_cells, copy_cell_count * sizeof(*cells));
    memcpy(cells + copy_cell_count, sum_cells, sum_cell_count * sizeof(*cells));
    memcpy(cells + copy_cell_count + sum_cell_count, rate_cells, rate_cell_count * sizeof(*cells));
    const form_t form = {"two", 2, 1, cells, count};
    const library_t library = {"barebench", LINE, &form, 1, meet, gather, agree, memory, release, abort_all};
    bench_names(&library);
    set_up();
    bare.meeting->pids[0] = getpid();
    const pid_t child = fork();
    if (child < 0)
        bench_fail("second process", "the system starts none");
    bare.rank = child == 0;
    bare.other = child != 0;
    bare.meeting->pids[bare.rank] = getpid();
    touch();
    bench_t bench = {.rank = bare.rank, .size = 2};
    meet();
    bench_run(&library, &bench, argc, argv, 0);
    free(cells);
    return finish(child);
}
