// SPDX-License-Identifier: Apache-2.0
// Datatypes against a slow reference, which lists every byte: layouts, packing from any byte on, signatures, bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

extern "C" {
#include "dt/data.h"
int mpi_Type_contiguous(MPI_Count, MPI_Datatype, MPI_Datatype *);
int mpi_Type_vector(MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype *);
int mpi_Type_create_hvector(MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype *);
int mpi_Type_create_hindexed(MPI_Count, const MPI_Count *, const MPI_Count *, MPI_Datatype, MPI_Datatype *);
int mpi_Type_create_indexed_block(MPI_Count, MPI_Count, const MPI_Count *, MPI_Datatype, MPI_Datatype *);
int mpi_Type_create_struct(MPI_Count, const MPI_Count *, const MPI_Count *, const MPI_Datatype *, MPI_Datatype *);
int mpi_Type_create_subarray(int, const MPI_Count *, const MPI_Count *, const MPI_Count *, int, MPI_Datatype,
                             MPI_Datatype *);
int mpi_Type_create_darray(int, int, int, const MPI_Count *, const int *, const int *, const int *, int, MPI_Datatype,
                           MPI_Datatype *);
int mpi_Type_create_resized(MPI_Datatype, MPI_Count, MPI_Count, MPI_Datatype *);
int mpi_Type_dup(MPI_Datatype, MPI_Datatype *);
int mpi_Type_commit(MPI_Datatype *);
int mpi_Type_free(MPI_Datatype *);
}

namespace {
struct Element {
    MPI_Aint at;
    size_t size;
    size_t align;
};

// The type map as the standard defines it, and the bounds.
struct Map {
    std::vector<Element> elements;
    MPI_Aint lb = 0;
    MPI_Aint extent = 0;
    bool sticky = false;
};

struct Type {
    MPI_Datatype handle;
    Map map;
};

Type basic(MPI_Datatype handle)
{
    const dt_type_t *type = dt_find(handle);
    return {handle, {{{0, type->size, type->align}}, 0, (MPI_Aint)type->extent, false}};
}

// What a constructor repeats, and where.
struct Copy {
    const Map *map;
    MPI_Aint at;
};

Map join(const std::vector<Copy> &copies)
{
    Map made;
    bool any = false;
    MPI_Aint ub = 0;
    size_t align = 1;
    for (const Copy &copy : copies)
        made.sticky = made.sticky || copy.map->sticky;
    for (const Copy &copy : copies) {
        for (const Element &one : copy.map->elements) {
            made.elements.push_back({copy.at + one.at, one.size, one.align});
            align = std::max(align, one.align);
        }
        if (copy.map->sticky != made.sticky || (copy.map->elements.empty() && !copy.map->sticky))
            continue;
        const MPI_Aint low = copy.at + copy.map->lb;
        const MPI_Aint high = low + copy.map->extent;
        made.lb = any ? std::min(made.lb, low) : low;
        ub = any ? std::max(ub, high) : high;
        any = true;
    }
    made.extent = any ? ub - made.lb : 0;
    while (!made.sticky && made.extent % (MPI_Aint)align != 0)
        made.extent++;
    return made;
}

class Random {
public:
    explicit Random(unsigned seed) : engine(seed) {}
    MPI_Count from(MPI_Count low, MPI_Count high) { return low + (MPI_Count)(engine() % (unsigned)(high - low + 1)); }

    // A type of random constructors, a few levels deep.
    Type type(int depth)
    {
        static const MPI_Datatype basics[] = {MPI_CHAR,        MPI_SHORT,      MPI_INT,      MPI_DOUBLE,
                                              MPI_LONG_DOUBLE, MPI_DOUBLE_INT, MPI_SHORT_INT};
        if (depth == 0) {
            const MPI_Datatype handle = basics[from(0, 6)];
            Type made = basic(handle);
            if (handle == MPI_DOUBLE_INT)
                made.map.elements = {{0, 8, 8}, {8, 4, 4}};
            if (handle == MPI_SHORT_INT)
                made.map.elements = {{0, 2, 2}, {4, 4, 4}};
            return made;
        }
        Type old = type(depth - 1);
        Type made = derive(old, depth);
        release(old);
        return made;
    }

