/* SPDX-License-Identifier: Apache-2.0
 * contents.h - the call that made a datatype, for MPI_Type_get_envelope and MPI_Type_get_contents.
 */
#ifndef VERBENA_MPI_DT_CONTENTS_H
#define VERBENA_MPI_DT_CONTENTS_H

#include "dt/dt.h"

/* What an argument is given back as. */
typedef enum dt_argument_kind {
    DT_INTEGER, /* always an int */
    DT_COUNT,   /* an int of the int form, a large count of the large one */
    DT_ADDRESS  /* an address of the int form, a large count of the large one */
} dt_argument_kind_t;

/* Arguments in the order of the call; one of both arrays. */
typedef struct dt_argument {
    dt_argument_kind_t kind;
    size_t n;
    const MPI_Count *values;
    const int *ints;
} dt_argument_t;

#define DT_ARGUMENTS_MOST 8

typedef struct dt_contents {
    int combiner;
    int is_small; /* made by the int form */
    size_t groups;
    struct {
        dt_argument_kind_t kind;
        size_t n;
    } group[DT_ARGUMENTS_MOST];
    MPI_Count *values; /* of all groups */
    size_t n_types;
    dt_type_t **types; /* kept */
} dt_contents_t;

/* Copies the arguments and keeps the types. MPI_SUCCESS or MPI_ERR_NO_MEM. */
int dt_contents_create(int combiner, const dt_argument_t *arguments, size_t n, const MPI_Datatype *types,
                       size_t n_types, dt_contents_t **contents_p);
/* Releases the types of them, too (dt.c: the life of both is one). */
void dt_contents_destroy(dt_contents_t *contents);
/* The type was made by the int form: the int form of its entry point says so. */
void dt_note_small(MPI_Datatype type);

#endif
