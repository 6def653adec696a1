/* SPDX-License-Identifier: Apache-2.0
 * init.c - from shmem_init to shmem_finalize.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "grp/table.h"
#include "shmem/src/entry.h"

/* ---- the environment */

static const char *variable(const char *name, const char *old)
{
    const char *value = getenv(name);
    return value != NULL ? value : getenv(old);
}

/* "20m", "3.1M", ".5g"; what follows the first letter is ignored, as the specification says. */
static int parse_size(const char *text, size_t *bytes_p)
{
    char *end;
    const double number = strtod(text, &end);
    const char *letters = "kKmMgGtT";
    double bytes = number;
    if (end == text || !(number >= 0))
        return -1;
    if (*end != 0) {
        const char *letter = strchr(letters, *end);
        if (letter == NULL)
            return -1;
        bytes *= (double)((uint64_t)1 << (10 * ((letter - letters) / 2 + 1)));
    }
    if (bytes > (double)((uint64_t)1 << 46))
        return -1;
    *bytes_p = (size_t)bytes + (bytes > (double)(size_t)bytes);
    return 0;
}

static int read_environment(void)
{
    const char *size = variable("SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE");
    shm.limit = (size_t)512 << 20;
    shm.debug = variable("SHMEM_DEBUG", "SMA_DEBUG") != NULL;
    if (size != NULL && parse_size(size, &shm.limit) != 0)
        return rt_fail("SHMEM_SYMMETRIC_SIZE is '%s': write a number of bytes with k, m, g or t, as in 512m", size);
    return 0;
}

static void show_information(void)
{
    if (shm.pe != 0)
        return;
    if (variable("SHMEM_VERSION", "SMA_VERSION") != NULL)
        printf("%s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    if (variable("SHMEM_INFO", "SMA_INFO") != NULL)
        printf("SHMEM_VERSION         print the version at the start\n"
               "SHMEM_INFO            print this text\n"
               "SHMEM_SYMMETRIC_SIZE  limit of the symmetric heap of each PE: bytes, or with k, m, g, t (now %zu)\n"
               "SHMEM_DEBUG           print the choices\n"
               "%d PEs, %d of them share memory with PE 0; static data: %zu bytes are symmetric\n",
               shm.limit, shm.pes, shm.on_node, shm.static_count > 0 ? shm.statics_length : 0);
    (void)fflush(stdout);
}

static void show_choices(void)
{
    if (shm.debug)
        shm_log(
            "symmetric memory of %zu bytes in memory %s; %d of %d PEs by loads and stores; static data: %zu bytes %s",
            shm.limit, shm.own != NULL ? "of its own" : "of the node", shm.on_node, shm.pes, shm.statics_length,
            shm.static_count > 0 ? "mapped into it" : "not symmetric");
}

/* ---- opening */

typedef struct start {
    uint64_t limit[2]; /* least, most */
    uint64_t mark[2];
    uint64_t blocked;
} start_t;

static void agree(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    const start_t *from = in;
    start_t *to = inout;
    (void)reduce, (void)count;
    to->limit[0] = from->limit[0] < to->limit[0] ? from->limit[0] : to->limit[0];
    to->limit[1] = from->limit[1] > to->limit[1] ? from->limit[1] : to->limit[1];
    to->mark[0] = from->mark[0] < to->mark[0] ? from->mark[0] : to->mark[0];
    to->mark[1] = from->mark[1] > to->mark[1] ? from->mark[1] : to->mark[1];
    to->blocked |= from->blocked;
}

/* Static data is symmetric at all PEs or at none. */
static int share_statics(int has_threads)
{
    const grp_reduce_t reduce = {.apply = agree, .element = sizeof(start_t), .commutes = 1};
    const uint64_t mark = shm_statics_mark();
    start_t found = {{shm.limit, shm.limit}, {mark, mark}, (uint64_t)(has_threads || shm.static_count == 0)};
    if (grp_allreduce(&shm_world.grp, &found, 1, &reduce) < 0)
        return rt_fail("%s", grp_error());
    if (found.limit[0] != found.limit[1])
        return rt_fail("SHMEM_SYMMETRIC_SIZE is from %llu to %llu bytes at the PEs; set it alike",
                       (unsigned long long)found.limit[0], (unsigned long long)found.limit[1]);
    if (found.blocked || found.mark[0] != found.mark[1]) {
        shm.static_count = 0;
        if (shm.pe == 0)
            shm_log("shmem_init: static data is not symmetric in this job: %s",
                    found.blocked ? "threads ran before shmem_init at some PE"
                                  : "the PEs run different programs or libraries");
        return 0;
    }
    return shm_statics_map();
}

static int open_parts(int has_threads)
{
    shm.pe = rt.rank;
    shm.pes = rt.size;
    if (table_open() != 0 || shm_arena_open() != 0)
        return -1;
    shm_heap_open();
    if (shm_far_open() != 0 || shm_teams_open() != 0 || share_statics(has_threads) != 0)
        return -1;
    shm.inits = 1; /* from here on others may ask for keys */
    if (shm.on_node < shm.pes)
        rt_keeper_serve(1);
    if (grp_barrier(&shm_world.grp) < 0)
        return rt_fail("%s", grp_error());
    show_information();
    show_choices();
    return 0;
}

static int open_library(int level)
{
    if (read_environment() != 0)
        return -1;
    shm_statics_find();
    const int others = rt_threads_of_program();
    if (rt_acquire() != 0 || rt_threads_open(level == SHMEM_THREAD_MULTIPLE) != 0)
        return -1;
    shm.threads = rt_gate.shared ? SHMEM_THREAD_MULTIPLE : level;
    return open_parts(others > 1);
}

int shm_init_thread(int requested, int *provided, const char *function)
{
    int rc = 0;
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE)
        shm_fatal(function, "argument requested is %d, which is none of SHMEM_THREAD_*", requested);
    rt_enter();
    if (shm.inits > 0)
        shm.inits++;
    else
        rc = open_library(requested);
    if (rc != 0)
        shm_log("%s: %s", function, rt.error);
    *provided = shm.threads;
    rt_leave();
    return rc;
}

void shm_init(const char *function)
{
    int provided;
    if (shm_init_thread(SHMEM_THREAD_SINGLE, &provided, function) != 0)
        rt_abort(1);
}

static void finalize_at_exit(void)
{
    if (shm.inits > 0)
        shm_finalize("exit");
}

void shm_start_pes(const char *function)
{
    if (shm.inits > 0)
        return;
    shm_init(function);
    (void)atexit(finalize_at_exit);
}

void shm_query_thread(int *provided, const char *function)
{
    shm_check_ready(function);
    *provided = shm.threads;
}

void shm_finalize(const char *function)
{
    shm_check_ready(function);
    rt_enter();
    shm_barrier_all(function);
    if (shm.inits > 1) {
        shm.inits--;
        rt_leave();
        return;
    }
    if (shm.on_node < shm.pes)
        rt_keeper_serve(-1);
    shm_statics_unmap();
    shm_contexts_close();
    shm_teams_close();
    shm_far_close();
    shm_heap_close();
    shm_arena_close();
    shm.inits = 0;
    rt_threads_close();
    if (rt_release() != 0)
        shm_log("%s: %s", function, rt.error);
    rt_leave();
}

void shm_global_exit(int status)
{
    rt_exit_job(status);
}

int shm_my_pe(const char *function)
{
    shm_check_ready(function);
    return shm.pe;
}

int shm_n_pes(const char *function)
{
    shm_check_ready(function);
    return shm.pes;
}
