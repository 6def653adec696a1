/* SPDX-License-Identifier: Apache-2.0
 * data.h - elements of a datatype in a user's buffer: as one piece of memory where they are that, else packed and
 * unpacked, from any byte of the packed form on.
 */
#ifndef VERBENA_MPI_DT_DATA_H
#define VERBENA_MPI_DT_DATA_H

#include <vbn/vbn.h>

#include "dt/dt.h"

#define DT_NOWHERE 4096 /* addresses below are nobody's: the first page */

typedef struct dt_data {
    void *base;      /* one piece: its first byte; else the user's buffer */
    size_t bytes;    /* packed */
    dt_type_t *type; /* NULL: one piece */
    size_t count;
} dt_data_t;

/* Whether elements would lie where no memory is: at NULL, or at MPI_IN_PLACE where that means nothing. */
static inline int dt_is_nowhere(const void *buffer, const dt_type_t *type)
{
    return (uintptr_t)buffer + (uintptr_t)type->node->low < DT_NOWHERE;
}

/* MPI_ERR_BUFFER with its text if there are elements and they are nowhere; the type is usable. */
int dt_check_place(const void *buffer, MPI_Count count, MPI_Datatype handle, const char *name);
/* MPI_SUCCESS if `bytes` packed bytes fit between position and the end of the buffer of `size` bytes, and it is somewhere. */
int dt_check_packed(const void *packed, size_t bytes, MPI_Count size, MPI_Count position);
/* MPI_SUCCESS, or an error of buffer, count or type. The type is not kept. */
int dt_describe(dt_data_t *data, const void *buffer, MPI_Count count, MPI_Datatype handle);

/* Copies bytes [from, from + length) of the packed form. */
void dt_pack(const dt_data_t *data, size_t from, void *packed, size_t length);
void dt_unpack(const dt_data_t *data, size_t from, const void *packed, size_t length);

/* Tells the sink of bytes [from, from + length) of the packed form, of data that has a type. */
void dt_walk(const dt_data_t *data, size_t from, size_t length, dt_sink_t *sink);

/* Up to so many pieces go to the core as a list, more by callbacks. */
#define DT_LIST_MOST 16

/* The arguments by which a call of the core reads or writes data that is not one piece. The caller leaves them in place
 * and keeps the type until the operation ends. */
typedef struct dt_io {
    dt_data_t data;
    vbn_pack_t pack;
    struct iovec list[DT_LIST_MOST];
} dt_io_t;

/* Gives the arguments (iov, count) of a call of the core. */
const struct iovec *dt_io_begin(dt_io_t *io, const dt_data_t *data, size_t *count_p);

#endif
