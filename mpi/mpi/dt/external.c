/* SPDX-License-Identifier: Apache-2.0
 * external.c - external32: big-endian numbers of fixed sizes. Data is packed piece by piece into a buffer of ours, whose
 * elements are converted one by one; reading goes the other way.
 */
#include <float.h>
#include <limits.h>
#include <string.h>

#include "dt/data.h"
#include "err/err.h"
#include "mpi_impl.h"

#define PIECE 4096 /* bytes that are converted at a time */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "external32 is written for little-endian machines"
#endif

static void reverse(const unsigned char *from, unsigned char *to, size_t length)
{
    for (size_t i = 0; i < length; i++)
        to[i] = from[length - 1 - i];
}

/* long double with 64 bits of mantissa to IEEE binary128, most significant byte first, and back. */
#if LDBL_MANT_DIG == 64
static void write_long_double(const unsigned char *from, unsigned char *to)
{
    uint64_t mantissa;
    memcpy(&mantissa, from, 8);
    mantissa <<= 1; /* binary128 has no explicit first bit */
    memset(to, 0, 16);
    to[0] = from[9];
    to[1] = from[8];
    for (int i = 0; i < 8; i++)
        to[2 + i] = (unsigned char)(mantissa >> (56 - 8 * i));
}

static void read_long_double(const unsigned char *from, unsigned char *to)
{
    uint64_t mantissa = 0;
    const unsigned exponent = (unsigned)(from[0] & 0x7f) << 8 | from[1];
    for (int i = 0; i < 8; i++)
        mantissa = mantissa << 8 | from[2 + i];
    mantissa >>= 1; /* digits beyond ours are cut off */
    mantissa |= exponent == 0 ? 0 : (uint64_t)1 << 63;
    memset(to, 0, 16);
    memcpy(to, &mantissa, 8);
    to[8] = from[1];
    to[9] = from[0];
}
#else
static void write_long_double(const unsigned char *from, unsigned char *to)
{
    reverse(from, to, 16);
}

static void read_long_double(const unsigned char *from, unsigned char *to)
{
    reverse(from, to, 16);
}
#endif

/* One number of `native` bytes as one of `external` bytes; is_long_double: the only one that changes its format. */
typedef struct number {
    size_t native;
    size_t external;
    int is_long_double;
    int is_signed;
} number_t;

static number_t number_of(unsigned basic)
{
    const dt_type_t *type = &dt_predefined[basic];
    const MPI_Datatype handle = dt_handle(type);
    return (number_t){.native = type->unit,
                      .external = type->external / (type->size / type->unit),
                      .is_long_double = handle == MPI_LONG_DOUBLE || handle == MPI_C_LONG_DOUBLE_COMPLEX ||
                                        handle == MPI_CXX_LONG_DOUBLE_COMPLEX,
                      .is_signed = handle == MPI_LONG};
}

/* Numbers that external32 has shorter than we do must fit. */
static int write_shorter(const number_t *number, const unsigned char *from, unsigned char *to)
{
    const unsigned char *rest = from + number->external;
    const int negative = number->is_signed && (rest[-1] & 0x80) != 0;
    for (size_t i = 0; i < number->native - number->external; i++)
        if (rest[i] != (negative ? 0xff : 0))
            return err_set(MPI_ERR_CONVERSION, "a value of %zu bytes does not fit into the %zu of external32",
                           number->native, number->external);
    reverse(from, to, number->external);
    return MPI_SUCCESS;
}

static int write_number(const number_t *number, const unsigned char *from, unsigned char *to)
{
    if (number->external < number->native)
        return write_shorter(number, from, to);
    if (number->is_long_double)
        write_long_double(from, to);
    else
        reverse(from, to, number->native);
    return MPI_SUCCESS;
}

static void read_number(const number_t *number, const unsigned char *from, unsigned char *to)
{
    if (number->is_long_double) {
        read_long_double(from, to);
        return;
    }
    const int negative = number->is_signed && (from[0] & 0x80) != 0;
    reverse(from, to, number->external);
    memset(to + number->external, negative ? 0xff : 0, number->native - number->external);
}

/* A conversion that is under way. */
typedef struct job {
    const dt_data_t *data;
    size_t at; /* in the packed form */
    unsigned char *external;
    int writes;
} job_t;

