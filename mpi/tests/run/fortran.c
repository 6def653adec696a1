/* SPDX-License-Identifier: Apache-2.0
 * fortran.c - a Fortran layer says once what its compiler is like: default kinds get their sizes, kinds that are not there
 * have none, and logical operations take and give the compiler's literals.
 * ranks: 1 2
 */
#include "rule.h"

static void set(MPI_Info info, const char *key, const char *value)
{
    MPI_Info_set(info, key, value);
}

static int is(MPI_Info info, const char *key, const char *wanted)
{
    char value[64] = "";
    int length = sizeof(value);
    int flag;
    MPI_Info_get_string(info, key, &length, value, &flag);
    return flag && strcmp(value, wanted) == 0;
}

static MPI_Count size_of(MPI_Datatype type)
{
    MPI_Count bytes;
    MPI_Type_size_c(type, &bytes);
    return bytes;
}

static void info_is_set_once(void)
{
    MPI_Info info;
    int keys;
    CHECK(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info == MPI_INFO_NULL);
    MPI_Info_create(&info);
    set(info, "mpi_integer_size", "3");
    CHECK(class_of(MPI_Abi_set_fortran_info(info)) == MPI_ERR_INFO_VALUE); /* and nothing is set */
    set(info, "mpi_integer_size", "8");
    set(info, "mpi_real_size", "8");
    set(info, "mpi_double_precision_size", "16");
    set(info, "mpi_real2_supported", "false");
    set(info, "mpi_complex4_supported", "false");
    CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
    set(info, "mpi_integer_size", "4");
    CHECK(class_of(MPI_Abi_set_fortran_info(info)) == MPI_ERR_ABI);
    MPI_Info_free(&info);
    MPI_Abi_get_fortran_info(&info);
    MPI_Info_get_nkeys(info, &keys);
    CHECK(keys == 23);
    CHECK(is(info, "mpi_integer_size", "8") && is(info, "mpi_logical_size", "4") && is(info, "mpi_real_size", "8"));
    CHECK(is(info, "mpi_real2_supported", "false") && is(info, "mpi_real4_supported", "true"));
    CHECK(is(info, "mpi_double_complex_supported", "true"));
    MPI_Info_free(&info);
}

static void kinds_follow(void)
{
    MPI_Datatype type;
    int64_t sum = 0;
    const int64_t one = 1LL << 40;
    CHECK(size_of(MPI_INTEGER) == 8 && size_of(MPI_REAL) == 8 && size_of(MPI_COMPLEX) == 16);
    CHECK(size_of(MPI_DOUBLE_PRECISION) == 16 && size_of(MPI_DOUBLE_COMPLEX) == 32 && size_of(MPI_LOGICAL) == 4);
    CHECK(size_of(MPI_2REAL) == 16 && size_of(MPI_INTEGER4) == 4);
    CHECK(size_of(MPI_REAL2) == MPI_UNDEFINED && size_of(MPI_COMPLEX4) == MPI_UNDEFINED);
    CHECK(size_of(MPI_2DOUBLE_PRECISION) == MPI_UNDEFINED && size_of(MPI_2INTEGER) == MPI_UNDEFINED);
    CHECK(class_of(MPI_Type_contiguous(2, MPI_REAL2, &type)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Send(&sum, 1, MPI_REAL2, MPI_PROC_NULL, 0, MPI_COMM_WORLD)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Type_match_size(MPI_TYPECLASS_REAL, 2, &type)) == MPI_ERR_ARG);
    MPI_Allreduce(&one, &sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * one);
}

static void logicals_follow(void)
{
    const int32_t literal_true = -1;
    const int32_t literal_false = 0x100;
    int32_t got[2] = {5, 5};
    int flag;
    int32_t all = literal_true;
    int32_t any = literal_false;
    int8_t small = 1;
    MPI_Abi_get_fortran_booleans(4, &got[0], &got[1], &flag);
    CHECK(!flag && got[0] == 5);
    CHECK(class_of(MPI_Abi_set_fortran_booleans(3, (void *)&literal_true, (void *)&literal_false)) == MPI_ERR_ARG);
    CHECK(MPI_Abi_set_fortran_booleans(4, (void *)&literal_true, (void *)&literal_false) == MPI_SUCCESS);
    CHECK(class_of(MPI_Abi_set_fortran_booleans(4, (void *)&literal_true, (void *)&literal_false)) == MPI_ERR_ABI);
    MPI_Abi_get_fortran_booleans(4, &got[0], &got[1], &flag);
    CHECK(flag && got[0] == -1 && got[1] == 0x100);
    MPI_Abi_get_fortran_booleans(8, got, got, &flag);
    CHECK(!flag);
    MPI_Reduce_local(&literal_false, &all, 1, MPI_LOGICAL, MPI_LAND);
    CHECK(all == literal_false);
    MPI_Reduce_local(&literal_true, &any, 1, MPI_LOGICAL4, MPI_LOR);
    CHECK(any == literal_true);
    MPI_Reduce_local(&literal_true, &any, 1, MPI_LOGICAL, MPI_LXOR);
    CHECK(any == literal_false);
    MPI_Reduce_local(&small, &small, 1, MPI_C_BOOL, MPI_LAND); /* C's own stay */
    CHECK(small == 1);
}

static void test(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    info_is_set_once();
    kinds_follow();
    logicals_follow();
}
