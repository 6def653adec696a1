/* SPDX-License-Identifier: Apache-2.0
 * pack.c - pack and unpack as the program asks for it. The packed form has the bytes of the data and nothing else.
 */
#include "dt/data.h"
#include "err/err.h"
#include "mpi_impl.h"

int dt_check_packed(const void *packed, size_t bytes, MPI_Count size, MPI_Count position)
{
    if (position < 0 || position > size)
        return err_set(MPI_ERR_ARG, "position %lld is not in the buffer of %lld bytes", (long long)position,
                       (long long)size);
    return bytes <= (size_t)(size - position)
               ? dt_check_place(packed, (MPI_Count)bytes, MPI_BYTE, "the buffer of packed data")
               : err_set(MPI_ERR_TRUNCATE, "%zu packed bytes: %lld of %lld bytes of the buffer are left", bytes,
                         (long long)(size - position), (long long)size);
}

int mpi_Pack(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
             MPI_Count *position, MPI_Comm comm)
{
    dt_data_t data;
    (void)comm;
    int rc = dt_describe(&data, inbuf, incount, datatype);
    if (rc == MPI_SUCCESS)
        rc = dt_check_packed(outbuf, data.bytes, outsize, *position);
    if (rc != MPI_SUCCESS)
        return rc;
    dt_pack(&data, 0, (char *)outbuf + *position, data.bytes);
    *position += (MPI_Count)data.bytes;
    return MPI_SUCCESS;
}

int mpi_Unpack(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
               MPI_Datatype datatype, MPI_Comm comm)
{
    dt_data_t data;
    (void)comm;
    int rc = dt_describe(&data, outbuf, outcount, datatype);
    if (rc == MPI_SUCCESS)
        rc = dt_check_packed(inbuf, data.bytes, insize, *position);
    if (rc != MPI_SUCCESS)
        return rc;
    dt_unpack(&data, 0, (const char *)inbuf + *position, data.bytes);
    *position += (MPI_Count)data.bytes;
    return MPI_SUCCESS;
}

int mpi_Pack_size(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size)
{
    const dt_type_t *type = dt_find(datatype);
    (void)comm;
    return __builtin_mul_overflow(incount, (MPI_Count)type->size, size)
               ? err_set(MPI_ERR_COUNT, "count %lld of %s is more than an address space", (long long)incount,
                         dt_name(type))
               : MPI_SUCCESS;
}