    static void release(Type &type)
    {
        if (!dt_find(type.handle)->is_fixed) {
            EXPECT_EQ(mpi_Type_free(&type.handle), MPI_SUCCESS);
        }
    }

private:
    Type derive(const Type &old, int depth)
    {
        switch (from(0, 8)) {
        case 0: return contiguous(old);
        case 1: return vector(old, old.map.extent, true);
        case 2: return vector(old, 1, false);
        case 3: return hindexed(old);
        case 4: return indexed_block(old);
        case 5: return structure(old, depth);
        case 6: return subarray(old);
        case 7: return resized(old);
        default: return dup(old);
        }
    }
    static void repeat(std::vector<Copy> &copies, const Map &map, MPI_Aint at, MPI_Count length)
    {
        for (MPI_Count k = 0; k < length; k++)
            copies.push_back({&map, at + (MPI_Aint)k * map.extent});
    }
    Type contiguous(const Type &old)
    {
        Type made{};
        std::vector<Copy> copies;
        const MPI_Count count = from(0, 4);
        repeat(copies, old.map, 0, count);
        EXPECT_EQ(mpi_Type_contiguous(count, old.handle, &made.handle), MPI_SUCCESS);
        made.map = join(copies);
        return made;
    }
    Type vector(const Type &old, MPI_Aint unit, bool elements)
    {
        Type made{};
        std::vector<Copy> copies;
        const MPI_Count count = from(0, 4), length = from(0, 3), stride = from(-6, 6) * (elements ? 1 : 5);
        for (MPI_Count i = 0; i < count; i++)
            repeat(copies, old.map, (MPI_Aint)(i * stride) * unit, length);
        EXPECT_EQ(
            (elements ? mpi_Type_vector : mpi_Type_create_hvector)(count, length, stride, old.handle, &made.handle),
            MPI_SUCCESS);
        made.map = join(copies);
        return made;
    }
    Type hindexed(const Type &old)
    {
        Type made{};
        std::vector<Copy> copies;
        MPI_Count lengths[5], displs[5];
        const MPI_Count count = from(0, 5);
        for (MPI_Count i = 0; i < count; i++) {
            lengths[i] = from(0, 3);
            displs[i] = from(-40, 40);
            repeat(copies, old.map, (MPI_Aint)displs[i], lengths[i]);
        }
        EXPECT_EQ(mpi_Type_create_hindexed(count, lengths, displs, old.handle, &made.handle), MPI_SUCCESS);
        made.map = join(copies);
        return made;
    }
    Type indexed_block(const Type &old)
    {
        Type made{};
        std::vector<Copy> copies;
        MPI_Count displs[5];
        const MPI_Count count = from(0, 5), length = from(0, 3);
        for (MPI_Count i = 0; i < count; i++) {
            displs[i] = from(0, 12);
            repeat(copies, old.map, (MPI_Aint)displs[i] * old.map.extent, length);
        }
        EXPECT_EQ(mpi_Type_create_indexed_block(count, length, displs, old.handle, &made.handle), MPI_SUCCESS);
        made.map = join(copies);
        return made;
    }
    Type structure(const Type &old, int depth)
    {
        Type made{};
        Type others[2] = {type(0), type(std::max(0, depth - 2))};
        const Type *members[3] = {&old, &others[0], &others[1]};
        std::vector<Copy> copies;
        MPI_Count lengths[3], displs[3];
        MPI_Datatype types[3];
        for (int i = 0; i < 3; i++) {
            lengths[i] = from(0, 2);
            displs[i] = from(-30, 60);
            types[i] = members[i]->handle;
            repeat(copies, members[i]->map, (MPI_Aint)displs[i], lengths[i]);
        }
        EXPECT_EQ(mpi_Type_create_struct(3, lengths, displs, types, &made.handle), MPI_SUCCESS);
        made.map = join(copies);
        for (Type &other : others)
            release(other);
        return made;
    }
    Type subarray(const Type &old)
    {
        Type made{};
        std::vector<Copy> copies;
        MPI_Count sizes[2], subs[2], starts[2];
        for (int i = 0; i < 2; i++) {
            sizes[i] = from(1, 4);
            subs[i] = from(1, sizes[i]);
            starts[i] = from(0, sizes[i] - subs[i]);
        }
        for (MPI_Count y = 0; y < subs[0]; y++)
            repeat(copies, old.map, (MPI_Aint)((starts[0] + y) * sizes[1] + starts[1]) * old.map.extent, subs[1]);
        EXPECT_EQ(mpi_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_C, old.handle, &made.handle), MPI_SUCCESS);
        made.map = join(copies);
        made.map.lb = 0;
        made.map.extent = (MPI_Aint)(sizes[0] * sizes[1]) * old.map.extent;
        made.map.sticky = true;
        return made;
    }
    Type resized(const Type &old)
    {
        Type made{};
        made.map = old.map;
        made.map.lb = (MPI_Aint)from(-20, 20);
        made.map.extent = (MPI_Aint)from(0, 60);
        made.map.sticky = true;
        EXPECT_EQ(mpi_Type_create_resized(old.handle, made.map.lb, made.map.extent, &made.handle), MPI_SUCCESS);
        return made;
    }
    static Type dup(const Type &old)
    {
        Type made{};
        made.map = old.map;
        EXPECT_EQ(mpi_Type_dup(old.handle, &made.handle), MPI_SUCCESS);
        return made;
    }
    std::mt19937 engine;
};

