/* SPDX-License-Identifier: Apache-2.0
 * error_codes.c - classes, codes and texts of the program stand beside those of the standard, and go again.
 * ranks: 1
 */
#include "rule.h"

static int last_used(void)
{
    int *value;
    int flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
    CHECK(flag);
    return *value;
}

static const char *text_of(int code)
{
    static char text[MPI_MAX_ERROR_STRING];
    int length;
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS && length == (int)strlen(text));
    return text;
}

static void adds(int *class, int *code, int *other)
{
    CHECK(last_used() == MPI_ERR_LASTCODE);
    MPI_Add_error_class(class);
    CHECK(*class > MPI_ERR_LASTCODE && last_used() == *class && class_of(*class) == *class);
    CHECK(strcmp(text_of(*class), "") == 0);
    MPI_Add_error_code(*class, code);
    MPI_Add_error_code(MPI_ERR_IO, other);
    CHECK(class_of(*code) == *class && class_of(*other) == MPI_ERR_IO && last_used() == *other);
    MPI_Add_error_string(*code, "first");
    MPI_Add_error_string(*code, "second");
    CHECK(strcmp(text_of(*code), "second") == 0);
}

static void removes(int class, int code, int other)
{
    CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS); /* it has a code */
    CHECK(MPI_Remove_error_code(class) != MPI_SUCCESS);  /* it is a class */
    CHECK(MPI_Remove_error_class(MPI_ERR_IO) != MPI_SUCCESS);
    CHECK(MPI_Remove_error_string(other) != MPI_SUCCESS);
    CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS); /* it has a text */
    MPI_Remove_error_string(code);
    CHECK(strcmp(text_of(code), "") == 0);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS && MPI_Remove_error_class(class) == MPI_SUCCESS);
    CHECK(class_of(code) == MPI_ERR_UNKNOWN && class_of(class) == MPI_ERR_UNKNOWN);
    CHECK(MPI_Remove_error_code(other) == MPI_SUCCESS && MPI_Remove_error_code(other) != MPI_SUCCESS);
}

static void test(void)
{
    int class;
    int code;
    int other;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Add_error_string(MPI_ERR_IO, "mine") != MPI_SUCCESS);
    CHECK(MPI_Add_error_code(12345, &code) != MPI_SUCCESS);
    adds(&class, &code, &other);
    removes(class, code, other);
}
