/* SPDX-License-Identifier: Apache-2.0
 * far.h - operations on PEs of other nodes: the core's one-sided operations, by keys that are asked for at first contact.
 *
 * F1 An operation that its call does not wait for counts in its context until it is complete (shm_ctx_t.pending).
 * F2 What a put carries is copied up to SHM_COPIED bytes, so that the call returns at once; of more it waits for the end.
 * F3 An operation whose data crosses an extent of the heap is cut there: each extent has a key of its own.
 */
#ifndef VERBENA_SHMEM_FAR_H
#define VERBENA_SHMEM_FAR_H

#include "shmem/src/translate.h"

#define SHM_COPIED ((size_t)8 << 10)
#define SHM_UNDER_WAY 1024 /* operations of a context before a further one waits */

/* An operation under way. */
typedef struct shm_op {
    vbn_op_t op;
    struct shm_op *next; /* free ones */
    shm_ctx_t *ctx;      /* that it counts in; NULL: its call waits for it */
    int pe;
    uint64_t before; /* of an atomic */
    void *fetch;     /* where that goes; NULL: nowhere */
    unsigned width;
    struct iovec piece;
    vbn_strided_t blocks;
    unsigned char data[64]; /* what is copied of a short put */
    void *copied;           /* of a longer one; NULL: nothing */
} shm_op_t;

void shm_check_pe(int pe, const char *function);

/* These enter the runtime. */
void shm_far_put(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, int nbi, const char *function);
void shm_far_get(shm_ctx_t *ctx, void *dest, const void *source, size_t length, int pe, int nbi, const char *function);
uint64_t shm_far_atomic(shm_ctx_t *ctx, unsigned kind, unsigned width, const void *dest, uint64_t operand,
                        uint64_t compare, int pe, int fetches, const char *function);
void shm_far_fetch_nbi(shm_ctx_t *ctx, unsigned kind, unsigned width, void *fetch, const void *dest, uint64_t operand,
                       uint64_t compare, int pe, const char *function);
void shm_far_put_signal(shm_ctx_t *ctx, void *dest, const void *source, size_t length, uint64_t *signal, uint64_t value,
                        unsigned kind, int pe, int nbi, const char *function);

/* The key of the memory at this place of a PE, how many bytes from there it covers, and the offset in it. */
vbn_key_t *shm_far_key(int pe, const void *address, size_t *offset_p, size_t *covered_p, const char *function);

/* An operation in the making: one that its call waits for, one that counts in the context (F1). */
shm_op_t *shm_op_new(shm_ctx_t *ctx, int pe, const char *function);
shm_op_t *shm_op_counted(shm_ctx_t *ctx, int pe, const char *function);
/* After the call of the core: waits for it unless it counts in a context. Ends the job when it failed. */
void shm_op_begun(shm_op_t *op, vbn_status_t status, const char *function);
/* Gives back one that was waited for. */
void shm_op_end(shm_op_t *op);
void shm_ops_close(void);

#endif
