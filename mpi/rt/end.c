/* SPDX-License-Identifier: Apache-2.0
 * end.c - how a rank ends the whole job: the program's streams are flushed, the launcher ends all ranks at once.
 */
#include "rt/rt.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define EXIT_WELL 256 /* as exit code a 0, but seen as a wish: LAUNCH_ALL_WELL */
#define ABORT_MS 2000 /* that a launcher may take to end the job */
#define FLUSH_MS 2000 /* that the program's streams may take to be written before that */

static void *flush_all(void *flushed)
{
    (void)fflush(NULL);
    atomic_store_explicit((_Atomic int *)flushed, 1, memory_order_release);
    return NULL;
}

/* A stream that a thread of the program has locked, or whose file takes nothing, keeps nobody from ending. */
static void flush_streams(void)
{
    static _Atomic int flushed;
    const struct timespec look = {.tv_nsec = 1000000};
    pthread_t thread;
    if (pthread_create(&thread, NULL, flush_all, &flushed) != 0)
        return;
    for (int ms = 0; ms < FLUSH_MS && !atomic_load_explicit(&flushed, memory_order_acquire); ms++)
        (void)nanosleep(&look, NULL);
}

__attribute__((noreturn)) static void end_job(int code)
{
    flush_streams();
    if (rt.pmi.ops != NULL)
        rt.pmi.ops->abort(&rt.pmi, code);
    if (rt.pmi.ops != NULL &&
        rt.pmi.fd >= 0) { /* the launcher ends all ranks at once; who went before it would be missed by the others */
        struct pollfd entry = {.fd = rt.pmi.fd, .events = POLLRDHUP};
        (void)poll(&entry, 1, ABORT_MS);
    }
    _exit(code & 255);
}

void rt_abort(int code)
{
    end_job((code & 255) == 0 ? EXIT_FAILURE : code & 255);
}

void rt_exit_job(int code)
{
    end_job((code & 255) == 0 ? EXIT_WELL : code & 255);
}
