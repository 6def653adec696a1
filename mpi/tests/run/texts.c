/* SPDX-License-Identifier: Apache-2.0
 * texts.c - names that are too long are cut off; a text of the program for its error code is given as it is; predefined types have
 * the names of the standard.
 * ranks: 1 2
 */
#include "rule.h"

static char longest[2 * MPI_MAX_OBJECT_NAME];

static void cut_off(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    MPI_Comm comm;
    MPI_Datatype type;
    memset(longest, 'n', sizeof(longest) - 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK(MPI_Comm_set_name(comm, longest) == MPI_SUCCESS && MPI_Comm_get_name(comm, name, &length) == MPI_SUCCESS);
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == length &&
          strncmp(name, longest, (size_t)length) == 0);
    MPI_Type_dup(MPI_INT, &type);
    CHECK(MPI_Type_set_name(type, longest) == MPI_SUCCESS && MPI_Type_get_name(type, name, &length) == MPI_SUCCESS);
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == length &&
          strncmp(name, longest, (size_t)length) == 0);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
}

static void of_types(void)
{
    const MPI_Datatype types[] = {MPI_C_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_LONG_LONG, MPI_LONG_LONG_INT, MPI_INT};
    const char *const names[] = {"MPI_C_COMPLEX", "MPI_C_COMPLEX", "MPI_LONG_LONG_INT", "MPI_LONG_LONG_INT", "MPI_INT"};
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        CHECK(MPI_Type_get_name(types[i], name, &length) == MPI_SUCCESS && strcmp(name, names[i]) == 0);
}

/* The copy function of an attribute fails with a code of the program. */
static int fails(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)comm, (void)key, (void)value, (void)copy, (void)flag;
    return *(int *)extra;
}

static void of_codes(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int class;
    int code;
    int key;
    int length;
    MPI_Comm comm;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "disk on fire");
    MPI_Comm_create_keyval(fails, MPI_COMM_NULL_DELETE_FN, &key, &code);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == code);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS && strcmp(text, "disk on fire") == 0 && length == 12);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS);
}

static void test(void)
{
    cut_off();
    of_types();
    of_codes();
}
