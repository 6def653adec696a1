/* SPDX-License-Identifier: Apache-2.0
 * fortran.c - what a Fortran layer says of its compiler: sizes of the default kinds, kinds that there are not, the
 * literals of LOGICAL (MPI 5.0, 21.4.1). Until then the default kinds have the sizes that compilers choose without options.
 *
 * Whoever has made datatypes, or moves data, of Fortran's types before keeps what they were then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/dt.h"
#include "err/err.h"
#include "info/info.h"
#include "mpi_impl.h"
#include "op/op.h"

#define LITERAL_MAX 16
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A type whose size the compiler's options decide, and what it may be. */
typedef struct sized {
    const char *key;
    MPI_Datatype type;
    int parts; /* 2: complex, twice the size */
    MPI_Datatype choices[6];
} sized_t;

static const sized_t sized[] = {
    {"mpi_logical_size", MPI_LOGICAL, 1, {MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8, MPI_LOGICAL16}},
    {"mpi_integer_size", MPI_INTEGER, 1, {MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_INTEGER16}},
    {"mpi_real_size", MPI_REAL, 1, {MPI_REAL2, MPI_REAL4, MPI_REAL8, MPI_REAL16}},
    {"mpi_real_size", MPI_COMPLEX, 2, {MPI_COMPLEX4, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32}},
    {"mpi_double_precision_size", MPI_DOUBLE_PRECISION, 1, {MPI_REAL2, MPI_REAL4, MPI_REAL8, MPI_REAL16}},
    {"mpi_double_precision_size", MPI_DOUBLE_COMPLEX, 2, {MPI_COMPLEX4, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32}},
};

/* Pairs for MPI_MINLOC: the one of two elements of the type, where there is one. */
static const struct {
    MPI_Datatype pair;
    MPI_Datatype of;
    MPI_Datatype choices[2]; /* of 4 and 8 bytes */
} pairs[] = {
    {MPI_2REAL, MPI_REAL, {MPI_2REAL, MPI_2DOUBLE_PRECISION}},
    {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, {MPI_2REAL, MPI_2DOUBLE_PRECISION}},
    {MPI_2INTEGER, MPI_INTEGER, {MPI_2INTEGER}},
};

static const struct {
    const char *key;
    MPI_Datatype type;
    /* clang-format off */
} optional[] = {
    {"mpi_logical1_supported", MPI_LOGICAL1},   {"mpi_logical2_supported", MPI_LOGICAL2},
    {"mpi_logical4_supported", MPI_LOGICAL4},   {"mpi_logical8_supported", MPI_LOGICAL8},
    {"mpi_logical16_supported", MPI_LOGICAL16}, {"mpi_integer1_supported", MPI_INTEGER1},
    {"mpi_integer2_supported", MPI_INTEGER2},   {"mpi_integer4_supported", MPI_INTEGER4},
    {"mpi_integer8_supported", MPI_INTEGER8},   {"mpi_integer16_supported", MPI_INTEGER16},
    {"mpi_real2_supported", MPI_REAL2},         {"mpi_real4_supported", MPI_REAL4},
    {"mpi_real8_supported", MPI_REAL8},         {"mpi_real16_supported", MPI_REAL16},
    {"mpi_complex4_supported", MPI_COMPLEX4},   {"mpi_complex8_supported", MPI_COMPLEX8},
    {"mpi_complex16_supported", MPI_COMPLEX16}, {"mpi_complex32_supported", MPI_COMPLEX32},
    {"mpi_double_complex_supported", MPI_DOUBLE_COMPLEX},
};
/* clang-format on */

static MPI_Info given = MPI_INFO_NULL; /* by the application; MPI_INFO_NULL: we know nothing of its compiler */

static struct {
    int size; /* 0: not set */
    unsigned char is_true[LITERAL_MAX];
    unsigned char is_false[LITERAL_MAX];
} booleans;

/* The type of that size; NULL: none has it. */
static const dt_type_t *choice_of(const sized_t *row, size_t bytes)
{
    for (size_t i = 0; i < COUNT(row->choices) && row->choices[i] != NULL; i++)
        if (dt_find(row->choices[i])->size == bytes)
            return dt_find(row->choices[i]);
    return NULL;
}

/* Of the key of a size: the bytes, 0: the info does not have it, -1: no type has so many. */
static long size_in(const mpi_info_t *info, const sized_t *row)
{
    const char *value = info_value(info, row->key);
    char *end;
    if (value == NULL)
        return 0;
    const long bytes = strtol(value, &end, 10);
    return end == value || *end != 0 || bytes <= 0 || choice_of(row, (size_t)bytes * (size_t)row->parts) == NULL
               ? -1
               : bytes;
}