// Memory that holds count elements of a type, wherever its bytes lie.
struct Memory {
    std::vector<unsigned char> bytes;
    MPI_Aint low = 0; // address of bytes[0]
    Memory(const Map &map, size_t count)
    {
        MPI_Aint high = 1;
        for (size_t i = 0; i < count; i++)
            for (const Element &one : map.elements) {
                const MPI_Aint at = (MPI_Aint)i * map.extent + one.at;
                low = std::min(low, at);
                high = std::max(high, at + (MPI_Aint)one.size);
            }
        bytes.resize((size_t)(high - low));
    }
    unsigned char *at(MPI_Aint address) { return bytes.data() + (address - low); }
};

std::vector<unsigned char> packed_slowly(const Map &map, size_t count, Memory &memory)
{
    std::vector<unsigned char> packed;
    for (size_t i = 0; i < count; i++)
        for (const Element &one : map.elements)
            for (size_t k = 0; k < one.size; k++)
                packed.push_back(*memory.at((MPI_Aint)i * map.extent + one.at + (MPI_Aint)k));
    return packed;
}

void check_bounds(const Type &made)
{
    const dt_type_t *type = dt_find(made.handle);
    size_t size = 0;
    MPI_Aint low = 0, high = 0;
    for (const Element &one : made.map.elements) {
        low = size == 0 ? one.at : std::min(low, one.at);
        high = size == 0 ? one.at + (MPI_Aint)one.size : std::max(high, one.at + (MPI_Aint)one.size);
        size += one.size;
    }
    EXPECT_EQ(type->size, size);
    EXPECT_EQ(type->sig->bytes, size);
    EXPECT_EQ(type->sig->elements, made.map.elements.size());
    EXPECT_EQ(type->lb, made.map.lb);
    EXPECT_EQ((MPI_Aint)type->extent, made.map.extent);
    EXPECT_EQ(type->node->low, low);
    EXPECT_EQ(type->node->high, high);
}

