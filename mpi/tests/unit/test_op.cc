// SPDX-License-Identifier: Apache-2.0
// Reduction kernels against a slow reference, for every type they take; what they do not take is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <random>
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

// Bytes of random numbers at an address with this remainder by 64, and a border behind them.
class Place {
public:
    Place(size_t length, size_t offset, std::mt19937 &random) : length_(length), memory_(length + 192)
    {
        for (auto &byte : memory_)
            byte = (unsigned char)random();
        start_ = (64 - (uintptr_t)memory_.data() % 64) + offset;
    }
    unsigned char *at() { return memory_.data() + start_; }
    std::vector<unsigned char> bytes() { return {at(), at() + length_}; }
    void set(const std::vector<unsigned char> &bytes) { std::copy(bytes.begin(), bytes.end(), at()); }
    std::vector<unsigned char> around() const
    {
        std::vector<unsigned char> copy(memory_);
        std::fill(copy.begin() + (ptrdiff_t)start_, copy.begin() + (ptrdiff_t)(start_ + length_), (unsigned char)0);
        return copy;
    }

private:
    size_t length_;
    std::vector<unsigned char> memory_;
    size_t start_;
};

// Of floating point: finite numbers, as which NaN comes out of two of them is left to the processor.
static void make_finite(Place *place, MPI_Datatype type, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        const size_t size = type == MPI_DOUBLE ? 8 : 4;
        memcpy(&bits, place->at() + i * size, size);
        bits &= type == MPI_DOUBLE ? ~(1ull << 62) : ~(1ull << 30);
        memcpy(place->at() + i * size, &bits, size);
    }
}

struct Wide {
    MPI_Datatype type;
    size_t size;
    bool is_float;
};

static const Wide WIDE[] = {{MPI_INT8_T, 1, false},   {MPI_UINT8_T, 1, false},  {MPI_INT16_T, 2, false},
                            {MPI_UINT16_T, 2, false}, {MPI_INT32_T, 4, false},  {MPI_UINT32_T, 4, false},
                            {MPI_INT64_T, 8, false},  {MPI_UINT64_T, 8, false}, {MPI_FLOAT, 4, true},
                            {MPI_DOUBLE, 8, true}};
static const MPI_Op WIDE_OPS[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR};

// Three buffers, one of them in place, and counts around those of vectors; at all kinds of offsets.
static void equals_plain(op_level_t level, const Wide &wide, MPI_Op op, size_t count, size_t offset,
                         std::mt19937 &random)
{
    Place a(count * wide.size, offset, random), b(count * wide.size, (offset * 7 + 13) % 64, random),
        to(count * wide.size, (offset * 5 + 31) % 64, random), plain(count * wide.size, 0, random);
    for (Place *place : {&a, &b})
        if (wide.is_float)
            make_finite(place, wide.type, count);
    Place in(count * wide.size, 0, random);
    in.set(a.bytes());
    plain.set(b.bytes());
    op_find(op, wide.type)(in.at(), plain.at(), count);
    const auto around = to.around();
    const op_wide_t kernel = op_wide_at(level, op, wide.type);
    kernel(a.at(), b.at(), to.at(), count);
    ASSERT_EQ(to.bytes(), plain.bytes());
    ASSERT_EQ(to.around(), around);
    const auto kept = a.bytes();
    kernel(a.at(), b.at(), b.at(), count);
    ASSERT_EQ(b.bytes(), plain.bytes());
    ASSERT_EQ(a.bytes(), kept);
}

static void all_equal_plain(op_level_t level)
{
    std::mt19937 random(1);
    for (const Wide &wide : WIDE)
        for (const MPI_Op op : WIDE_OPS) {
            ASSERT_EQ(op_wide_at(level, op, wide.type) == nullptr, op_find(op, wide.type) == nullptr);
            if (op_find(op, wide.type) == nullptr)
                continue;
            for (size_t count = 0; count <= 130; count += count < 70 ? 1 : 12)
                equals_plain(level, wide, op, count, count * 11 % 64, random);
            for (size_t offset = 0; offset < 64; offset += wide.size > 4 ? 1 : 3)
                equals_plain(level, wide, op, 67, offset, random);
        }
}

TEST(WideKernels, GiveTheBitsOfThePlainOnesWithoutVectors)
{
    all_equal_plain(OP_PLAIN);
}

TEST(WideKernels, GiveTheBitsOfThePlainOnesByAvx2)
{
    if (op_level() < OP_AVX2)
        GTEST_SKIP() << "this processor has no AVX2";
    all_equal_plain(OP_AVX2);
}

TEST(WideKernels, GiveTheBitsOfThePlainOnesByAvx512)
{
    if (op_level() < OP_AVX512)
        GTEST_SKIP() << "this processor has no AVX-512";
    all_equal_plain(OP_AVX512);
}

TEST(WideKernels, MinimumAndMaximumOfZerosAndNanAreThoseOfThePlainOnes)
{
    const double nan = std::nan(""), values[] = {0.0, -0.0, nan, 1.0};
    for (int level = OP_PLAIN; level <= op_level(); level++)
        for (const MPI_Op op : {MPI_MIN, MPI_MAX}) {
            double a[16], b[16], to[16];
            for (int i = 0; i < 16; i++) {
                a[i] = values[i / 4];
                b[i] = values[i % 4];
            }
            op_wide_at((op_level_t)level, op, MPI_DOUBLE)(a, b, to, 16);
            op_find(op, MPI_DOUBLE)(a, b, 16);
            EXPECT_EQ(memcmp(to, b, sizeof(b)), 0);
        }
}

TEST(WideKernels, AreLackingWhereTheOperationIsSlowAnyway)
{
    EXPECT_EQ(op_wide_find(MPI_MINLOC, MPI_DOUBLE_INT), nullptr);
    EXPECT_EQ(op_wide_find(MPI_SUM, MPI_LONG_DOUBLE), nullptr);
    EXPECT_EQ(op_wide_find(MPI_LAND, MPI_INT), nullptr);
    EXPECT_EQ(op_wide_find(MPI_BAND, MPI_DOUBLE), nullptr);
    EXPECT_NE(op_wide_find(MPI_SUM, MPI_LONG), nullptr);
}
