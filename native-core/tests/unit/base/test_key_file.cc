// SPDX-License-Identifier: Apache-2.0
// test_key_file.cc - which files with a key are read, and what is said of the others.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "base/key_file.h"
}

namespace {

constexpr uid_t OTHER = 65533; // a user that nobody is

class KeyFile : public ::testing::Test {
protected:
    KeyFile()
    {
        char name[] = "/tmp/vbn-key-XXXXXX";
        folder_ = mkdtemp(name);
        path_ = folder_ + "/key";
        write(std::string(64, 'a') + "\n");
        mode(0600);
    }
    ~KeyFile() override
    {
        unlink(path_.c_str());
        rmdir(folder_.c_str());
    }
    void write(const std::string &text) { std::ofstream(path_) << text; }
    void mode(mode_t mode) { ASSERT_EQ(0, chmod(path_.c_str(), mode)); }
    /* "" when it is read, else what is said of it, with FILE for its path. */
    std::string said(const std::string &path, bool of_others = false)
    {
        uint8_t key[KEY_FILE_BYTES] = {};
        if (key_file_read(path.c_str(), of_others, key) == VBN_OK) {
            EXPECT_EQ(0xaa, key[0]);
            EXPECT_EQ(0xaa, key[KEY_FILE_BYTES - 1]);
            return "";
        }
        EXPECT_EQ(0, key[0]);
        std::string text = err_text();
        for (size_t at; (at = text.find(path)) != std::string::npos;)
            text.replace(at, path.size(), "FILE");
        return text;
    }
    std::string said() { return said(path_); }

    std::string folder_, path_;
};

} // namespace

TEST_F(KeyFile, one_that_its_owner_writes_and_its_group_reads_is_read)
{
    for (mode_t right : {0600u, 0640u, 0440u, 0400u}) {
        mode(right);
        EXPECT_EQ("", said()) << std::oct << right;
    }
}

TEST_F(KeyFile, one_that_others_read_or_more_than_its_owner_writes_is_refused_with_mode_and_cure)
{
    for (auto &[wrong, text] : {std::pair<mode_t, std::string>{0644, "0644"}, {0604, "0604"}, {0666, "0666"}}) {
        mode(wrong);
        EXPECT_EQ("FILE is mode " + text + ": others can read the key; run: chmod 600 FILE", said());
    }
    for (auto &[wrong, text] :
         {std::pair<mode_t, std::string>{0660, "0660"}, {0620, "0620"}, {0602, "0602"}, {0601, "0601"}}) {
        mode(wrong);
        EXPECT_EQ("FILE is mode " + text + ": more than reading for its group is too much; run: chmod 640 FILE",
                  said());
    }
}

TEST_F(KeyFile, one_of_another_user_is_read_only_where_that_is_asked_for)
{
    if (chown(path_.c_str(), OTHER, static_cast<gid_t>(-1)) != 0)
        GTEST_SKIP() << "no file can be given away here: run the tests as root, with CAP_CHOWN";
    mode(0640);
    EXPECT_EQ("key file FILE: belongs to user 65533, who knows the key; see that this user, or root, owns it (chown)",
              said());
    EXPECT_EQ("", said(path_, true));
    mode(0644);
    EXPECT_EQ("FILE is mode 0644: others can read the key; run: chmod 600 FILE", said(path_, true));
}

TEST_F(KeyFile, what_counts_of_a_link_is_the_file_behind_it)
{
    std::string link = folder_ + "/link";
    ASSERT_EQ(0, symlink("key", link.c_str()));
    EXPECT_EQ("", said(link));
    mode(0644);
    EXPECT_EQ("FILE is mode 0644: others can read the key; run: chmod 600 FILE", said(link));
    unlink(link.c_str());
}

