// SPDX-License-Identifier: Apache-2.0
// test_key_file.cc - the default key file of a server: its place, making it, and its other names.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

extern "C" {
#include "util/key_file.h"
}

namespace {

class KeyFileTest : public testing::Test {
protected:
    KeyFileTest()
    {
        char name[] = "/tmp/mc-key-XXXXXX";
        folder_ = mkdtemp(name);
        setenv("XDG_RUNTIME_DIR", name, 1);
    }
    ~KeyFileTest() override { std::filesystem::remove_all(folder_); }
    std::string place(int port)
    {
        char path[512];
        key_server_t server = {port, nullptr};
        EXPECT_TRUE(key_file_place(&server, path, sizeof(path), error_)) << error_;
        return path;
    }
    bool make(const std::string &path) { return key_file_make(path.c_str(), error_); }
    bool share(const std::string &path, const std::string &other)
    {
        return key_file_share(path.c_str(), other.c_str(), error_);
    }
    static std::string text(const std::string &path)
    {
        std::string found;
        std::ifstream(path) >> found;
        return found;
    }
    size_t files()
    {
        auto list = std::filesystem::directory_iterator(folder_ + "/verbena");
        return static_cast<size_t>(std::distance(begin(list), end(list)));
    }

    std::string folder_;
    char error_[KEY_FILE_ERROR] = "";
};

TEST_F(KeyFileTest, IsMadeWithItsFolderAndStaysAsItIs)
{
    std::string path = place(11211);
    EXPECT_EQ(path, folder_ + "/verbena/memcached-11211.key");
    ASSERT_TRUE(make(path)) << error_;
    std::string first = text(path);
    EXPECT_EQ(first.size(), 64u);
    ASSERT_TRUE(make(path)) << error_;
    EXPECT_EQ(text(path), first);
    char found[512];
    key_server_t server = {11211, nullptr};
    ASSERT_TRUE(key_file_find(&server, found, sizeof(found), error_));
    EXPECT_EQ(found, path);
}

TEST_F(KeyFileTest, OneThatCannotBeMadeIsAnErrorWithItsCauseAndCure)
{
    std::ofstream(folder_ + "/file") << "x";
    EXPECT_FALSE(make(folder_ + "/file/key"));
    EXPECT_EQ("key file " + folder_ + "/file/key: Not a directory; name one in a folder that this user may write",
              std::string(error_));
    EXPECT_FALSE(make(folder_ + "/no/folder/key"));
    EXPECT_EQ("key file " + folder_ + "/no/folder/key: No such file or directory; make its folder",
              std::string(error_));
}

TEST_F(KeyFileTest, IsSharedUnderAnotherNameWhateverAProcessThatEndedHasLeft)
{
    std::string path = place(1), other = place(2);
    ASSERT_TRUE(make(path)) << error_;
    std::ofstream(other) << "of an earlier server";
    std::ofstream(other + "." + std::to_string(getpid())) << "left";
    ASSERT_TRUE(share(path, other)) << error_;
    EXPECT_EQ(text(other), text(path));
    ASSERT_TRUE(share(path, other)) << error_; // both names are this file already
    EXPECT_EQ(files(), 3u);
}

} // namespace
