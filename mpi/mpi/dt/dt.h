/* SPDX-License-Identifier: Apache-2.0
 * dt.h - datatypes. A type has a node (where its bytes lie), a signature (which basic elements they are) and bounds;
 * predefined types are entries of a table of the same struct.
 *
 * D1 A type is kept by its handles (the program's, and one of each MPI_Type_get_contents) and by who still moves data
 *    with it; attributes end with the last handle, the type with the last of both.
 * D2 Plain types, whose elements lie side by side from the first byte, cost nothing more than bytes do: dt_is_plain.
 */
#ifndef VERBENA_MPI_DT_H
#define VERBENA_MPI_DT_H

#include <stddef.h>
#include <stdint.h>

#include "dt/node.h"
#include "dt/sig.h"
#include "obj/obj.h"

#define DT_FIRST 0x200
#define DT_NAMED 0x100

typedef enum dt_class {
    DT_NONE, /* no such type; a derived one */
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

typedef struct dt_type {
    obj_t obj; /* refs: handles and users; of derived types */
    int handles;
    const char *name; /* of a predefined type; NULL: no such type; "": derived */
    char *given;      /* by MPI_Type_set_name; NULL: none */
    size_t size;      /* bytes of data of an element */
    size_t extent;    /* from one element to the next, modulo 2^64: it may be negative */
    MPI_Aint lb;
    int sticky;   /* the bounds were set by hand and hold for what is made of the type */
    size_t align; /* of the basic elements, bytes */
    dt_class_t kind;
    MPI_Datatype basic; /* the predefined type whose operations take it; NULL: none does */
    size_t external;    /* of predefined types but pairs: bytes in external32, */
    size_t unit;        /* and bytes of each number in an element */
    int committed;
    int is_fixed; /* predefined, named or not: cannot be freed */
    size_t plain; /* of a predefined type that is plain (D2) and not absent: its size; else 0 */
    int absent; /* the Fortran compiler does not have it (fortran.c): its size is MPI_UNDEFINED, nothing else takes it */
    dt_node_t *node;
    dt_sig_t *sig;
    struct dt_contents *contents; /* contents.h; NULL: named */
    struct attr *attrs;
} dt_type_t;

extern dt_type_t dt_predefined[DT_NAMED]; /* generated */

/* NULL: not a datatype. */
static inline dt_type_t *dt_find(MPI_Datatype type)
{
    const uintptr_t at = (uintptr_t)type - DT_FIRST;
    if (at < DT_NAMED)
        return dt_predefined[at].name != NULL ? &dt_predefined[at] : NULL;
    return obj_is(type, OBJ_DATATYPE) ? (dt_type_t *)type : NULL;
}

static inline MPI_Datatype dt_handle(const dt_type_t *type)
{
    const uintptr_t at = ((uintptr_t)type - (uintptr_t)dt_predefined) / sizeof(*type);
    return (MPI_Datatype)(at < DT_NAMED ? DT_FIRST + at : (uintptr_t)type);
}

/* Any number of elements is one piece of memory that begins at the buffer. */
static inline int dt_is_plain(const dt_type_t *type)
{
    return dt_node_is_run(type->node) && type->size == type->extent && type->node->offset == 0;
}

/* For who moves data with the type after the call that named it. */
void dt_keep(dt_type_t *type);
void dt_release(dt_type_t *type);

/* The error that such a type gives. */
int dt_absent(const dt_type_t *type);
/* MPI_SUCCESS, or an error: no type, absent, or not committed. */
int dt_usable(MPI_Datatype handle, dt_type_t **type_p);
const char *dt_name(const dt_type_t *type);

/* Bytes from the first of `count` elements to the end of the last one, of a predefined or a plain type; an error of the
 * count or the type. Types with gaps are refused: who moves these takes data.h. */
int dt_bytes(MPI_Count count, MPI_Datatype type, size_t *bytes_p);

#endif
