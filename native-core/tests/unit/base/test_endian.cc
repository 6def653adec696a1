// SPDX-License-Identifier: Apache-2.0
// test_endian.cc - little-endian integers at any address.
#include <gtest/gtest.h>

extern "C" {
#include "base/endian.h"
}

namespace {

TEST(Endian, TheLowestByteComesFirstAndNeighboursAreLeftAlone)
{
    uint8_t bytes[10];
    memset(bytes, 0xEE, sizeof(bytes));
    le_put_u16(bytes + 1, 0x0102);
    EXPECT_EQ(0, memcmp(bytes, "\xEE\x02\x01\xEE", 4));
    le_put_u32(bytes + 1, 0x01020304);
    EXPECT_EQ(0, memcmp(bytes, "\xEE\x04\x03\x02\x01\xEE", 6));
    le_put_u64(bytes + 1, 0x0102030405060708);
    EXPECT_EQ(0, memcmp(bytes, "\xEE\x08\x07\x06\x05\x04\x03\x02\x01\xEE", 10));
}

TEST(Endian, WhatWasPutIsGotFromEveryAddress)
{
    uint8_t bytes[16];
    for (unsigned at = 0; at < 8; at++) {
        le_put_u16(bytes + at, 0xFEDC);
        EXPECT_EQ(le_get_u16(bytes + at), 0xFEDC);
        le_put_u32(bytes + at, 0xFEDCBA98);
        EXPECT_EQ(le_get_u32(bytes + at), 0xFEDCBA98);
        le_put_u64(bytes + at, 0xFEDCBA9876543210);
        EXPECT_EQ(le_get_u64(bytes + at), 0xFEDCBA9876543210);
    }
}

} // namespace
