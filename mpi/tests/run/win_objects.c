/* SPDX-License-Identifier: Apache-2.0
 * win_objects.c - windows as objects: attributes, names, groups, hints, error handlers; creation with wrong arguments (12.2, 7.7.3,
 * 9.3.2).
 * ranks: 1 3
 */
#include <stdint.h>

#include "win_heard.h"

static void attributes(MPI_Win win, void *base, MPI_Aint length, int unit, int flavour)
{
    void *value;
    MPI_Aint *bytes;
    int *number;
    int flag;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag);
    CHECK(flag && value == base);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag);
    CHECK(flag && *bytes == length);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag);
    CHECK(flag && *number == unit);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &flag);
    CHECK(flag && *number == flavour);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &flag);
    CHECK(flag && *number == MPI_WIN_UNIFIED);
}

static int deleted;

static int on_delete(MPI_Win win, int key, void *value, void *extra)
{
    (void)win, (void)key;
    CHECK(value == (void *)5 && extra == (void *)6);
    deleted++;
    return MPI_SUCCESS;
}

static void own_attributes(MPI_Win win)
{
    void *value;
    int key, flag;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, (void *)6);
    MPI_Win_set_attr(win, key, (void *)5);
    MPI_Win_get_attr(win, key, &value, &flag);
    CHECK(flag && value == (void *)5);
    MPI_Win_delete_attr(win, key);
    CHECK(deleted == 1);
    MPI_Win_get_attr(win, key, &value, &flag);
    CHECK(!flag);
    MPI_Win_set_attr(win, key, (void *)5); /* the end of the window deletes it */
    MPI_Win_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);
}

static void names(MPI_Win win)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 0 && name[0] == 0);
    MPI_Win_set_name(win, "halo");
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 4 && strcmp(name, "halo") == 0);
    MPI_Win_get_name(MPI_WIN_NULL, name, &length);
    CHECK(strcmp(name, "MPI_WIN_NULL") == 0);
    CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win && MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
}

static void groups(MPI_Win win)
{
    MPI_Group of_win, of_comm;
    int result;
    MPI_Win_get_group(win, &of_win);
    MPI_Comm_group(MPI_COMM_WORLD, &of_comm);
    MPI_Group_compare(of_win, of_comm, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&of_win);
    MPI_Group_free(&of_comm);
}

/* Trap 13: a new object each time, every hint in effect, none that is ignored. */
static void hints(MPI_Win win)
{
    MPI_Info info, more;
    char value[64];
    int flag, count, length = sizeof(value);
    MPI_Win_get_info(win, &info);
    CHECK(info != MPI_INFO_NULL);
    MPI_Info_get_string(info, "accumulate_ordering", &length, value, &flag);
    CHECK(flag && strcmp(value, "rar,raw,war,waw") == 0);
    length = sizeof(value);
    MPI_Info_get_string(info, "no_locks", &length, value, &flag);
    CHECK(flag && strcmp(value, "false") == 0);
    MPI_Info_get_nkeys(info, &count);
    MPI_Info_set(info, "dummy", "1");
    MPI_Info_set(info, "same_size", "true");
    MPI_Info_set(info, "same_disp_unit", "perhaps");
    MPI_Win_set_info(win, info);
    MPI_Win_get_info(win, &more);
    CHECK(more != info);
    length = sizeof(value);
    MPI_Info_get_string(more, "same_size", &length, value, &flag);
    CHECK(flag && strcmp(value, "true") == 0);
    length = sizeof(value);
    MPI_Info_get_string(more, "same_disp_unit", &length, value, &flag);
    CHECK(flag && strcmp(value, "false") == 0);
    MPI_Info_get_nkeys(more, &length);
    CHECK(length == count);
    MPI_Info_free(&info);
    MPI_Info_free(&more);
}

/* What an info says about a key; "": nothing. */
static const char *value_of(MPI_Win win, const char *key)
{
    static char value[64];
    MPI_Info info;
    int flag, length = sizeof(value);
    MPI_Win_get_info(win, &info);
    MPI_Info_get_string(info, key, &length, value, &flag);
    MPI_Info_free(&info);
    return flag ? value : "";
}

