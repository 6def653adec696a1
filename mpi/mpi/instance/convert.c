/* SPDX-License-Identifier: Apache-2.0
 * convert.c - handles as integers and back, for Fortran and for whatever keeps handles in integers.
 */
#include "mpi_impl.h"
#include "obj/obj.h"

int mpi_Comm_toint(MPI_Comm comm)
{
    return obj_to_int(comm);
}

MPI_Comm mpi_Comm_fromint(int comm)
{
    return (MPI_Comm)obj_from_int(comm, MPI_COMM_NULL);
}

int mpi_Errhandler_toint(MPI_Errhandler errhandler)
{
    return obj_to_int(errhandler);
}

MPI_Errhandler mpi_Errhandler_fromint(int errhandler)
{
    return (MPI_Errhandler)obj_from_int(errhandler, MPI_ERRHANDLER_NULL);
}

int mpi_File_toint(MPI_File file)
{
    return obj_to_int(file);
}

MPI_File mpi_File_fromint(int file)
{
    return (MPI_File)obj_from_int(file, MPI_FILE_NULL);
}

int mpi_Group_toint(MPI_Group group)
{
    return obj_to_int(group);
}

MPI_Group mpi_Group_fromint(int group)
{
    return (MPI_Group)obj_from_int(group, MPI_GROUP_NULL);
}

int mpi_Info_toint(MPI_Info info)
{
    return obj_to_int(info);
}

MPI_Info mpi_Info_fromint(int info)
{
    return (MPI_Info)obj_from_int(info, MPI_INFO_NULL);
}

int mpi_Message_toint(MPI_Message message)
{
    return obj_to_int(message);
}

MPI_Message mpi_Message_fromint(int message)
{
    return (MPI_Message)obj_from_int(message, MPI_MESSAGE_NULL);
}

int mpi_Op_toint(MPI_Op op)
{
    return obj_to_int(op);
}

MPI_Op mpi_Op_fromint(int op)
{
    return (MPI_Op)obj_from_int(op, MPI_OP_NULL);
}

int mpi_Request_toint(MPI_Request request)
{
    return obj_to_int(request);
}

MPI_Request mpi_Request_fromint(int request)
{
    return (MPI_Request)obj_from_int(request, MPI_REQUEST_NULL);
}

int mpi_Session_toint(MPI_Session session)
{
    return obj_to_int(session);
}

MPI_Session mpi_Session_fromint(int session)
{
    return (MPI_Session)obj_from_int(session, MPI_SESSION_NULL);
}

int mpi_Type_toint(MPI_Datatype datatype)
{
    return obj_to_int(datatype);
}

MPI_Datatype mpi_Type_fromint(int datatype)
{
    return (MPI_Datatype)obj_from_int(datatype, MPI_DATATYPE_NULL);
}

int mpi_Win_toint(MPI_Win win)
{
    return obj_to_int(win);
}

MPI_Win mpi_Win_fromint(int win)
{
    return (MPI_Win)obj_from_int(win, MPI_WIN_NULL);
}
