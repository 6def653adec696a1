/* SPDX-License-Identifier: Apache-2.0
 * wait.h - waits for and tests of symmetric variables of this PE.
 */
#ifndef VERBENA_SHMEM_WAIT_H
#define VERBENA_SHMEM_WAIT_H

#include "shmem/src/shm.h"

#define SHM_SIGNED 0x100u

/* Variables, each with a comparison that may come true. */
typedef struct shm_waited {
    const void *variables;
    size_t count;
    const int *status;  /* entries that are not zero are left out; NULL: none */
    unsigned kind;      /* bytes of a variable, | SHM_SIGNED */
    int compare;        /* SHMEM_CMP_* */
    const void *values; /* one, or one for each */
    size_t step;        /* bytes from one value to the next; 0: one for all */
} shm_waited_t;

#define SHM_ONE(variable, kind, compare, value)                                                                        \
    (&(const shm_waited_t){(variable), 1, NULL, (kind), (compare), (value), 0})
#define SHM_SET(variables, count, status, kind, compare, value)                                                        \
    (&(const shm_waited_t){(variables), (count), (status), (kind), (compare), (value), 0})
#define SHM_VECTOR(variables, count, status, kind, compare, values)                                                    \
    (&(const shm_waited_t){(variables), (count), (status), (kind), (compare), (values), (kind) & 0xff})

void shm_wait(const shm_waited_t *waited, const char *function);
void shm_wait_all(const shm_waited_t *waited, const char *function);
size_t shm_wait_any(const shm_waited_t *waited, const char *function);
size_t shm_wait_some(const shm_waited_t *waited, size_t *indices, const char *function);
int shm_test(const shm_waited_t *waited, const char *function);
int shm_test_all(const shm_waited_t *waited, const char *function);
size_t shm_test_any(const shm_waited_t *waited, const char *function);
size_t shm_test_some(const shm_waited_t *waited, size_t *indices, const char *function);
uint64_t shm_signal_fetch(const uint64_t *signal, const char *function);
/* After a test that failed: makes progress now and then, because a program may test in a loop. */
void shm_look(void);
uint64_t shm_signal_wait(uint64_t *signal, int compare, uint64_t value, const char *function);

#endif
