/* SPDX-License-Identifier: Apache-2.0
 * One error of a program, named by its argument: run.py expects that the job ends with a message that says what is wrong.
 */
#include <pthread.h>
#include <unistd.h>
#define RULE_OWN_MAIN
#include "rule.h"

static long words[8];

static long private_word(void)
{
    long word = 0;
    shmem_long_p(&word, 1, 0);
    return word;
}

static int wrong_operation(const char *what, long *heap)
{
    if (strcmp(what, "pe") == 0)
        shmem_long_p(words, 1, size);
    else if (strcmp(what, "negative") == 0)
        (void)shmem_long_g(heap, -1);
    else if (strcmp(what, "private") == 0)
        (void)private_word();
    else if (strcmp(what, "system") == 0)
        shmem_long_p((long *)(void *)stdout, 1, 0);
    else if (strcmp(what, "beyond") == 0)
        shmem_putmem(heap, words, (size_t)1 << 40, 0);
    else if (strcmp(what, "misaligned") == 0)
        shmem_long_atomic_inc((long *)(void *)((char *)heap + 4), 0);
    else if (strcmp(what, "compare") == 0)
        shmem_long_wait_until(words, 77, 0);
    else if (strcmp(what, "signal") == 0)
        shmem_putmem_signal(heap, words, 8, (uint64_t *)(void *)words, 1, 9, 0);
    else if (strcmp(what, "unlock") == 0)
        shmem_clear_lock(&words[3]);
    else if (strcmp(what, "context") == 0)
        shmem_ctx_long_p(SHMEM_CTX_INVALID, words, 1, 0);
    else
        return 0;
    return 1;
}

static int wrong_memory(const char *what, long *heap)
{
    if (strcmp(what, "free") == 0)
        shmem_free((char *)heap + 8);
    else if (strcmp(what, "differ") == 0)
        (void)shmem_malloc(me == 0 ? 100 : 200);
    else if (strcmp(what, "align") == 0)
        (void)shmem_align(24, 8);
    else if (strcmp(what, "full") == 0 && shmem_malloc((size_t)1 << 30) == NULL)
        printf("no memory\n");
    else if (strcmp(what, "sequence") == 0 && me != 0)
        (void)shmem_malloc(8);
    else if (strcmp(what, "sequence") == 0 || strcmp(what, "twice") == 0)
        shmem_free(heap);
    else
        return 0;
    if (strcmp(what, "twice") == 0)
        shmem_free(heap);
    return 1;
}

static void do_wrong(const char *what)
{
    long *heap = shmem_malloc(64);
    if (wrong_operation(what, heap) || wrong_memory(what, heap))
        return;
    if (strcmp(what, "root") == 0)
        (void)shmem_long_broadcast(SHMEM_TEAM_WORLD, heap, words, 1, size);
    if (strcmp(what, "set") == 0)
        shmem_barrier(0, 0, size + 1, words);
    if (strcmp(what, "exit") == 0 && me == 1)
        shmem_global_exit(7);
    if (strcmp(what, "exit0") == 0 && me == 1)
        shmem_global_exit(0);
    while (strncmp(what, "exit", 4) == 0)
        (void)pause();
}

static void *sleep_on(void *unused)
{
    while (pause() == -1)
        ;
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > 1 && strcmp(argv[1], "thread") == 0 && pthread_create(&thread, NULL, sleep_on, NULL) != 0)
        return 1;
    if (argc > 1 && strcmp(argv[1], "early") == 0)
        shmem_long_p(words, 1, 0);
    shmem_init();
    me = shmem_my_pe();
    size = shmem_n_pes();
    if (argc > 1 && strcmp(argv[1], "thread") == 0)
        shmem_long_p(words, 1, 0);
    else if (argc > 1)
        do_wrong(argv[1]);
    shmem_finalize();
    if (argc > 1 && strcmp(argv[1], "late") == 0)
        shmem_barrier_all();
    return 0;
}