/* Hints of memory (12.2.2, 12.2.3): in effect, and then returned; else not. Later ones change nothing. */
static void memory_hints(void)
{
    MPI_Info info;
    MPI_Win win;
    void *base;
    int out = rank, in = -1;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "2000000");
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &base, &win);
    CHECK((uintptr_t)base % (1 << 21) == 0);
    CHECK(strcmp(value_of(win, "mpi_minimum_memory_alignment"), "2097152") == 0);
    CHECK(strcmp(value_of(win, "alloc_shared_noncontig"), "") == 0);
    MPI_Win_fence(0, win);
    MPI_Put(&out, 1, MPI_INT, (rank + 1) % size, 96, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Get(&in, 1, MPI_INT, (rank + 1) % size, 96, 1, MPI_INT, win);
    MPI_Accumulate(&out, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(in == rank && *(int *)base == (rank + size - 1) % size);
    MPI_Win_free(&win);
    MPI_Win_create(&out, 4, 1, info, MPI_COMM_WORLD, &win);
    CHECK(strcmp(value_of(win, "mpi_minimum_memory_alignment"), "") == 0);
    MPI_Win_free(&win);
    MPI_Win_allocate_shared(100, 1, info, MPI_COMM_WORLD, &base, &win);
    CHECK((uintptr_t)base % 64 == 0 && strcmp(value_of(win, "alloc_shared_noncontig"), "true") == 0);
    MPI_Info_set(info, "alloc_shared_noncontig", "false");
    MPI_Win_set_info(win, info);
    CHECK(strcmp(value_of(win, "alloc_shared_noncontig"), "true") == 0);
    MPI_Win_free(&win);
    MPI_Win_allocate_shared(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    CHECK(strcmp(value_of(win, "alloc_shared_noncontig"), "false") == 0);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
}

static void handlers(MPI_Win win)
{
    MPI_Errhandler handler, got;
    int value = 0;
    MPI_Win_get_errhandler(win, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Win_create_errhandler(on_win, &handler);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) == MPI_ERR_ERRHANDLER);
    MPI_Win_set_errhandler(win, handler);
    MPI_Errhandler_free(&handler);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    CHECK(calls == 1 && last_win == win && last_code == MPI_ERR_OTHER);
    CHECK(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win) == MPI_ERR_RMA_SYNC && calls == 2);
    CHECK(MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win) == MPI_ERR_RANK && calls == 3);
    CHECK(MPI_Put(&value, -1, MPI_INT, rank, 0, 1, MPI_INT, win) == MPI_ERR_COUNT && calls == 4);
    CHECK(MPI_Put(&value, 1, MPI_DATATYPE_NULL, rank, 0, 1, MPI_INT, win) == MPI_ERR_TYPE && calls == 5);
    CHECK(last_win == win);
    CHECK(MPI_Win_fence(0, MPI_WIN_NULL) == MPI_ERR_WIN && calls == 5);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

static void refused(void)
{
    static int memory[4];
    MPI_Win win = MPI_WIN_NULL;
    CHECK(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_ERR_SIZE);
    CHECK(MPI_Win_create(memory, 16, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_ERR_DISP);
    CHECK(MPI_Win_create(NULL, 16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_ERR_BASE);
    CHECK(MPI_Win_create(memory, 16, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win) == MPI_ERR_COMM);
    CHECK(win == MPI_WIN_NULL && MPI_Win_free(&win) == MPI_ERR_WIN);
    if (size == 1)
        return;
    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 0, &between);
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_create(memory, 16, 1, MPI_INFO_NULL, between, &win) == MPI_ERR_COMM);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    const int code = MPI_Win_create(memory, rank == 1 ? -1 : 16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CHECK(code == (rank == 1 ? MPI_ERR_SIZE : MPI_ERR_OTHER) && win == MPI_WIN_NULL); /* all ranks fail, none waits */
}

static void test(void)
{
    static int memory[4];
    MPI_Win win;
    void *base;
    MPI_Win_create(memory, sizeof(memory), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    attributes(win, memory, sizeof(memory), 4, MPI_WIN_FLAVOR_CREATE);
    own_attributes(win);
    names(win);
    groups(win);
    hints(win);
    handlers(win);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL && deleted == 2);
    MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    attributes(win, base, 100, 1, MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_free(&win);
    MPI_Win_allocate_shared(100, 2, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    attributes(win, base, 100, 2, MPI_WIN_FLAVOR_SHARED);
    MPI_Win_free(&win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    attributes(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    MPI_Win_free(&win);
    memory_hints();
    refused();
}
