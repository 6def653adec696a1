/* SPDX-License-Identifier: Apache-2.0
 * integers.c - a handle as an integer and back is the same handle; predefined ones are their values.
 * ranks: 1
 */
#include "rule.h"

static void test(void)
{
    MPI_Comm dup;
    MPI_Comm other;
    MPI_Info info;
    MPI_Request request;
    int value;
    CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 257 && MPI_Comm_fromint(257) == MPI_COMM_WORLD);
    CHECK(MPI_Type_toint(MPI_INT) == 0x209 && MPI_Type_fromint(0x209) == MPI_INT);
    CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
    CHECK(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    CHECK(MPI_File_toint(MPI_FILE_NULL) == 0x118 && MPI_Win_fromint(0x110) == MPI_WIN_NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    CHECK(MPI_Comm_toint(dup) >= 0x1000 && MPI_Comm_toint(dup) == MPI_Comm_toint(dup));
    CHECK(MPI_Comm_toint(dup) != MPI_Comm_toint(other));
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(dup)) == dup && MPI_Comm_fromint(MPI_Comm_toint(other)) == other);
    CHECK(MPI_Comm_fromint(0x7fffffff) == MPI_COMM_NULL && MPI_Comm_fromint(-1) == MPI_COMM_NULL);
    MPI_Info_create(&info);
    CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
    for (int i = 0; i < 100; i++) {
        MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
        CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Info_free(&info);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&other);
}
