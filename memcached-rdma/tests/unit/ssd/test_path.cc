// SPDX-License-Identifier: Apache-2.0
// The value of ext_path. memcached takes "5GB" for zero bytes, and crashes without a size.
#include <gtest/gtest.h>

extern "C" {
#include "ssd/path.h"
}

static uint64_t bytes_of(const char *text)
{
    disk_file_t file;
    char error[DISK_ERROR];
    return disk_file_parse(text, &file, error) ? file.bytes : 0;
}

TEST(Path, every_unit_is_taken_also_with_a_B_behind_it)
{
    EXPECT_EQ(bytes_of("/d/f:64M"), 64ull << 20);
    EXPECT_EQ(bytes_of("/d/f:64m"), 64ull << 20);
    EXPECT_EQ(bytes_of("/d/f:5GB"), 5ull << 30);
    EXPECT_EQ(bytes_of("/d/f:5gb"), 5ull << 30);
    EXPECT_EQ(bytes_of("/d/f:2T"), 2ull << 40);
    EXPECT_EQ(bytes_of("/d/f:1P"), 1ull << 50);
}

TEST(Path, the_file_may_have_colons)
{
    disk_file_t file;
    char error[DISK_ERROR];
    ASSERT_TRUE(disk_file_parse("/dev/disk/by-path/pci-0000:00:04.0:8G", &file, error));
    EXPECT_STREQ(file.path, "/dev/disk/by-path/pci-0000:00:04.0");
}

TEST(Path, no_size_is_ever_zero)
{
    for (const char *wrong :
         {"/d/f", "/d/f:", ":5G", "/d/f:0G", "/d/f:G", "/d/f:5", "/d/f:5K", "/d/f:5GiB", "/d/f:5GBB", "/d/f:-5G",
          "/d/f:5 G", "/d/f:99999999999999999999G", "/d/f:9999999P", "/d/f:0x5G"}) {
        disk_file_t file;
        char error[DISK_ERROR] = "";
        EXPECT_FALSE(disk_file_parse(wrong, &file, error)) << wrong;
        EXPECT_NE(std::string(error).find("give "), std::string::npos) << wrong << ": " << error;
    }
}
