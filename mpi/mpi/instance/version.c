/* SPDX-License-Identifier: Apache-2.0
 * version.c - who we are: versions, clocks, memory, the name of the host.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "err/err.h"
#include "info/info.h"
#include "mpi_impl.h"
#include "rt/memory.h"
#include "rt/rt.h"

int mpi_Get_version(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int mpi_Get_library_version(char *version, int *resultlen)
{
    *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Verbena MPI %s, MPI %d.%d, standard ABI %d.%d",
                          VBN_VERSION_STRING, MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    return MPI_SUCCESS;
}

int mpi_Abi_get_version(int *abi_major, int *abi_minor)
{
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

int mpi_Get_processor_name(char *name, int *resultlen)
{
    char host[HOST_NAME_MAX + 1] = "";
    (void)gethostname(host, sizeof(host) - 1);
    *resultlen = snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", host);
    return MPI_SUCCESS;
}

double mpi_Wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double mpi_Wtick(void)
{
    return 1e-9;
}

int mpi_Pcontrol(const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}

static size_t alignment_of(MPI_Info info)
{
    const size_t wanted = info_alignment(info);
    return wanted > RT_MEMORY_LINE ? wanted : RT_MEMORY_LINE;
}

/* baseptr is the address of the user's pointer. */
int mpi_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    void *memory = NULL;
    if (size < 0)
        return err_set(MPI_ERR_SIZE, "size is %ld, which is negative", (long)size);
    if (info != MPI_INFO_NULL && info != MPI_INFO_ENV && !obj_is(info, OBJ_INFO))
        return err_set(MPI_ERR_INFO, "info is not an info object (it was freed)");
    if (rt_memory_alloc((size_t)size, alignment_of(info), &memory) != 0)
        return err_set(MPI_ERR_NO_MEM, "%s", rt.error);
    memcpy(baseptr, &memory, sizeof(memory));
    return MPI_SUCCESS;
}

int mpi_Free_mem(void *base)
{
    return base == NULL || rt_memory_free(base) == 0 ? MPI_SUCCESS : err_set(MPI_ERR_BASE, "%s", rt.error);
}
