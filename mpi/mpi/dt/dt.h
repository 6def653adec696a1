/* SPDX-License-Identifier: Apache-2.0
 * dt.h - datatypes. So far the predefined ones, whose elements lie side by side; derived ones will add a program of
 * pieces to the same functions.
 */
#ifndef VERBENA_MPI_DT_H
#define VERBENA_MPI_DT_H

#include <stddef.h>
#include <stdint.h>

#include "obj/obj.h"

#define DT_FIRST 0x200
#define DT_NAMED 0x100

typedef enum dt_class {
    DT_NONE, /* no such type */
    DT_INT,
    DT_FLOAT,
    DT_COMPLEX,
    DT_LOGICAL,
    DT_BYTE,
    DT_PAIR,
    DT_OPAQUE
} dt_class_t;

/* Fortran types without a C type. */
typedef struct dt_16 {
    uint64_t words[2];
} dt_16_t;
typedef struct dt_32 {
    uint64_t words[4];
} dt_32_t;

typedef struct dt_named {
    const char *name;
    size_t size;   /* bytes of data of an element */
    size_t extent; /* from one element to the next */
    dt_class_t class;
} dt_named_t;

extern const dt_named_t dt_named[DT_NAMED]; /* generated */

/* NULL: not a datatype. */
static inline const dt_named_t *dt_find(MPI_Datatype type)
{
    const uintptr_t at = (uintptr_t)type - DT_FIRST;
    return at < DT_NAMED && dt_named[at].name != NULL ? &dt_named[at] : NULL;
}

/* Bytes of a message of `count` elements: MPI_SUCCESS, or an error of the count or the type. */
int dt_bytes(MPI_Count count, MPI_Datatype type, size_t *bytes_p);

#endif
