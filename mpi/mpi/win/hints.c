/* SPDX-License-Identifier: Apache-2.0
 * hints.c - info of windows: a program gets back every hint that windows know, with its value in effect, and no other (12.2.1).
 * Calls of the accumulate family keep the strictest order and take any mix of operations, so hints that allow less change nothing.
 */
#include "win/hints.h"

#include <stdio.h>
#include <string.h>

#include "err/err.h"
#include "info/info.h"
#include "mpi_impl.h"

static const struct {
    const char *key;
    const char *value;
} defaults[] = {
    {"no_locks", "false"},
    {"accumulate_ordering", "rar,raw,war,waw"},
    {"accumulate_ops", "same_op_no_op"},
    {"mpi_accumulate_granularity", "0"},
    {"same_size", "false"},
    {"same_disp_unit", "false"},
};

#define HINTS (sizeof(defaults) / sizeof(defaults[0]))

static int is_switch(const char *value)
{
    return strcmp(value, "false") == 0 || strcmp(value, "true") == 0;
}

/* A value that its hint does not have is ignored, as all hints may be. */
static int is_value(size_t hint, const char *value)
{
    return !is_switch(defaults[hint].value) || is_switch(value);
}

static const char *value_of(const mpi_win_t *win, const mpi_info_t *given, size_t hint)
{
    const char *value = info_value(given, defaults[hint].key);
    if (value != NULL && is_value(hint, value))
        return value;
    value = win->info == MPI_INFO_NULL ? NULL : info_value((const mpi_info_t *)win->info, defaults[hint].key);
    return value != NULL ? value : defaults[hint].value;
}

/* Of the window's memory: they are decided when it is made. */
static int put_decided(mpi_info_t *used, const mpi_win_t *win)
{
    char alignment[24];
    int failed = 0;
    (void)snprintf(alignment, sizeof(alignment), "%zu", win->alignment);
    if (win->flavour == MPI_WIN_FLAVOR_SHARED)
        failed |= info_put(used, "alloc_shared_noncontig", win->apart ? "true" : "false");
    if (win->alignment > 0)
        failed |= info_put(used, "mpi_minimum_memory_alignment", alignment);
    return failed;
}

int win_hints_take(mpi_win_t *win, MPI_Info info)
{
    MPI_Info given;
    mpi_info_t *used = info_create();
    const int rc = used == NULL ? err_set(MPI_ERR_NO_MEM, "hints of a window: no memory left")
                                : info_copy(info, &given);
    int failed = 0;
    if (rc != MPI_SUCCESS) {
        info_destroy(used);
        return rc;
    }
    for (size_t i = 0; i < HINTS; i++)
        failed |= info_put(used, defaults[i].key, value_of(win, (const mpi_info_t *)given, i)) != 0;
    failed |= put_decided(used, win);
    info_destroy((mpi_info_t *)given);
    if (win->info != MPI_INFO_NULL)
        info_destroy((mpi_info_t *)win->info);
    win->info = (MPI_Info)used;
    return failed ? err_set(MPI_ERR_NO_MEM, "hints of a window: no memory left") : MPI_SUCCESS;
}

int mpi_Win_set_info(MPI_Win win, MPI_Info info)
{
    return win_hints_take(win_of(win), info);
}

int mpi_Win_get_info(MPI_Win win, MPI_Info *info_used)
{
    return info_copy(win_of(win)->info, info_used);
}
