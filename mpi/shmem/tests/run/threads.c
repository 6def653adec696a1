/* SPDX-License-Identifier: Apache-2.0
 * SHMEM_THREAD_MULTIPLE: threads of a PE put, add, wait for each other and for threads of other PEs, each with a context.
 * PEs: 1 2 3 hosts tcp
 */
#define RULE_OWN_MAIN
#include <pthread.h>

#include "rule.h"

#define THREADS 4
#define ROUNDS 200

static long words[THREADS];
static long total;

static void *work(void *arg)
{
    const int thread = (int)(intptr_t)arg;
    const int next = (me + 1) % size;
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
    for (long round = 1; round <= ROUNDS; round++) {
        shmem_ctx_long_p(ctx, &words[thread], round, next);
        shmem_ctx_quiet(ctx);
        shmem_long_wait_until(&words[thread], SHMEM_CMP_GE, round);
        shmem_ctx_long_atomic_inc(ctx, &total, 0);
    }
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int provided;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 1;
    me = shmem_my_pe();
    size = shmem_n_pes();
    CHECK(provided == SHMEM_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    shmem_barrier_all();
    CHECK(shmem_long_g(&total, 0) == (long)THREADS * ROUNDS * size);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
