/* SPDX-License-Identifier: Apache-2.0
 * info.c - info objects keep keys in order, values whole; wrong keys and values are errors of their classes.
 * ranks: 1
 */
#include "rule.h"

static MPI_Info twenty_keys(void)
{
    MPI_Info info;
    char text[16];
    MPI_Info_create(&info);
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof(text), "key%d", i);
        MPI_Info_set(info, text, text + 3);
    }
    MPI_Info_set(info, "key5", "another value");
    return info;
}

static void keys_and_values(MPI_Info info)
{
    char text[MPI_MAX_INFO_KEY];
    int count;
    int flag;
    int room = 3;
    MPI_Info_get_nkeys(info, &count);
    CHECK(count == 20);
    MPI_Info_get_nthkey(info, 5, text);
    CHECK(strcmp(text, "key5") == 0);
    MPI_Info_get_string(info, "key5", &room, text, &flag);
    CHECK(flag && room == 14 && strcmp(text, "an") == 0); /* cut to the room; the room that is needed */
    MPI_Info_get_string(info, "none", &room, text, &flag);
    CHECK(!flag && room == 14);
}

static void a_copy_keeps_what_is_deleted(MPI_Info info, MPI_Info copy)
{
    char text[51];
    int count;
    int flag;
    MPI_Info_delete(info, "key5");
    CHECK(class_of(MPI_Info_delete(info, "key5")) == MPI_ERR_INFO_NOKEY);
    MPI_Info_get(copy, "key5", 50, text, &flag);
    CHECK(flag && strcmp(text, "another value") == 0);
    MPI_Info_get_valuelen(copy, "key5", &count, &flag);
    CHECK(flag && count == 13);
}

static void wrong_ones(MPI_Info info)
{
    char text[MPI_MAX_INFO_VAL + 1];
    memset(text, 'x', sizeof(text) - 1);
    text[MPI_MAX_INFO_VAL] = 0;
    CHECK(class_of(MPI_Info_set(info, "long", text)) == MPI_ERR_INFO_VALUE);
    CHECK(class_of(MPI_Info_set(info, text, "x")) == MPI_ERR_INFO_KEY);
    CHECK(class_of(MPI_Info_set(info, "", "x")) == MPI_ERR_INFO_KEY);
    CHECK(class_of(MPI_Info_set(MPI_INFO_NULL, "a", "x")) == MPI_ERR_INFO);
    CHECK(class_of(MPI_Info_set(MPI_INFO_ENV, "a", "x")) == MPI_ERR_INFO);
}

static void of_the_library(void)
{
    MPI_Info info;
    char text[MPI_MAX_INFO_VAL];
    int flag;
    int room = sizeof(text);
    MPI_Info_get_string(MPI_INFO_ENV, "maxprocs", &room, text, &flag);
    CHECK(flag && strcmp(text, "1") == 0);
    MPI_Abi_get_info(&info);
    MPI_Info_get(info, "mpi_count_size", 5, text, &flag);
    CHECK(flag && strcmp(text, "8") == 0);
    MPI_Info_free(&info);
}

static void of_a_communicator(MPI_Info hints)
{
    MPI_Info copy;
    int count;
    MPI_Comm_set_info(MPI_COMM_WORLD, hints);
    MPI_Info_free(&hints);
    MPI_Comm_get_info(MPI_COMM_WORLD, &copy);
    MPI_Info_get_nkeys(copy, &count);
    CHECK(count == 20);
    MPI_Info_free(&copy);
}

/* Each key names a kind of resource; its value says whether the process is kept to one instance of it. */
static void of_the_hardware(void)
{
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY];
    char value[MPI_MAX_INFO_VAL];
    int count;
    CHECK(MPI_Get_hw_resource_info(&info) == MPI_SUCCESS && info != MPI_INFO_NULL);
    CHECK(MPI_Info_get_nkeys(info, &count) == MPI_SUCCESS && count >= 0);
    for (int i = 0; i < count; i++) {
        int room = sizeof(value);
        int flag = 0;
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get_string(info, key, &room, value, &flag);
        CHECK(flag && strstr(key, "://") != NULL && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0));
    }
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS && info == MPI_INFO_NULL);
}

static void test(void)
{
    MPI_Info info = twenty_keys();
    MPI_Info copy;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    keys_and_values(info);
    MPI_Info_dup(info, &copy);
    a_copy_keeps_what_is_deleted(info, copy);
    wrong_ones(info);
    MPI_Info_free(&info);
    CHECK(info == MPI_INFO_NULL);
    of_the_library();
    of_the_hardware();
    of_a_communicator(copy);
}
