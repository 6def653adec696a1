/* SPDX-License-Identifier: Apache-2.0
 * pack.c - what is packed piece after piece is unpacked piece after piece, by other types of the same elements too; packed
 * data travels as MPI_PACKED. external32 has big-endian numbers of fixed sizes, without gaps.
 * ranks: 2
 */
#include "rule.h"

#include <float.h>

static void in_memory(void)
{
    int row[6] = {1, 2, 3, 4, 5, 6}, column[6] = {0};
    double value = 2.5, other = 0;
    char bytes[64];
    int position = 0, size, total = 0;
    MPI_Datatype type;
    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Pack_size(1, type, MPI_COMM_SELF, &size);
    total += size;
    MPI_Pack_size(1, MPI_DOUBLE, MPI_COMM_SELF, &size);
    total += size;
    MPI_Pack(row, 1, type, bytes, sizeof(bytes), &position, MPI_COMM_SELF);
    MPI_Pack(&value, 1, MPI_DOUBLE, bytes, sizeof(bytes), &position, MPI_COMM_SELF);
    CHECK(position <= total);
    CHECK(class_of(MPI_Pack(row, 6, MPI_INT, bytes, position + 23, &position, MPI_COMM_SELF)) == MPI_ERR_TRUNCATE);
    position = 0;
    MPI_Unpack(bytes, sizeof(bytes), &position, column, 3, MPI_INT, MPI_COMM_SELF);
    MPI_Unpack(bytes, sizeof(bytes), &position, &other, 1, MPI_DOUBLE, MPI_COMM_SELF);
    CHECK(column[0] == 1 && column[1] == 3 && column[2] == 5 && column[3] == 0 && other == 2.5);
    CHECK(class_of(MPI_Unpack(bytes, position + 3, &position, column, 1, MPI_INT, MPI_COMM_SELF)) == MPI_ERR_TRUNCATE);
    MPI_Type_free(&type);
}

