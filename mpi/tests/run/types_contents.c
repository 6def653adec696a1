/* SPDX-License-Identifier: Apache-2.0
 * types_contents.c - a derived datatype says which call has made it, in the form of that call; what may not be done with
 * types is refused.
 * ranks: 1
 */
#include "rule.h"

static int ints[32];
static MPI_Aint aints[32];
static MPI_Count counts[32];
static MPI_Datatype types[32];

static int combiner_of(MPI_Datatype type, int n_ints, int n_aints, int n_types)
{
    int found[4];
    MPI_Type_get_envelope(type, &found[0], &found[1], &found[2], &found[3]);
    CHECK(found[0] == n_ints && found[1] == n_aints && found[2] == n_types);
    if (found[3] != MPI_COMBINER_NAMED)
        MPI_Type_get_contents(type, 32, 32, 32, ints, aints, types);
    return found[3];
}

static void small_forms(void)
{
    MPI_Datatype vector, type;
    MPI_Type_vector(3, 2, 5, MPI_INT, &vector);
    CHECK(combiner_of(vector, 3, 0, 1) == MPI_COMBINER_VECTOR);
    CHECK(ints[0] == 3 && ints[1] == 2 && ints[2] == 5 && types[0] == MPI_INT);
    MPI_Type_create_hvector(4, 1, 100, vector, &type);
    CHECK(combiner_of(type, 2, 1, 1) == MPI_COMBINER_HVECTOR && ints[0] == 4 && ints[1] == 1 && aints[0] == 100);
    MPI_Type_free(&vector); /* what is got of a type is a handle of its own */
    MPI_Type_free(&type);
    vector = types[0];
    CHECK(combiner_of(vector, 3, 0, 1) == MPI_COMBINER_VECTOR);
    CHECK(MPI_Type_free(&vector) == MPI_SUCCESS);
    const int lengths[] = {2, 1};
    MPI_Type_create_struct(2, lengths, (const MPI_Aint[]){0, 16}, (const MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE}, &type);
    CHECK(combiner_of(type, 3, 2, 2) == MPI_COMBINER_STRUCT);
    CHECK(ints[0] == 2 && ints[1] == 2 && ints[2] == 1 && aints[1] == 16 && types[1] == MPI_DOUBLE);
    MPI_Type_free(&type);
    MPI_Type_create_indexed_block(2, 3, (const int[]){4, 9}, MPI_INT, &type);
    CHECK(combiner_of(type, 4, 0, 1) == MPI_COMBINER_INDEXED_BLOCK && ints[1] == 3 && ints[3] == 9);
    MPI_Type_free(&type);
    MPI_Type_create_subarray(2, (const int[]){4, 6}, (const int[]){2, 3}, (const int[]){1, 2}, MPI_ORDER_FORTRAN,
                             MPI_INT, &type);
    CHECK(combiner_of(type, 8, 0, 1) == MPI_COMBINER_SUBARRAY);
    CHECK(ints[0] == 2 && ints[2] == 6 && ints[4] == 3 && ints[5] == 1 && ints[7] == MPI_ORDER_FORTRAN);
    MPI_Type_free(&type);
    MPI_Type_create_resized(MPI_INT, -8, 24, &type);
    CHECK(combiner_of(type, 0, 2, 1) == MPI_COMBINER_RESIZED && aints[0] == -8 && aints[1] == 24);
    MPI_Type_free(&type);
    CHECK(combiner_of(MPI_INT, 0, 0, 0) == MPI_COMBINER_NAMED);
    MPI_Type_create_f90_real(10, 100, &type);
    CHECK(combiner_of(type, 2, 0, 0) == MPI_COMBINER_F90_REAL && ints[0] == 10 && ints[1] == 100);
}

static void large_forms(void)
{
    MPI_Datatype type;
    MPI_Count n[4];
    int combiner;
    MPI_Type_create_hindexed_c(2, (const MPI_Count[]){1, 2}, (const MPI_Count[]){0, (MPI_Count)1 << 40}, MPI_INT,
                               &type);
    MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner);
    CHECK(combiner == MPI_COMBINER_HINDEXED && n[0] == 0 && n[1] == 0 && n[2] == 5 && n[3] == 1);
    MPI_Type_get_contents_c(type, 32, 32, 32, 32, ints, aints, counts, types);
    CHECK(counts[0] == 2 && counts[2] == 2 && counts[4] == (MPI_Count)1 << 40);
    CHECK(class_of(MPI_Type_get_envelope(type, &ints[0], &ints[1], &ints[2], &combiner)) == MPI_ERR_TYPE);
    MPI_Count lb, extent;
    MPI_Type_get_extent_c(type, &lb, &extent);
    CHECK(lb == 0 && extent == ((MPI_Count)1 << 40) + 8);
    int size;
    MPI_Type_size(type, &size);
    CHECK(size == 12);
    MPI_Type_free(&type);
    MPI_Type_contiguous_c((MPI_Count)1 << 35, MPI_INT, &type);
    MPI_Type_size(type, &size);
    CHECK(size == MPI_UNDEFINED);
    MPI_Type_size_x(type, &n[0]);
    CHECK(n[0] == (MPI_Count)1 << 37);
    MPI_Type_free(&type);
}

static void refusals(void)
{
    MPI_Datatype type = MPI_INT;
    int number[8] = {0};
    CHECK(class_of(MPI_Type_free(&type)) == MPI_ERR_TYPE && type == MPI_INT);
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    CHECK(class_of(MPI_Send(number, 1, type, 0, 0, MPI_COMM_SELF)) == MPI_ERR_TYPE); /* not committed */
    CHECK(class_of(MPI_Type_get_contents(MPI_INT, 1, 1, 1, ints, aints, types)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Type_get_contents(type, 2, 0, 1, ints, aints, types)) == MPI_ERR_ARG);
    MPI_Datatype other;
    CHECK(class_of(MPI_Type_create_subarray(1, (const int[]){4}, (const int[]){3}, (const int[]){2}, MPI_ORDER_C,
                                            MPI_INT, &other)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Type_indexed(2, (const int[]){1, -1}, (const int[]){0, 1}, MPI_INT, &other)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Type_create_struct(1, (const int[]){1}, (const MPI_Aint[]){0},
                                          (const MPI_Datatype[]){MPI_DATATYPE_NULL}, &other)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &other)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Type_create_f90_integer(39, &other)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Type_match_size(MPI_TYPECLASS_REAL, 5, &other)) == MPI_ERR_ARG);
    MPI_Type_free(&type);
}

static void names_and_numbers(void)
{
    MPI_Datatype type, same, pair;
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_get_name(type, name, &length);
    CHECK(length == 0 && name[0] == 0);
    MPI_Type_set_name(type, "two");
    MPI_Type_get_name(type, name, &length);
    CHECK(length == 3 && strcmp(name, "two") == 0);
    CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type);
    MPI_Type_free(&type);
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &type);
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &same);
    CHECK(type == same && class_of(MPI_Type_free(&same)) == MPI_ERR_TYPE);
    float values[] = {1, 2}, sums[2];
    MPI_Allreduce(values, sums, 2, type, MPI_SUM, MPI_COMM_SELF);
    CHECK(sums[0] == 1 && sums[1] == 2);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
    CHECK(pair == MPI_DOUBLE_INT);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_DOUBLE, &pair);
    CHECK(pair == MPI_DATATYPE_NULL);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, &type);
    MPI_Type_size(type, &length);
    CHECK(length == 8);
}

static void test(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    small_forms();
    large_forms();
    refusals();
    names_and_numbers();
}