// Elements overlap in some random types: then the bytes of the later ones stay, as in the reference.
void check_moves(const Type &made, size_t count)
{
    Memory memory(made.map, count);
    for (size_t i = 0; i < memory.bytes.size(); i++)
        memory.bytes[i] = (unsigned char)(i * 7 + 1);
    const std::vector<unsigned char> wanted = packed_slowly(made.map, count, memory);
    MPI_Datatype handle = made.handle;
    dt_data_t data;
    ASSERT_EQ(mpi_Type_commit(&handle), MPI_SUCCESS);
    ASSERT_EQ(dt_describe(&data, memory.at(0), (MPI_Count)count, handle), MPI_SUCCESS);
    ASSERT_EQ(data.bytes, wanted.size());
    for (size_t split = 0; split <= wanted.size(); split++) {
        std::vector<unsigned char> packed(wanted.size() + 1);
        dt_pack(&data, 0, packed.data(), split);
        dt_pack(&data, split, packed.data() + split, wanted.size() - split);
        packed.pop_back();
        ASSERT_EQ(packed, wanted) << "split at " << split;
        Memory other(made.map, count), slow(made.map, count);
        dt_data_t target = data;
        target.base = (char *)data.base - (char *)memory.bytes.data() + (char *)other.bytes.data();
        dt_unpack(&target, 0, wanted.data(), split);
        dt_unpack(&target, split, wanted.data() + split, wanted.size() - split);
        size_t from = 0;
        for (size_t i = 0; i < count; i++)
            for (const Element &one : made.map.elements)
                for (size_t k = 0; k < one.size; k++)
                    *slow.at((MPI_Aint)i * made.map.extent + one.at + (MPI_Aint)k) = wanted[from++];
        ASSERT_EQ(other.bytes, slow.bytes) << "split at " << split;
    }
}

void check_io(const Type &made, size_t count)
{
    Memory memory(made.map, count);
    for (size_t i = 0; i < memory.bytes.size(); i++)
        memory.bytes[i] = (unsigned char)(i * 11 + 3);
    dt_data_t data;
    ASSERT_EQ(dt_describe(&data, memory.at(0), (MPI_Count)count, made.handle), MPI_SUCCESS);
    if (data.type == NULL)
        return;
    dt_io_t io;
    size_t pieces;
    const struct iovec *list = dt_io_begin(&io, &data, &pieces);
    std::vector<unsigned char> found(data.bytes);
    size_t at = 0;
    if (pieces == VBN_PACK) {
        ASSERT_EQ(io.pack.length, data.bytes);
        for (; at < data.bytes; at += std::min<size_t>(5, data.bytes - at))
            io.pack.pack(io.pack.arg, at, found.data() + at, std::min<size_t>(5, data.bytes - at));
    }
    for (size_t i = 0; pieces != VBN_PACK && i < pieces; i++) {
        memcpy(found.data() + at, list[i].iov_base, list[i].iov_len);
        at += list[i].iov_len;
    }
    EXPECT_EQ(at, data.bytes);
    EXPECT_EQ(found, packed_slowly(made.map, count, memory));
}

void check_signature(const Type &made)
{
    const dt_sig_t *sig = dt_find(made.handle)->sig;
    const std::vector<Element> &elements = made.map.elements;
    if (elements.empty())
        return;
    size_t bytes = 0, count = 0;
    for (int round = 0; round < 2; round++)
        for (const Element &one : elements) {
            ASSERT_EQ(dt_sig_elements(sig, bytes), (MPI_Count)count);
            ASSERT_EQ(dt_sig_bytes(sig, count), (MPI_Count)bytes);
            if (one.size > 1) {
                ASSERT_EQ(dt_sig_elements(sig, bytes + 1), -1);
            }
            bytes += one.size;
            count++;
        }
}