static int convert_piece(job_t *job, const number_t *number, size_t count)
{
    unsigned char piece[PIECE];
    int rc = MPI_SUCCESS;
    const size_t bytes = count * number->native;
    if (job->writes)
        dt_pack(job->data, job->at, piece, bytes);
    for (size_t i = 0; i < count && rc == MPI_SUCCESS; i++, job->external += number->external) {
        if (job->writes)
            rc = write_number(number, piece + i * number->native, job->external);
        else
            read_number(number, job->external, piece + i * number->native);
    }
    if (!job->writes)
        dt_unpack(job->data, job->at, piece, bytes);
    job->at += bytes;
    return rc;
}

static int convert(void *arg, unsigned basic, size_t count)
{
    const number_t number = number_of(basic);
    size_t left = count * (dt_predefined[basic].size / number.native);
    int rc = MPI_SUCCESS;
    while (left > 0 && rc == MPI_SUCCESS) {
        const size_t part = left < PIECE / number.native ? left : PIECE / number.native;
        rc = convert_piece(arg, &number, part);
        left -= part;
    }
    return rc;
}

static int check_representation(const char *datarep)
{
    return datarep != NULL && strcmp(datarep, "external32") == 0
               ? MPI_SUCCESS
               : err_set(MPI_ERR_UNSUPPORTED_DATAREP, "datarep \"%s\" is not \"external32\"",
                         datarep == NULL ? "" : datarep);
}

/* The data, and how long it is in external32; the type of data of one piece is gone, so it is asked for again. */
static int prepare(const char *datarep, const void *buffer, MPI_Count count, MPI_Datatype datatype, dt_data_t *data,
                   size_t *bytes_p)
{
    int rc = check_representation(datarep);
    if (rc == MPI_SUCCESS)
        rc = dt_describe(data, buffer, count, datatype);
    if (rc == MPI_SUCCESS)
        *bytes_p = (size_t)count * dt_find(datatype)->sig->external;
    return rc;
}

static int run(const dt_data_t *data, MPI_Count count, MPI_Datatype datatype, unsigned char *external, int writes)
{
    job_t job = {.data = data, .external = external, .writes = writes};
    int rc = MPI_SUCCESS;
    const dt_sig_t *sig = dt_find(datatype)->sig;
    if (sig->n == 1 && sig->items[0].part == NULL)
        return convert(&job, sig->items[0].basic, (size_t)count * sig->items[0].count);
    for (MPI_Count i = 0; i < count && rc == MPI_SUCCESS; i++)
        rc = dt_sig_walk(sig, convert, &job);
    return rc;
}

int mpi_Pack_external(const char *datarep, const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf,
                      MPI_Count outsize, MPI_Count *position)
{
    dt_data_t data;
    size_t bytes = 0;
    int rc = prepare(datarep, inbuf, incount, datatype, &data, &bytes);
    if (rc == MPI_SUCCESS)
        rc = dt_check_packed(outbuf, bytes, outsize, *position);
    if (rc == MPI_SUCCESS)
        rc = run(&data, incount, datatype, (unsigned char *)outbuf + *position, 1);
    if (rc == MPI_SUCCESS)
        *position += (MPI_Count)bytes;
    return rc;
}

int mpi_Unpack_external(const char datarep[], const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
                        MPI_Count outcount, MPI_Datatype datatype)
{
    dt_data_t data;
    size_t bytes = 0;
    int rc = prepare(datarep, outbuf, outcount, datatype, &data, &bytes);
    if (rc == MPI_SUCCESS)
        rc = dt_check_packed(inbuf, bytes, insize, *position);
    if (rc == MPI_SUCCESS)
        rc = run(&data, outcount, datatype, (unsigned char *)(uintptr_t)inbuf + *position, 0);
    if (rc == MPI_SUCCESS)
        *position += (MPI_Count)bytes;
    return rc;
}

int mpi_Pack_external_size(const char *datarep, MPI_Count incount, MPI_Datatype datatype, MPI_Count *size)
{
    const int rc = check_representation(datarep);
    if (rc != MPI_SUCCESS)
        return rc;
    const dt_type_t *type = dt_find(datatype);
    return __builtin_mul_overflow(incount, (MPI_Count)type->sig->external, size)
               ? err_set(MPI_ERR_COUNT, "count %lld of %s is more than an address space", (long long)incount,
                         dt_name(type))
               : MPI_SUCCESS;
}
