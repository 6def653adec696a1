/* SPDX-License-Identifier: Apache-2.0
 * sig.h - which basic elements a datatype has, in the order of its packed form: counted items, each a basic type or a
 * signature of its own. Most types have one item.
 *
 * S1 A signature never changes, so types share them; the last one who releases it frees it.
 * S2 A signature has at most as many elements, and bytes in external32, as bytes, and those fit: the node of the same
 *    type is made first and checks it (N4).
 */
#ifndef VERBENA_MPI_DT_SIG_H
#define VERBENA_MPI_DT_SIG_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

typedef struct dt_sig_item {
    struct dt_sig *part; /* NULL: basic elements */
    uint8_t basic;       /* entry of dt_predefined, not a pair */
    size_t count;
} dt_sig_item_t;

typedef struct dt_sig {
    int refs; /* 0: predefined, never freed */
    size_t elements;
    size_t bytes;
    size_t external; /* bytes in external32 */
    size_t n;
    dt_sig_item_t *items;
} dt_sig_t;

typedef struct dt_sig_part {
    dt_sig_t *sig;
    size_t count;
} dt_sig_part_t;

extern dt_sig_t dt_sig_empty;

/* The parts one after the other; the caller releases the result. MPI_SUCCESS or an error class. */
int dt_sig_join(const dt_sig_part_t *parts, size_t n, dt_sig_t **sig_p);
int dt_sig_repeat(dt_sig_t *sig, size_t count, dt_sig_t **sig_p);
void dt_sig_release(dt_sig_t *sig);

/* Basic elements in the first bytes of the signature, repeated without end; -1: the bytes end within an element. */
MPI_Count dt_sig_elements(const dt_sig_t *sig, size_t bytes);
/* Bytes of the first elements of the signature, repeated without end. -1: more than there can be. */
MPI_Count dt_sig_bytes(const dt_sig_t *sig, size_t elements);
/* Calls `each` for the elements in order, `count` of one basic type at a time; ends when that returns an error class. */
typedef int (*dt_sig_func_t)(void *arg, unsigned basic, size_t count);
int dt_sig_walk(const dt_sig_t *sig, dt_sig_func_t each, void *arg);

#endif