TEST(Datatype, RandomTypesAgreeWithTheirTypeMaps)
{
    for (unsigned seed = 0; seed < 1500; seed++) {
        SCOPED_TRACE(seed);
        Random random(seed);
        Type made = random.type((int)random.from(1, 4));
        if (made.map.elements.size() <= 300) {
            const size_t count = (size_t)random.from(0, 3);
            check_bounds(made);
            check_moves(made, count);
            check_io(made, count);
            check_signature(made);
        }
        Random::release(made);
        ASSERT_FALSE(::testing::Test::HasFailure());
    }
}

// Every element of the array belongs to the process that the distribution says, in the order of the array.
TEST(Datatype, DarraysOfAGridCoverTheArrayOnce)
{
    const MPI_Count gsizes[] = {7, 5, 6};
    const int psizes[] = {2, 3, 1};
    const int kinds[][3] = {{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE},
                            {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK},
                            {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}};
    const int dargs[][3] = {
        {MPI_DISTRIBUTE_DFLT_DARG, 2, MPI_DISTRIBUTE_DFLT_DARG}, {3, MPI_DISTRIBUTE_DFLT_DARG, 6}, {2, 2, 4}};
    for (int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
        for (int k = 0; k < 3; k++) {
            int owner[210];
            for (int i = 0; i < 210; i++) {
                const int c[3] = {order == MPI_ORDER_C ? i / 30 : i % 7, order == MPI_ORDER_C ? i / 6 % 5 : i / 7 % 5,
                                  order == MPI_ORDER_C ? i % 6 : i / 35};
                int rank = 0;
                for (int d = 0; d < 3; d++) {
                    const int g = (int)gsizes[d], p = psizes[d];
                    const int dflt = kinds[k][d] == MPI_DISTRIBUTE_CYCLIC ? 1 : (g + p - 1) / p;
                    const int block = kinds[k][d] == MPI_DISTRIBUTE_NONE        ? g
                                      : dargs[k][d] == MPI_DISTRIBUTE_DFLT_DARG ? dflt
                                                                                : dargs[k][d];
                    rank = rank * p + c[d] / block % p;
                }
                owner[i] = rank;
            }
            for (int rank = 0; rank < 6; rank++) {
                MPI_Datatype made;
                ASSERT_EQ(mpi_Type_create_darray(6, rank, 3, gsizes, kinds[k], dargs[k], psizes, order, MPI_INT, &made),
                          MPI_SUCCESS);
                std::vector<int> wanted, array(210);
                for (int i = 0; i < 210; i++) {
                    array[(size_t)i] = i;
                    if (owner[i] == rank)
                        wanted.push_back(i);
                }
                dt_data_t data;
                ASSERT_EQ(mpi_Type_commit(&made), MPI_SUCCESS);
                ASSERT_EQ(dt_describe(&data, array.data(), 1, made), MPI_SUCCESS);
                std::vector<int> packed(data.bytes / sizeof(int));
                dt_pack(&data, 0, packed.data(), data.bytes);
                EXPECT_EQ(packed, wanted) << "kind " << k << " rank " << rank << " order " << order;
                EXPECT_EQ(dt_find(made)->extent, 210 * sizeof(int));
                EXPECT_EQ(mpi_Type_free(&made), MPI_SUCCESS);
            }
        }
}

// Short messages look at this number alone (p2p/direct.c).
TEST(Datatype, PlainPredefinedTypesSaySoByTheirSize)
{
    size_t plain = 0;
    for (const dt_type_t &type : dt_predefined) {
        const bool is_plain = type.name != nullptr && !type.absent && dt_is_plain(&type);
        EXPECT_EQ(type.plain, is_plain ? type.size : 0) << (type.name != nullptr ? type.name : "no type");
        plain += is_plain;
    }
    EXPECT_GT(plain, 40u);
    EXPECT_EQ(dt_find(MPI_SHORT_INT)->plain, 0u); // a gap lies between its numbers
}

// What says the same has the same, simplest node.
TEST(Datatype, NodesAreSimplified)
{
    MPI_Datatype pairs, regular, row;
    const MPI_Count displs[] = {0, 3, 6, 9}, ones[] = {1, 1, 1, 1};
    ASSERT_EQ(mpi_Type_contiguous(2, MPI_INT, &pairs), MPI_SUCCESS);
    ASSERT_EQ(mpi_Type_contiguous(5, pairs, &row), MPI_SUCCESS);
    EXPECT_TRUE(dt_is_plain(dt_find(row)));
    ASSERT_EQ(mpi_Type_create_indexed_block(4, 1, displs, pairs, &regular), MPI_SUCCESS);
    EXPECT_EQ(dt_find(regular)->node->shape, DT_RUNS);
    EXPECT_EQ(dt_find(regular)->node->count, 4u);
    EXPECT_EQ(dt_find(regular)->node->stride, 24);
    EXPECT_EQ(dt_find(regular)->sig->n, 1u);
    for (MPI_Datatype *one : {&pairs, &row, &regular})
        EXPECT_EQ(mpi_Type_free(one), MPI_SUCCESS);
    const MPI_Count touching[] = {0, 4, 8, 12};
    ASSERT_EQ(mpi_Type_create_hindexed(4, ones, touching, MPI_INT, &row), MPI_SUCCESS);
    EXPECT_TRUE(dt_is_plain(dt_find(row)));
    EXPECT_EQ(mpi_Type_free(&row), MPI_SUCCESS);
}

// An element is as long as its extent, also where displacements are not aligned: else mpi4py's util.dtlib finds no room for it.
TEST(Datatype, BoundsHoldThePaddingOfTheOldType)
{
    MPI_Datatype row, made;
    ASSERT_EQ(mpi_Type_create_hvector(3, 4, 25, MPI_INT32_T, &row), MPI_SUCCESS);
    EXPECT_EQ(dt_find(row)->extent, 68u); // 66 bytes of data
    ASSERT_EQ(mpi_Type_create_hvector(2, 3, 273, row, &made), MPI_SUCCESS);
    EXPECT_EQ(dt_find(made)->extent, 480u); // 273 + 3 * 68, rounded up
    EXPECT_EQ(mpi_Type_free(&made), MPI_SUCCESS);
    EXPECT_EQ(mpi_Type_free(&row), MPI_SUCCESS);
}

TEST(Datatype, TypesBeyondAnAddressSpaceAreRefused)
{
    MPI_Datatype made, large;
    const MPI_Count far[] = {INT64_MAX, INT64_MIN}, ones[] = {1, 1};
    ASSERT_EQ(mpi_Type_contiguous((MPI_Count)1 << 59, MPI_DOUBLE, &large), MPI_SUCCESS);
    EXPECT_EQ(dt_find(large)->size, (size_t)1 << 62);
    EXPECT_EQ(mpi_Type_contiguous(4, large, &made), MPI_ERR_ARG);
    EXPECT_EQ(mpi_Type_vector(3, 1, 2, large, &made), MPI_ERR_ARG);
    EXPECT_EQ(mpi_Type_contiguous(INT64_MAX, MPI_DOUBLE, &made), MPI_ERR_ARG);
    EXPECT_EQ(mpi_Type_create_hindexed(2, ones, far, MPI_INT, &made), MPI_ERR_ARG);
    EXPECT_EQ(mpi_Type_create_resized(MPI_INT, INT64_MAX, 1, &made), MPI_ERR_ARG);
    dt_data_t data;
    ASSERT_EQ(mpi_Type_commit(&large), MPI_SUCCESS);
    EXPECT_EQ(dt_describe(&data, nullptr, 2, large), MPI_ERR_COUNT);
    EXPECT_EQ(dt_describe(&data, nullptr, -1, large), MPI_ERR_COUNT);
    EXPECT_EQ(mpi_Type_free(&large), MPI_SUCCESS);
}
} // namespace