TEST_F(KeyFile, what_is_no_plain_file_is_refused_and_not_waited_for)
{
    std::string pipe = folder_ + "/pipe";
    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
    for (const std::string &path : {pipe, folder_})
        EXPECT_EQ("key file FILE: is no plain file; name another one", said(path));
    unlink(pipe.c_str());
    EXPECT_EQ(
        "key file FILE: No such file or directory; name one that is there, or make one: vbn-info --new-key FILE, or "
        "(umask 077; openssl rand -hex 32 > FILE)",
        said(pipe));
}

TEST_F(KeyFile, anything_but_64_digits_and_the_end_of_a_line_is_no_key)
{
    for (auto end : {"", "\n", "\r\n", " \n"}) {
        write(std::string(64, 'A') + end);
        EXPECT_EQ("", said());
    }
    for (auto &text : {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'g'),
                       std::string(64, 'a') + "\nmore", std::string("\n") + std::string(64, 'a')}) {
        write(text);
        EXPECT_EQ(
            "key file FILE: does not hold 64 hexadecimal digits and nothing else; make one: vbn-info --new-key FILE, or "
            "(umask 077; openssl rand -hex 32 > FILE)",
            said());
    }
}

/* ------------------------------------------------------------------------------------------ making */

TEST_F(KeyFile, a_new_one_is_random_and_its_owners_alone_whatever_the_umask_is)
{
    std::string texts[2];
    for (unsigned i = 0; i < 2; i++) {
        unlink(path_.c_str());
        mode_t before = umask(i == 0 ? 0 : 0277);
        EXPECT_EQ(VBN_OK, key_file_new(path_.c_str())) << err_text();
        umask(before);
        struct stat info;
        ASSERT_EQ(0, stat(path_.c_str(), &info));
        EXPECT_EQ(0600u, info.st_mode & 07777u);
        EXPECT_EQ(1u, info.st_nlink); // the name that it had while it was written is gone
        std::ifstream(path_) >> texts[i];
        uint8_t key[KEY_FILE_BYTES];
        EXPECT_EQ(VBN_OK, key_file_read(path_.c_str(), false, key)) << err_text();
    }
    EXPECT_EQ(64u, texts[0].size());
    EXPECT_NE(texts[0], texts[1]);
}

TEST_F(KeyFile, a_name_that_is_taken_is_not_written_over_nor_through_a_link)
{
    std::string link = folder_ + "/link";
    ASSERT_EQ(0, symlink("nothing", link.c_str()));
    for (const std::string &path : {path_, link, folder_}) {
        EXPECT_EQ(VBN_ERR_IN_USE, key_file_new(path.c_str()));
        EXPECT_EQ("key file " + path +
                      ": is there already, and a key is never written over; remove it first, or name another file",
                  err_text());
    }
    EXPECT_EQ("", said());
    EXPECT_NE(0, access((folder_ + "/nothing").c_str(), F_OK));
    unlink(link.c_str());
    EXPECT_EQ(VBN_ERR_SYSTEM, key_file_new((folder_ + "/missing/key").c_str()));
    EXPECT_EQ("key file " + folder_ +
                  "/missing/key: No such file or directory; name one in a folder that this user may write",
              std::string(err_text()));
}

TEST_F(KeyFile, of_threads_that_make_the_same_one_does_and_nothing_else_is_left)
{
    unlink(path_.c_str());
    std::atomic<unsigned> made{0}, there{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 8; i++)
        threads.emplace_back([&] {
            vbn_status_t status = key_file_new(path_.c_str());
            made += status == VBN_OK;
            there += status == VBN_ERR_IN_USE;
            uint8_t key[KEY_FILE_BYTES];
            EXPECT_EQ(VBN_OK, key_file_read(path_.c_str(), false, key))
                << err_text(); // all of it, as soon as it is there
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(1u, made);
    EXPECT_EQ(7u, there);
    unlink(path_.c_str());
    EXPECT_EQ(0, rmdir(folder_.c_str())) << "another file is left";
    ASSERT_EQ(0, mkdir(folder_.c_str(), 0700));
}