static int check(const mpi_info_t *info)
{
    for (size_t i = 0; i < COUNT(sized); i++)
        if (size_in(info, &sized[i]) < 0)
            return err_set(MPI_ERR_INFO_VALUE, "%s=%s: no kind has this size in bytes", sized[i].key,
                           info_value(info, sized[i].key));
    for (size_t i = 0; i < COUNT(optional); i++) {
        const char *value = info_value(info, optional[i].key);
        if (value != NULL && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return err_set(MPI_ERR_INFO_VALUE, "%s=%s: true or false are allowed", optional[i].key, value);
    }
    return MPI_SUCCESS;
}

static void become(MPI_Datatype type, dt_type_t as)
{
    dt_type_t *to = dt_find(type);
    as.name = to->name;
    as.given = to->given;
    as.attrs = to->attrs;
    *to = as;
}

static void lose(MPI_Datatype type)
{
    dt_type_t *to = dt_find(type);
    to->absent = 1;
    to->plain = 0;
    to->size = (size_t)(MPI_Count)MPI_UNDEFINED;
}

static void apply(const mpi_info_t *info)
{
    const dt_type_t before[] = {*dt_find(MPI_2REAL), *dt_find(MPI_2DOUBLE_PRECISION), *dt_find(MPI_2INTEGER)};
    for (size_t i = 0; i < COUNT(sized); i++) {
        const long bytes = size_in(info, &sized[i]);
        if (bytes > 0)
            become(sized[i].type, *choice_of(&sized[i], (size_t)bytes * (size_t)sized[i].parts));
    }
    for (size_t i = 0; i < COUNT(pairs); i++) {
        const size_t bytes = dt_find(pairs[i].of)->size;
        const MPI_Datatype choice = bytes == 4 ? pairs[i].choices[0] : bytes == 8 ? pairs[i].choices[1] : NULL;
        if (choice == NULL)
            lose(pairs[i].pair);
        else
            become(pairs[i].pair, before[choice == MPI_2REAL ? 0 : choice == MPI_2DOUBLE_PRECISION ? 1 : 2]);
    }
    for (size_t i = 0; i < COUNT(optional); i++) {
        const char *value = info_value(info, optional[i].key);
        if (value != NULL && strcmp(value, "false") == 0)
            lose(optional[i].type);
    }
}

int mpi_Abi_set_fortran_info(MPI_Info info)
{
    if (!obj_is(info, OBJ_INFO))
        return err_set(MPI_ERR_INFO, "info is not an info object (MPI_INFO_NULL, or freed)");
    if (given != MPI_INFO_NULL)
        return err_set(MPI_ERR_ABI, "the properties of the Fortran compiler were set before; that can be done once");
    int rc = check((const mpi_info_t *)info);
    if (rc == MPI_SUCCESS)
        rc = info_copy_locked(info, &given);
    if (rc == MPI_SUCCESS)
        apply((const mpi_info_t *)info);
    return rc;
}

/* What was given, with every key. */
int mpi_Abi_get_fortran_info(MPI_Info *info)
{
    char text[24];
    *info = MPI_INFO_NULL;
    if (given == MPI_INFO_NULL)
        return MPI_SUCCESS;
    int failed = info_copy_locked(given, info) != MPI_SUCCESS;
    for (size_t i = 0; !failed && i < COUNT(sized); i++) {
        if (sized[i].parts > 1)
            continue;
        snprintf(text, sizeof(text), "%zu", dt_find(sized[i].type)->size);
        failed = info_put((mpi_info_t *)*info, sized[i].key, text) != 0;
    }
    for (size_t i = 0; !failed && i < COUNT(optional); i++)
        failed = info_put((mpi_info_t *)*info, optional[i].key, dt_find(optional[i].type)->absent ? "false" : "true") !=
                 0;
    return failed ? err_set(MPI_ERR_NO_MEM, "info: no memory left") : MPI_SUCCESS;
}

int mpi_Abi_set_fortran_booleans(int logical_size, void *logical_true, void *logical_false)
{
    MPI_Datatype types[3];
    size_t n = 0;
    const size_t bytes = (size_t)logical_size;
    if (logical_size <= 0 || choice_of(&sized[0], bytes) == NULL)
        return err_set(MPI_ERR_ARG, "logical_size is %d: no kind of LOGICAL has this size in bytes", logical_size);
    if (booleans.size != 0)
        return err_set(MPI_ERR_ABI, "the values of .TRUE. and .FALSE. were set before; that can be done once");
    for (size_t i = 0; sized[0].choices[i] != NULL; i++)
        if (dt_find(sized[0].choices[i])->kind == DT_LOGICAL && dt_find(sized[0].choices[i])->size == bytes)
            types[n++] = sized[0].choices[i];
    if (dt_find(MPI_LOGICAL)->size == bytes && dt_find(MPI_LOGICAL)->kind == DT_LOGICAL)
        types[n++] = dt_find(MPI_LOGICAL)->basic;
    booleans.size = logical_size;
    memcpy(booleans.is_true, logical_true, bytes);
    memcpy(booleans.is_false, logical_false, bytes);
    return op_set_logical(bytes, logical_true, logical_false, types, n) == 0
               ? MPI_SUCCESS
               : err_set(MPI_ERR_INTERN, "operations on LOGICAL of %d bytes", logical_size);
}

/* is_set only for the size that was told: other kinds may have other literals. */
int mpi_Abi_get_fortran_booleans(int logical_size, void *logical_true, void *logical_false, int *is_set)
{
    if (logical_size <= 0 || choice_of(&sized[0], (size_t)logical_size) == NULL)
        return err_set(MPI_ERR_ARG, "logical_size is %d: no kind of LOGICAL has this size in bytes", logical_size);
    *is_set = booleans.size == logical_size;
    if (*is_set) {
        memcpy(logical_true, booleans.is_true, (size_t)logical_size);
        memcpy(logical_false, booleans.is_false, (size_t)logical_size);
    }
    return MPI_SUCCESS;
}
