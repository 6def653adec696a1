// SPDX-License-Identifier: Apache-2.0
// Reduction kernels against a slow reference, for every type they take; what they do not take is refused.
#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <vector>

extern "C" {
#include "op/op.h"
}

template <typename T> static void compare(MPI_Op op, MPI_Datatype type, std::function<T(T, T)> slow)
{
    const op_kernel_t kernel = op_find(op, type);
    ASSERT_NE(kernel, nullptr);
    for (size_t count : {0, 1, 7, 64, 1000}) {
        std::vector<T> a(count), b(count), expected(count);
        for (size_t i = 0; i < count; i++) {
            a[i] = (T)(int)(i % 5);
            b[i] = (T)(int)(i % 3);
            expected[i] = slow(a[i], b[i]);
        }
        kernel(a.data(), b.data(), count);
        for (size_t i = 0; i < count; i++)
            ASSERT_EQ(b[i], expected[i]) << i;
    }
}

template <typename T> static void numbers(MPI_Datatype type)
{
    compare<T>(MPI_SUM, type, [](T a, T b) { return (T)(a + b); });
    compare<T>(MPI_PROD, type, [](T a, T b) { return (T)(a * b); });
    compare<T>(MPI_MIN, type, [](T a, T b) { return a < b ? a : b; });
    compare<T>(MPI_MAX, type, [](T a, T b) { return a > b ? a : b; });
}

template <typename T> static void integers(MPI_Datatype type)
{
    numbers<T>(type);
    compare<T>(MPI_BAND, type, [](T a, T b) { return (T)(a & b); });
    compare<T>(MPI_BOR, type, [](T a, T b) { return (T)(a | b); });
    compare<T>(MPI_BXOR, type, [](T a, T b) { return (T)(a ^ b); });
    compare<T>(MPI_LAND, type, [](T a, T b) { return (T)(a && b); });
    compare<T>(MPI_LOR, type, [](T a, T b) { return (T)(a || b); });
    compare<T>(MPI_LXOR, type, [](T a, T b) { return (T)(!a != !b); });
}

TEST(Kernels, Integers)
{
    integers<signed char>(MPI_SIGNED_CHAR);
    integers<unsigned char>(MPI_UNSIGNED_CHAR);
    integers<short>(MPI_SHORT);
    integers<unsigned short>(MPI_UNSIGNED_SHORT);
    integers<int>(MPI_INT);
    integers<unsigned>(MPI_UNSIGNED);
    integers<long>(MPI_LONG);
    integers<unsigned long>(MPI_UNSIGNED_LONG);
    integers<long long>(MPI_LONG_LONG);
    integers<uint8_t>(MPI_UINT8_T);
    integers<int64_t>(MPI_INT64_T);
    integers<MPI_Aint>(MPI_AINT);
    integers<MPI_Count>(MPI_COUNT);
    integers<int32_t>(MPI_INTEGER);
}

TEST(Kernels, Floats)
{
    numbers<float>(MPI_FLOAT);
    numbers<double>(MPI_DOUBLE);
    numbers<long double>(MPI_LONG_DOUBLE);
    numbers<float>(MPI_REAL);
    compare<std::complex<double>>(MPI_PROD, MPI_C_DOUBLE_COMPLEX, [](auto a, auto b) { return a * b; });
    compare<std::complex<float>>(MPI_SUM, MPI_C_FLOAT_COMPLEX, [](auto a, auto b) { return a + b; });
}

template <typename T> struct Pair {
    T value;
    int index;
};

TEST(Kernels, PairsKeepTheSmallerIndexOfEqualValues)
{
    const Pair<double> in[] = {{1, 4}, {2, 4}, {3, 4}, {3, 9}};
    Pair<double> low[] = {{2, 1}, {2, 1}, {2, 1}, {3, 1}};
    Pair<double> high[] = {{2, 1}, {2, 8}, {2, 1}, {3, 1}};
    op_find(MPI_MINLOC, MPI_DOUBLE_INT)(in, low, 4);
    op_find(MPI_MAXLOC, MPI_DOUBLE_INT)(in, high, 4);
    const int low_index[] = {4, 1, 1, 1};
    const int high_index[] = {1, 4, 4, 1};
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(low[i].index, low_index[i]) << i;
        EXPECT_EQ(high[i].index, high_index[i]) << i;
    }
}

TEST(Kernels, WhatAnOperationDoesNotTakeHasNone)
{
    EXPECT_EQ(op_find(MPI_BAND, MPI_DOUBLE), nullptr);
    EXPECT_EQ(op_find(MPI_MAX, MPI_C_DOUBLE_COMPLEX), nullptr);
    EXPECT_EQ(op_find(MPI_SUM, MPI_CHARACTER), nullptr);
    EXPECT_EQ(op_find(MPI_SUM, MPI_BYTE), nullptr);
    EXPECT_NE(op_find(MPI_BOR, MPI_BYTE), nullptr);
    EXPECT_EQ(op_find(MPI_MINLOC, MPI_INT), nullptr);
    EXPECT_EQ(op_find(MPI_REPLACE, MPI_INT), nullptr);
    EXPECT_EQ(op_find(MPI_SUM, MPI_DATATYPE_NULL), nullptr);
}
