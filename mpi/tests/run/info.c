/* SPDX-License-Identifier: Apache-2.0
 * info.c - info objects keep keys in order, values whole; wrong keys and values are errors of their classes.
 * ranks: 1
 */
#include "rule.h"

static void test(void)
{
    MPI_Info info;
    MPI_Info copy;
    char text[MPI_MAX_INFO_VAL + 1];
    int count;
    int flag;
    int room = 3;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof(text), "key%d", i);
        MPI_Info_set(info, text, text + 3);
    }
    MPI_Info_set(info, "key5", "another value");
    MPI_Info_get_nkeys(info, &count);
    CHECK(count == 20);
    MPI_Info_get_nthkey(info, 5, text);
    CHECK(strcmp(text, "key5") == 0);
    MPI_Info_get_string(info, "key5", &room, text, &flag);
    CHECK(flag && room == 14 && strcmp(text, "an") == 0); /* cut to the room; the room that is needed */
    MPI_Info_get_string(info, "none", &room, text, &flag);
    CHECK(!flag && room == 14);
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "key5");
    CHECK(class_of(MPI_Info_delete(info, "key5")) == MPI_ERR_INFO_NOKEY);
    MPI_Info_get(copy, "key5", 50, text, &flag);
    CHECK(flag && strcmp(text, "another value") == 0);
    MPI_Info_get_valuelen(copy, "key5", &count, &flag);
    CHECK(flag && count == 13);
    memset(text, 'x', sizeof(text) - 1);
    text[MPI_MAX_INFO_VAL] = 0;
    CHECK(class_of(MPI_Info_set(info, "long", text)) == MPI_ERR_INFO_VALUE);
    CHECK(class_of(MPI_Info_set(info, text, "x")) == MPI_ERR_INFO_KEY);
    CHECK(class_of(MPI_Info_set(info, "", "x")) == MPI_ERR_INFO_KEY);
    CHECK(class_of(MPI_Info_set(MPI_INFO_NULL, "a", "x")) == MPI_ERR_INFO);
    CHECK(class_of(MPI_Info_set(MPI_INFO_ENV, "a", "x")) == MPI_ERR_INFO);
    room = sizeof(text);
    MPI_Info_get_string(MPI_INFO_ENV, "maxprocs", &room, text, &flag);
    CHECK(flag && strcmp(text, "1") == 0);
    MPI_Info_free(&info);
    CHECK(info == MPI_INFO_NULL);
    MPI_Comm_set_info(MPI_COMM_WORLD, copy);
    MPI_Info_free(&copy);
    MPI_Comm_get_info(MPI_COMM_WORLD, &copy);
    MPI_Info_get_nkeys(copy, &count);
    CHECK(count == 20);
    MPI_Info_free(&copy);
    MPI_Abi_get_info(&info);
    MPI_Info_get(info, "mpi_count_size", 5, text, &flag);
    CHECK(flag && strcmp(text, "8") == 0);
    MPI_Info_free(&info);
}
