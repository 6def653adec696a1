/* SPDX-License-Identifier: Apache-2.0
 * region.c - memory attached to dynamic windows (MPI 5.0, 12.2.4): as many regions as the program likes, of any place and length,
 * which do not overlap.
 */
#include <stdio.h>
#include <stdlib.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "win/win.h"

static int check_flavour(const mpi_win_t *win)
{
    return win->flavour == MPI_WIN_FLAVOR_DYNAMIC
               ? MPI_SUCCESS
               : err_set(MPI_ERR_RMA_FLAVOR, "win was not made by MPI_Win_create_dynamic");
}

static int overlaps(const mpi_win_t *win, uintptr_t start, size_t length)
{
    for (const win_region_t *region = win->regions; region != NULL; region = region->next)
        if (start < region->start + region->length && region->start < start + length)
            return 1;
    return 0;
}

static int check_region(const mpi_win_t *win, const void *base, MPI_Aint size)
{
    if (size < 0)
        return err_set(MPI_ERR_SIZE, "size is %lld, which is negative", (long long)size);
    if (size > 0 && base == NULL)
        return err_set(MPI_ERR_BASE, "base is NULL, but size is %lld", (long long)size);
    if ((uintptr_t)base > UINTPTR_MAX - (uintptr_t)size)
        return err_set(MPI_ERR_SIZE, "%lld bytes at %p are more than the address space", (long long)size, base);
    return overlaps(win, (uintptr_t)base, (size_t)size)
               ? err_set(MPI_ERR_RMA_ATTACH, "%lld bytes at %p overlap memory that is attached already",
                         (long long)size, base)
               : MPI_SUCCESS;
}

/* Whether some of it is mapped without the right to write. What /proc does not show counts as writable. */
static int is_read_only(uintptr_t start, uintptr_t end)
{
    char line[512]; /* the rest of a longer one begins with no range */
    char rights[5];
    unsigned long from;
    unsigned long to;
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL)
        found = sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && from < end && start < to && rights[1] != 'w';
    if (maps != NULL)
        (void)fclose(maps);
    return found;
}

int mpi_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    mpi_win_t *found = win_of(win);
    int rc = check_flavour(found);
    rc = rc == MPI_SUCCESS ? check_region(found, base, size) : rc;
    if (rc != MPI_SUCCESS)
        return rc;
    win_region_t *region = malloc(sizeof(*region));
    if (region == NULL)
        return err_set(MPI_ERR_RMA_ATTACH, "memory cannot be attached: no memory left");
    *region = (win_region_t){.next = found->regions, .start = (uintptr_t)base, .length = (size_t)size};
    region->read_only = is_read_only(region->start, region->start + region->length);
    found->regions = region;
    return MPI_SUCCESS;
}

int mpi_Win_detach(MPI_Win win, const void *base)
{
    mpi_win_t *found = win_of(win);
    const int rc = check_flavour(found);
    win_region_t **at = &found->regions;
    if (rc != MPI_SUCCESS)
        return rc;
    while (*at != NULL && (*at)->start != (uintptr_t)base)
        at = &(*at)->next;
    if (*at == NULL)
        return err_set(MPI_ERR_RMA_ATTACH, "nothing is attached at %p", base);
    win_region_t *gone = *at;
    *at = gone->next;
    free(gone);
    return MPI_SUCCESS;
}
