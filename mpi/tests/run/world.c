/* SPDX-License-Identifier: Apache-2.0
 * world.c - what may be called before MPI_Init and after MPI_Finalize, and what these say; versions.
 * ranks: 1 2
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "world.c:%d: not true: %s\n", __LINE__, #condition);                                       \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(void)
{
    int flag = -1;
    int provided = -1;
    int length = 0;
    int version[4];
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&flag);
    CHECK(flag == 0);
    MPI_Get_version(&version[0], &version[1]);
    MPI_Abi_get_version(&version[2], &version[3]);
    CHECK(version[0] == 5 && version[1] == 0 && version[2] == 1 && version[3] == 0);
    MPI_Get_library_version(text, &length);
    CHECK(strstr(text, "Verbena") != NULL && (int)strlen(text) == length);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Initialized(&flag);
    CHECK(flag == 1);
    MPI_Get_processor_name(text, &length);
    CHECK(length > 0);
    const double start = MPI_Wtime();
    CHECK(MPI_Wtime() >= start && MPI_Wtick() > 0);
    MPI_Finalized(&flag);
    CHECK(flag == 0);
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK(flag == 1);
    MPI_Initialized(&flag);
    CHECK(flag == 1);
    return 0;
}
