/* SPDX-License-Identifier: Apache-2.0
 * entry.h - what the generated entry points call (api/templates.yaml says which).
 */
#ifndef VERBENA_SHMEM_ENTRY_H
#define VERBENA_SHMEM_ENTRY_H

#include <limits.h>
#include <pshmem.h>
#include <mpi.h> /* names of operations and types of op/ */

#include "shmem/src/coll.h"
#include "shmem/src/translate.h"
#include "shmem/src/wait.h"

#define SHM_MPI_CHAR (CHAR_MIN < 0 ? MPI_INT8_T : MPI_UINT8_T)

/* set-up */
void shm_init(const char *function);
int shm_init_thread(int requested, int *provided, const char *function);
void shm_start_pes(const char *function);
void shm_query_thread(int *provided, const char *function);
void shm_finalize(const char *function);
void shm_global_exit(int status) __attribute__((noreturn));
int shm_my_pe(const char *function);
int shm_n_pes(const char *function);
int shm_pe_accessible(int pe, const char *function);
int shm_addr_accessible(const void *address, int pe, const char *function);
void *shm_ptr(const void *address, int pe, const char *function);

/* memory */
void *shm_malloc(size_t alignment, size_t size, const char *function);
void *shm_calloc(size_t count, size_t size, const char *function);
void *shm_align(size_t alignment, size_t size, const char *function);
void *shm_realloc(void *block, size_t size, const char *function);
void shm_free(void *block, const char *function);
void *shm_malloc_with_hints(size_t size, long hints, const char *function);

/* strided; strides in elements, blocks of `block` elements */
void shm_iput(shm_ctx_t *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t element,
              size_t block, size_t count, int pe, const char *function);
void shm_iget(shm_ctx_t *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t element,
              size_t block, size_t count, int pe, const char *function);

/* signals and order */
void shm_put_signal(shm_ctx_t *ctx, void *dest, const void *source, size_t length, uint64_t *signal, uint64_t value,
                    int op, int pe, int nbi, const char *function);
void shm_fence(shm_ctx_t *ctx);
void shm_quiet(shm_ctx_t *ctx);
void shm_pe_quiet(shm_ctx_t *ctx, const int *pes, size_t count, const char *function);

/* locks */
void shm_set_lock(long *lock, const char *function);
int shm_test_lock(long *lock, const char *function);
void shm_clear_lock(long *lock, const char *function);

/* teams and contexts */
int shm_team_my_pe(shmem_team_t team, const char *function);
int shm_team_n_pes(shmem_team_t team, const char *function);
int shm_team_get_config(shmem_team_t team, long mask, shmem_team_config_t *config, const char *function);
int shm_team_translate(shmem_team_t from, int pe, shmem_team_t to, const char *function);
int shm_team_split(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t *config, long mask,
                   shmem_team_t *team, const char *function);
int shm_team_split_2d(shmem_team_t parent, int range, const shmem_team_config_t *x_config, long x_mask,
                      shmem_team_t *x_team, const shmem_team_config_t *y_config, long y_mask, shmem_team_t *y_team,
                      const char *function);
void shm_team_destroy(shmem_team_t team, const char *function);
void *shm_team_ptr(shmem_team_t team, const void *address, int pe, const char *function);
int shm_ctx_create(long options, shmem_ctx_t *ctx, const char *function);
int shm_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx, const char *function);
void shm_ctx_destroy(shmem_ctx_t ctx, const char *function);
int shm_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team, const char *function);
void shm_ctx_session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long mask,
                           const char *function);
void shm_ctx_session_stop(shmem_ctx_t ctx, const char *function);

#endif
