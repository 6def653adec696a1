/* SPDX-License-Identifier: Apache-2.0
 * contents.c - envelopes and contents of datatypes.
 */
#include "dt/contents.h"

#include <stdlib.h>

#include "err/err.h"
#include "mpi_impl.h"

static dt_contents_t *allocate(size_t n_values, size_t n_types)
{
    dt_contents_t *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return NULL;
    made->values = calloc(n_values > 0 ? n_values : 1, sizeof(*made->values));
    made->types = calloc(n_types > 0 ? n_types : 1, sizeof(dt_type_t *));
    if (made->values != NULL && made->types != NULL)
        return made;
    dt_contents_destroy(made);
    return NULL;
}

int dt_contents_create(int combiner, const dt_argument_t *arguments, size_t n, const MPI_Datatype *types,
                       size_t n_types, dt_contents_t **contents_p)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += arguments[i].n;
    dt_contents_t *made = allocate(total, n_types);
    *contents_p = made;
    if (made == NULL)
        return err_set(MPI_ERR_NO_MEM, "datatype: no memory left");
    made->combiner = combiner;
    MPI_Count *to = made->values;
    for (size_t i = 0; i < n; i++) {
        made->group[i].kind = arguments[i].kind;
        made->group[i].n = arguments[i].n;
        for (size_t k = 0; k < arguments[i].n; k++)
            *to++ = arguments[i].values != NULL ? arguments[i].values[k] : arguments[i].ints[k];
    }
    made->groups = n;
    for (made->n_types = 0; made->n_types < n_types; made->n_types++) {
        made->types[made->n_types] = dt_find(types[made->n_types]);
        dt_keep(made->types[made->n_types]);
    }
    return MPI_SUCCESS;
}

void dt_note_small(MPI_Datatype type)
{
    dt_type_t *found = dt_find(type);
    if (found != NULL && found->contents != NULL)
        found->contents->is_small = 1;
}

/* As what a group of arguments is given back: 0 integers, 1 addresses, 2 large counts. */
static int place_of(const dt_contents_t *contents, size_t group)
{
    const dt_argument_kind_t kind = contents->group[group].kind;
    if (kind == DT_INTEGER || (kind == DT_COUNT && contents->is_small))
        return 0;
    return kind == DT_ADDRESS && contents->is_small ? 1 : 2;
}

static void count_all(const dt_contents_t *contents, MPI_Count counts[3])
{
    counts[0] = counts[1] = counts[2] = 0;
    for (size_t i = 0; contents != NULL && i < contents->groups; i++)
        counts[place_of(contents, i)] += (MPI_Count)contents->group[i].n;
}

int mpi_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count *num_integers, MPI_Count *num_addresses,
                            MPI_Count *num_large_counts, MPI_Count *num_datatypes, int *combiner)
{
    const dt_contents_t *contents = dt_find(datatype)->contents;
    MPI_Count counts[3];
    count_all(contents, counts);
    *num_integers = counts[0];
    *num_addresses = counts[1];
    *num_large_counts = counts[2];
    *num_datatypes = contents == NULL ? 0 : (MPI_Count)contents->n_types;
    *combiner = contents == NULL ? MPI_COMBINER_NAMED : contents->combiner;
    return MPI_SUCCESS;
}

static int refuse_large(void)
{
    return err_set(MPI_ERR_TYPE, "the datatype was made with large counts; ask by the function that ends in _c");
}

int mpi_Type_get_envelope(MPI_Datatype datatype, int *num_integers, int *num_addresses, int *num_datatypes,
                          int *combiner)
{
    MPI_Count counts[4];
    (void)mpi_Type_get_envelope_c(datatype, &counts[0], &counts[1], &counts[2], &counts[3], combiner);
    if (counts[2] > 0)
        return refuse_large();
    *num_integers = (int)counts[0];
    *num_addresses = (int)counts[1];
    *num_datatypes = (int)counts[3];
    return MPI_SUCCESS;
}

static void copy_types(const dt_contents_t *contents, MPI_Datatype *to)
{
    for (size_t i = 0; i < contents->n_types; i++) {
        dt_type_t *type = contents->types[i];
        if (!type->is_fixed)
            type->handles++; /* the program frees what it got */
        dt_keep(type);
        to[i] = dt_handle(type);
    }
}

int mpi_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                            MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
                            MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                            MPI_Datatype array_of_datatypes[])
{
    const dt_contents_t *contents = dt_find(datatype)->contents;
    MPI_Count counts[3];
    count_all(contents, counts);
    if (contents == NULL)
        return err_set(MPI_ERR_TYPE, "%s is a predefined datatype, which no call has made", dt_name(dt_find(datatype)));
    if (max_integers < counts[0] || max_addresses < counts[1] || max_large_counts < counts[2] ||
        max_datatypes < (MPI_Count)contents->n_types)
        return err_set(MPI_ERR_ARG, "an array is shorter than MPI_Type_get_envelope says");
    const MPI_Count *from = contents->values;
    for (size_t i = 0; i < contents->groups; i++)
        for (size_t k = 0; k < contents->group[i].n; k++, from++)
            switch (place_of(contents, i)) {
            case 0: *array_of_integers++ = (int)*from; break;
            case 1: *array_of_addresses++ = (MPI_Aint)*from; break;
            default: *array_of_large_counts++ = *from; break;
            }
    copy_types(contents, array_of_datatypes);
    return MPI_SUCCESS;
}

int mpi_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                          int array_of_integers[], MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[])
{
    const dt_contents_t *contents = dt_find(datatype)->contents;
    MPI_Count counts[3];
    count_all(contents, counts);
    if (counts[2] > 0)
        return refuse_large();
    return mpi_Type_get_contents_c(datatype, max_integers, max_addresses, 0, max_datatypes, array_of_integers,
                                   array_of_addresses, NULL, array_of_datatypes);
}
