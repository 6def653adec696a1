/* SPDX-License-Identifier: Apache-2.0
 * integers.c - a handle as an integer and back is the same handle; predefined ones are their values; the number of an object that
 * has ended stands for nothing.
 * ranks: 1
 */
#include "rule.h"

/* The numbers of objects that end serve again: a Fortran program converts each handle that it meets. */
static void serve_again(void)
{
    MPI_Datatype type;
    MPI_Datatype dup;
    int most = 0;
    for (int i = 0; i < 100000; i++) {
        MPI_Type_contiguous(2, MPI_INT, &type);
        const int number = MPI_Type_toint(type);
        most = number > most ? number : most;
        MPI_Type_free(&type);
        CHECK(MPI_Type_fromint(number) == MPI_DATATYPE_NULL);
    }
    CHECK(most < 0x1000 + 1000);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_dup(type, &dup);
    CHECK(MPI_Type_toint(type) != MPI_Type_toint(dup));
    MPI_Type_free(&type);
    MPI_Type_free(&dup);
}

static void nothing(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

/* Makes an object, frees it: its number stands for nothing then. */
#define ENDS(Type, TYPE, name, make, ...)                                                                              \
    do {                                                                                                               \
        MPI_##Type object;                                                                                             \
        CHECK((make) == MPI_SUCCESS);                                                                                  \
        const int number = MPI_##name##_toint(object);                                                                 \
        CHECK(number >= 0x1000 && MPI_##name##_fromint(number) == object);                                             \
        CHECK((__VA_ARGS__) == MPI_SUCCESS && MPI_##name##_fromint(number) == MPI_##TYPE##_NULL);                      \
    } while (0)

static void ends(void)
{
    MPI_Request sent;
    int value = 0;
    ENDS(Comm, COMM, Comm, MPI_Comm_dup(MPI_COMM_SELF, &object), MPI_Comm_free(&object));
    ENDS(Group, GROUP, Group, MPI_Comm_group(MPI_COMM_SELF, &object), MPI_Group_free(&object));
    ENDS(Info, INFO, Info, MPI_Info_create(&object), MPI_Info_free(&object));
    ENDS(Op, OP, Op, MPI_Op_create(nothing, 1, &object), MPI_Op_free(&object));
    ENDS(Errhandler, ERRHANDLER, Errhandler, MPI_Comm_create_errhandler(handle, &object), MPI_Errhandler_free(&object));
    ENDS(Session, SESSION, Session, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &object),
         MPI_Session_finalize(&object));
    ENDS(Request, REQUEST, Request, MPI_Recv_init(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &object),
         MPI_Request_free(&object));
    ENDS(Request, REQUEST, Request, MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &object),
         MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF) || MPI_Wait(&object, MPI_STATUS_IGNORE));
    MPI_Isend(&value, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &sent);
    ENDS(Message, MESSAGE, Message, MPI_Mprobe(0, 2, MPI_COMM_SELF, &object, MPI_STATUS_IGNORE),
         MPI_Mrecv(&value, 1, MPI_INT, &object, MPI_STATUS_IGNORE));
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

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
    serve_again();
    ends();
}