/* Packed by the sender, received in place; sent in place, unpacked by the receiver. */
static void in_messages(void)
{
    struct {
        int n;
        float values[3];
    } data = {3, {1, 2, 3}}, got = {0, {0, 0, 0}};
    MPI_Datatype type;
    char bytes[64];
    int position = 0, count;
    MPI_Status status;
    MPI_Type_create_struct(2, (const int[]){1, 3}, (const MPI_Aint[]){0, sizeof(int)},
                           (const MPI_Datatype[]){MPI_INT, MPI_FLOAT}, &type);
    MPI_Type_commit(&type);
    if (rank == 0) {
        MPI_Pack(&data.n, 1, MPI_INT, bytes, sizeof(bytes), &position, MPI_COMM_WORLD);
        MPI_Pack(data.values, 3, MPI_FLOAT, bytes, sizeof(bytes), &position, MPI_COMM_WORLD);
        MPI_Send(bytes, position, MPI_PACKED, 1, 1, MPI_COMM_WORLD);
        MPI_Send(&data, 1, type, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&got, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(memcmp(&got, &data, sizeof(data)) == 0);
        MPI_Recv(bytes, sizeof(bytes), MPI_PACKED, 0, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_PACKED, &count);
        memset(&got, 0, sizeof(got));
        MPI_Unpack(bytes, count, &position, &got.n, 1, MPI_INT, MPI_COMM_WORLD);
        MPI_Unpack(bytes, count, &position, got.values, 3, MPI_FLOAT, MPI_COMM_WORLD);
        CHECK(memcmp(&got, &data, sizeof(data)) == 0 && position == count);
    }
    MPI_Type_free(&type);
}

/* Converts there and back; the bytes between are those given. */
static void external(const void *value, MPI_Datatype type, int size, const char *wanted, int length)
{
    char bytes[64], back[64];
    MPI_Aint position = 0, room;
    MPI_Pack_external_size("external32", 1, type, &room);
    CHECK(room == length);
    CHECK(MPI_Pack_external("external32", value, 1, type, bytes, sizeof(bytes), &position) == MPI_SUCCESS);
    CHECK(position == length && memcmp(bytes, wanted, (size_t)length) == 0);
    memset(back, 0, sizeof(back));
    position = 0;
    CHECK(MPI_Unpack_external("external32", bytes, length, &position, back, 1, type) == MPI_SUCCESS);
    CHECK(position == length && memcmp(back, value, (size_t)size) == 0);
}

static void external_numbers(void)
{
    external(&(int){-2}, MPI_INT, 4, "\xff\xff\xff\xfe", 4);
    external(&(short){0x1234}, MPI_SHORT, 2, "\x12\x34", 2);
    external(&(long){-3}, MPI_LONG, 8, "\xff\xff\xff\xfd", 4);
    external(&(unsigned long){0xfffffffe}, MPI_UNSIGNED_LONG, 8, "\xff\xff\xff\xfe", 4);
    external(&(long long){0x0102030405060708}, MPI_LONG_LONG, 8, "\1\2\3\4\5\6\7\10", 8);
    external(&(double){1.5}, MPI_DOUBLE, 8, "\x3f\xf8\0\0\0\0\0\0", 8);
    external(&(float){-2}, MPI_FLOAT, 4, "\xc0\0\0\0", 4);
    external(&(char){'x'}, MPI_CHAR, 1, "x", 1);
    external((const float[]){1, -1}, MPI_C_FLOAT_COMPLEX, 8, "\x3f\x80\0\0\xbf\x80\0\0", 8);
    external(&(int){0x41}, MPI_WCHAR, 4, "\0\x41", 2);
    const long double pi = -3.14159265358979323851L;
    MPI_Aint position;
#if LDBL_MANT_DIG == 64
    external(&pi, MPI_LONG_DOUBLE, 10, "\xc0\x00\x92\x1f\xb5\x44\x42\xd1\x84\x6a\0\0\0\0\0\0", 16);
#endif
    for (int i = 0; i < 4; i++) {
        const long double values[] = {pi, 0, 1e-4940L, 1e4000L};
        char bytes[16];
        long double back = 7;
        position = 0;
        CHECK(MPI_Pack_external("external32", &values[i], 1, MPI_LONG_DOUBLE, bytes, 16, &position) == MPI_SUCCESS);
        position = 0;
        CHECK(MPI_Unpack_external("external32", bytes, 16, &position, &back, 1, MPI_LONG_DOUBLE) == MPI_SUCCESS);
        CHECK(back == values[i]);
    }
}

static void external_types(void)
{
    struct {
        short a;
        double b[2];
        long c;
    } data = {1, {2, -2}, 3};
    const MPI_Aint displs[] = {(char *)&data.a - (char *)&data, (char *)&data.b - (char *)&data,
                               (char *)&data.c - (char *)&data};
    MPI_Datatype type;
    char bytes[8];
    MPI_Aint position = 0;
    memset(&data, 0, sizeof(data)); /* gaps too: they are compared */
    data.a = 1;
    data.b[0] = 2;
    data.b[1] = -2;
    data.c = 3;
    MPI_Type_create_struct(3, (const int[]){1, 2, 1}, displs, (const MPI_Datatype[]){MPI_SHORT, MPI_DOUBLE, MPI_LONG},
                           &type);
    MPI_Type_commit(&type);
    external(&data, type, sizeof(data), "\0\1\x40\0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0\0\0\0\3", 22);
    MPI_Type_free(&type);
    const long large = 1L << 40;
    CHECK(class_of(MPI_Pack_external("external32", &large, 1, MPI_LONG, bytes, 8, &position)) == MPI_ERR_CONVERSION);
    CHECK(class_of(MPI_Pack_external("external32", &data, 3, MPI_INT, bytes, 8, &position)) == MPI_ERR_TRUNCATE);
    CHECK(class_of(MPI_Pack_external("native", &data, 1, MPI_INT, bytes, 8, &position)) == MPI_ERR_UNSUPPORTED_DATAREP);
    int *many = malloc(5000 * sizeof(int)), *back = malloc(5000 * sizeof(int));
    char *long_form = malloc(20000);
    for (int i = 0; i < 5000; i++)
        many[i] = i * 65537;
    MPI_Pack_external("external32", many, 5000, MPI_INT, long_form, 20000, &position);
    position = 0;
    MPI_Unpack_external("external32", long_form, 20000, &position, back, 5000, MPI_INT);
    CHECK(memcmp(many, back, 20000) == 0 && long_form[4] == 0 && long_form[5] == 1 && long_form[7] == 1);
    free(many);
    free(back);
    free(long_form);
}

static void test(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    in_memory();
    in_messages();
    external_numbers();
    external_types();
}
