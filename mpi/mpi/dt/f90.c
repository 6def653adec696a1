/* SPDX-License-Identifier: Apache-2.0
 * f90.c - types by what they can hold: by precision and range (Fortran), by size, by value and index.
 */
#include <stdlib.h>

#include "dt/contents.h"
#include "dt/dt.h"
#include "err/err.h"
#include "mpi_impl.h"

typedef struct kind {
    int p; /* decimal digits */
    int r; /* decimal exponent */
    MPI_Datatype type;
} kind_t;

/* Smallest first. What a compiler for Fortran offers on the machines that we build for. */
static const kind_t reals[] = {{6, 37, MPI_REAL4}, {15, 307, MPI_REAL8}, {33, 4931, MPI_REAL16}};
static const kind_t complexes[] = {{6, 37, MPI_COMPLEX8}, {15, 307, MPI_COMPLEX16}, {33, 4931, MPI_COMPLEX32}};
static const kind_t integers[] = {
    {0, 2, MPI_INTEGER1}, {0, 4, MPI_INTEGER2}, {0, 9, MPI_INTEGER4}, {0, 18, MPI_INTEGER8}, {0, 38, MPI_INTEGER16}};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Types made so far: the same arguments give the same handle. They are predefined and never freed. */
typedef struct made {
    struct made *next;
    int combiner;
    int p;
    int r;
    dt_type_t type;
} made_t;

static made_t *all_made;

static made_t *make(int combiner, int p, int r, const dt_type_t *as)
{
    const int both[] = {p, r};
    const int with_p = combiner != MPI_COMBINER_F90_INTEGER;
    const dt_argument_t argument = {.kind = DT_INTEGER, .n = with_p ? 2 : 1, .ints = with_p ? both : both + 1};
    made_t *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return NULL;
    made->combiner = combiner;
    made->p = p;
    made->r = r;
    made->type = *as;
    made->type.obj = (obj_t){.kind = OBJ_DATATYPE, .refs = 1};
    made->type.name = "";
    made->type.given = NULL;
    made->type.attrs = NULL;
    made->type.contents = NULL;
    if (dt_contents_create(combiner, &argument, 1, NULL, 0, &made->type.contents) != MPI_SUCCESS) {
        free(made);
        return NULL;
    }
    made->next = all_made;
    all_made = made;
    return made;
}

static int find(int combiner, int p, int r, const kind_t *kinds, size_t n, MPI_Datatype *newtype)
{
    made_t *made = all_made;
    size_t i = 0;
    while (made != NULL && (made->combiner != combiner || made->p != p || made->r != r))
        made = made->next;
    while (i < n && (kinds[i].p < p || kinds[i].r < r || dt_find(kinds[i].type)->absent))
        i++;
    if (i == n)
        return err_set(MPI_ERR_ARG, "no type has precision %d and range %d", p, r);
    if (made == NULL && (made = make(combiner, p, r, dt_find(kinds[i].type))) == NULL)
        return err_set(MPI_ERR_NO_MEM, "datatype: no memory left");
    *newtype = (MPI_Datatype)&made->type;
    return MPI_SUCCESS;
}

static int check_both(int p, int r)
{
    return p == MPI_UNDEFINED && r == MPI_UNDEFINED ? err_set(MPI_ERR_ARG, "p and r are both MPI_UNDEFINED")
                                                    : MPI_SUCCESS;
}

int mpi_Type_create_f90_real(int p, int r, MPI_Datatype *newtype)
{
    const int rc = check_both(p, r);
    return rc != MPI_SUCCESS ? rc : find(MPI_COMBINER_F90_REAL, p, r, reals, COUNT(reals), newtype);
}

int mpi_Type_create_f90_complex(int p, int r, MPI_Datatype *newtype)
{
    const int rc = check_both(p, r);
    return rc != MPI_SUCCESS ? rc : find(MPI_COMBINER_F90_COMPLEX, p, r, complexes, COUNT(complexes), newtype);
}

int mpi_Type_create_f90_integer(int r, MPI_Datatype *newtype)
{
    return find(MPI_COMBINER_F90_INTEGER, 0, r, integers, COUNT(integers), newtype);
}

int mpi_Type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    static const struct {
        int typeclass;
        MPI_Datatype type;
    } sized[] = {{MPI_TYPECLASS_REAL, MPI_REAL2},        {MPI_TYPECLASS_REAL, MPI_REAL4},
                 {MPI_TYPECLASS_REAL, MPI_REAL8},        {MPI_TYPECLASS_REAL, MPI_REAL16},
                 {MPI_TYPECLASS_COMPLEX, MPI_COMPLEX4},  {MPI_TYPECLASS_COMPLEX, MPI_COMPLEX8},
                 {MPI_TYPECLASS_COMPLEX, MPI_COMPLEX16}, {MPI_TYPECLASS_COMPLEX, MPI_COMPLEX32},
                 {MPI_TYPECLASS_INTEGER, MPI_INTEGER1},  {MPI_TYPECLASS_INTEGER, MPI_INTEGER2},
                 {MPI_TYPECLASS_INTEGER, MPI_INTEGER4},  {MPI_TYPECLASS_INTEGER, MPI_INTEGER8},
                 {MPI_TYPECLASS_INTEGER, MPI_INTEGER16}};
    for (size_t i = 0; i < COUNT(sized); i++)
        if (sized[i].typeclass == typeclass && dt_find(sized[i].type)->size == (size_t)size) {
            *datatype = sized[i].type;
            return MPI_SUCCESS;
        }
    return err_set(MPI_ERR_ARG, "no type of class %d (MPI_TYPECLASS_*) has %d bytes", typeclass, size);
}

/* MPI_DATATYPE_NULL: there is no such pair. */
int mpi_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype *pair_type)
{
    static const MPI_Datatype pairs[][3] = {
        {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},      {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
        {MPI_LONG, MPI_INT, MPI_LONG_INT},        {MPI_INT, MPI_INT, MPI_2INT},
        {MPI_SHORT, MPI_INT, MPI_SHORT_INT},      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
        {MPI_REAL, MPI_REAL, MPI_2REAL},          {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
        {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
    };
    *pair_type = MPI_DATATYPE_NULL;
    for (size_t i = 0; i < COUNT(pairs); i++)
        if (pairs[i][0] == value_type && pairs[i][1] == index_type)
            *pair_type = pairs[i][2];
    return MPI_SUCCESS;
}
