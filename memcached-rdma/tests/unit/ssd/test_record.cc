// SPDX-License-Identifier: Apache-2.0
// Records: what is read is what was written, at this place, in this page's version, by this start.
#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "ssd/record.h"
}

static const uint64_t INSTANCE = 0x1234567890abcdef;

static std::string make(const place_t &place, const std::string &key, const std::string &value)
{
    disk_item_t item = {};
    item.key = key.data();
    item.key_bytes = (uint32_t)key.size();
    item.value = value.data();
    item.value_bytes = (uint32_t)value.size();
    item.client_flags = 7;
    item.created = 11;
    item.expiry = 12;
    item.cas = 13;
    item.marks = 2;
    record_t record;
    record_make(&record, INSTANCE, &place, &item);
    std::string bytes((const char *)&record, sizeof(record));
    bytes += key + value;
    bytes.resize(record_bytes(key.size(), value.size()));
    return bytes;
}

TEST(Record, all_of_an_item_comes_back)
{
    place_t place = {3, 4, 64, 5};
    std::string bytes = make(place, "key", "value");
    disk_item_t item;
    ASSERT_TRUE(record_read(bytes.data(), bytes.size(), INSTANCE, &place, &item));
    EXPECT_EQ(std::string(item.key, item.key_bytes), "key");
    EXPECT_EQ(std::string(item.value, item.value_bytes), "value");
    EXPECT_EQ(item.client_flags, 7u);
    EXPECT_EQ(item.created, 11u);
    EXPECT_EQ(item.expiry, 12u);
    EXPECT_EQ(item.cas, 13u);
    EXPECT_EQ(item.marks, 2u);
    EXPECT_EQ(record_claims(bytes.data()), bytes.size());
}

TEST(Record, another_place_version_or_start_is_refused)
{
    place_t place = {3, 4, 64, 5};
    std::string bytes = make(place, "key", "value");
    disk_item_t item;
    place_t page = {2, 4, 64, 5}, version = {3, 5, 64, 5}, offset = {3, 4, 72, 5}, length = {3, 4, 64, 4};
    for (const place_t &other : {page, version, offset, length})
        EXPECT_FALSE(record_read(bytes.data(), bytes.size(), INSTANCE, &other, &item));
    EXPECT_FALSE(record_read(bytes.data(), bytes.size(), INSTANCE + 1, &place, &item));
}

TEST(Record, every_changed_bit_and_every_cut_is_refused)
{
    place_t place = {3, 4, 64, 5};
    std::string bytes = make(place, "key", "value");
    disk_item_t item;
    size_t used = sizeof(record_t) + 8;
    for (size_t i = 0; i < used * 8; i++) {
        std::string changed = bytes;
        changed[i / 8] = (char)(changed[i / 8] ^ 1 << i % 8);
        EXPECT_FALSE(record_read(changed.data(), changed.size(), INSTANCE, &place, &item)) << i;
    }
    for (size_t i = 0; i < used; i++)
        EXPECT_FALSE(record_read(bytes.data(), i, INSTANCE, &place, &item)) << i;
}
