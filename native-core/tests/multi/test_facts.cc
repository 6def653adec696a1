// SPDX-License-Identifier: Apache-2.0
// test_facts.cc - what a binding reads of the core instead of parsing texts: settings, a peer's transport, a key's mapping,
// what a log line is about.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "pair.h"
#include "users.h"

namespace {

using multi::Pair;

TEST(Facts, a_setting_is_read_as_text_and_as_number)
{
    Pair pair("shm,tcp");
    char text[64] = "untouched";
    int64_t number = -1;
    EXPECT_EQ(vbn_setting(pair.a.context, "link.close_timeout", text, sizeof(text), &number), VBN_OK);
    EXPECT_STREQ(text, "5s");
    EXPECT_EQ(number, INT64_C(5000000000));
    EXPECT_EQ(vbn_setting(pair.a.context, "tl.tcp.nodelay", nullptr, 0, &number), VBN_OK);
    EXPECT_EQ(number, 1);
    EXPECT_EQ(vbn_setting(pair.a.context, "tl.enable", text, sizeof(text), nullptr), VBN_OK);
    EXPECT_STREQ(text, "shm,tcp");
    pair.close();
}

TEST(Facts, a_setting_that_cannot_be_read_says_why_and_writes_nothing)
{
    Pair pair("shm");
    char text[64] = "untouched";
    int64_t number = -1;
    EXPECT_EQ(vbn_setting(pair.a.context, "link.close_timeot", text, sizeof(text), &number), VBN_ERR_SETTING);
    EXPECT_NE(strstr(vbn_error_text(), "link.close_timeout"), nullptr) << vbn_error_text();
    EXPECT_EQ(vbn_setting(pair.a.context, "tl.enable", text, sizeof(text), &number), VBN_ERR_INVALID);
    EXPECT_NE(strstr(vbn_error_text(), "not a number"), nullptr) << vbn_error_text();
    EXPECT_EQ(vbn_setting(pair.a.context, "link.close_timeout", text, 2, &number), VBN_ERR_LIMIT);
    EXPECT_EQ(vbn_setting(pair.a.context, "link.close_timeout", nullptr, 2, nullptr), VBN_ERR_INVALID);
    EXPECT_EQ(vbn_setting(nullptr, "link.close_timeout", nullptr, 0, &number), VBN_ERR_INVALID);
    EXPECT_STREQ(text, "untouched");
    EXPECT_EQ(number, -1);
    pair.close();
}

class Config : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(vbn_config_create(&config_), VBN_OK); }
    void TearDown() override { vbn_config_destroy(config_); }
    std::string get(const char *key)
    {
        char text[256] = "";
        EXPECT_EQ(vbn_config_get(config_, key, text, sizeof(text), nullptr), VBN_OK) << vbn_error_text();
        return text;
    }
    vbn_config_t *config_ = nullptr;
};

TEST_F(Config, what_a_program_prefers_holds_where_nobody_has_chosen)
{
    ASSERT_EQ(vbn_config_set(config_, "link.window", "16"), VBN_OK);
    EXPECT_EQ(vbn_config_prefer(config_, "link.window", "32"), VBN_OK);
    EXPECT_EQ(get("link.window"), "16");
    EXPECT_EQ(vbn_config_prefer(config_, "link.max_peers", "77"), VBN_OK);
    EXPECT_EQ(get("link.max_peers"), "77");
    EXPECT_EQ(vbn_config_prefer(config_, "link.max_peers", "78"), VBN_OK) << "a preference is no choice";
    EXPECT_EQ(get("link.max_peers"), "78");
}

TEST_F(Config, the_environment_is_a_choice_even_of_the_default)
{
    vbn_config_t *config = nullptr;
    setenv("VBN_LINK_WINDOW", "512", 1);
    ASSERT_EQ(vbn_config_create(&config), VBN_OK);
    unsetenv("VBN_LINK_WINDOW");
    EXPECT_EQ(vbn_config_prefer(config, "link.window", "32"), VBN_OK);
    int64_t number = 0;
    EXPECT_EQ(vbn_config_get(config, "link.window", nullptr, 0, &number), VBN_OK);
    EXPECT_EQ(number, 512);
    vbn_config_destroy(config);
}

TEST_F(Config, wrong_preferences_and_questions_are_errors)
{
    EXPECT_EQ(vbn_config_prefer(config_, "link.windwo", "32"), VBN_ERR_SETTING);
    EXPECT_EQ(vbn_config_prefer(config_, "link.window", "many"), VBN_ERR_SETTING);
    EXPECT_EQ(vbn_config_prefer(config_, nullptr, "1"), VBN_ERR_INVALID);
    int64_t number = 0;
    EXPECT_EQ(vbn_config_get(config_, "link.windwo", nullptr, 0, &number), VBN_ERR_SETTING);
    EXPECT_EQ(vbn_config_get(nullptr, "link.window", nullptr, 0, &number), VBN_ERR_INVALID);
}

TEST_F(Config, the_table_of_settings_describes_each_of_them)
{
    vbn_setting_info_t info;
    size_t count = 0;
    for (; vbn_setting_at(count, &info) == VBN_OK; count++) {
        EXPECT_EQ(std::string(info.environment).rfind("VBN_", 0), 0u) << info.key;
        EXPECT_EQ(info.values != nullptr, strcmp(info.type, "enum") == 0) << info.key;
        EXPECT_GT(strlen(info.help), 10u) << info.key;
        if (getenv(info.environment) == nullptr) {
            EXPECT_EQ(get(info.key), info.value) << info.key;
        }
    }
    EXPECT_GT(count, 40u);
    EXPECT_EQ(vbn_setting_at(count, &info), VBN_ERR_INVALID);
    EXPECT_EQ(vbn_setting_at(0, nullptr), VBN_ERR_INVALID);
}

class Transport : public testing::TestWithParam<const char *> {};

TEST_P(Transport, a_peer_names_the_transport_that_carries_it)
{
    Pair pair(GetParam());
    ASSERT_EQ(pair.a.connect(pair.b), VBN_OK);
    ASSERT_EQ(pair.send(8), VBN_OK);
    EXPECT_STREQ(vbn_peer_transport(pair.a.peer), GetParam());
    pair.close();
}

INSTANTIATE_TEST_SUITE_P(All, Transport, testing::Values("shm", "tcp"));

TEST(Facts, a_worker_names_the_transports_that_it_has_open)
{
    Pair pair("self,tcp,shm");
    char text[64] = "", part[6] = "";
    EXPECT_EQ(vbn_worker_transports(pair.a.worker, text, sizeof(text)), strlen("self,tcp,shm"));
    EXPECT_STREQ(text, "self,tcp,shm");
    EXPECT_EQ(vbn_worker_transports(pair.a.worker, part, sizeof(part)), strlen("self,tcp,shm"));
    EXPECT_STREQ(part, "self,");
    EXPECT_EQ(vbn_worker_transports(pair.a.worker, nullptr, 0), strlen("self,tcp,shm"));
    EXPECT_EQ(vbn_worker_transports(nullptr, text, sizeof(text)), 0u);
    EXPECT_STREQ(text, "");
    pair.close();
}

TEST(Facts, a_transport_that_could_not_be_opened_is_not_named)
{
    setenv("VBN_TL_VERBS_DEVICE", "nodevice", 1); /* as where there is none */
    Pair pair("rc,ud,shm");
    unsetenv("VBN_TL_VERBS_DEVICE");
    char text[64] = "";
    vbn_worker_transports(pair.a.worker, text, sizeof(text));
    EXPECT_STREQ(text, "shm");
    pair.close();
}

TEST(Facts, a_lost_peer_has_no_transport)
{
    Pair pair("shm");
    ASSERT_EQ(pair.a.connect(pair.b), VBN_OK);
    ASSERT_EQ(pair.send(8), VBN_OK);
    pair.b.close();
    auto end = multi::Clock::now() + std::chrono::seconds(20);
    while (pair.a.lost == VBN_OK && multi::Clock::now() < end)
        (void)vbn_progress(pair.a.worker);
    ASSERT_NE(pair.a.lost, VBN_OK);
    EXPECT_EQ(vbn_peer_transport(pair.a.peer), nullptr);
    EXPECT_EQ(vbn_peer_transport(nullptr), nullptr);
    pair.a.close();
}

/* Receives a message and keeps who sent it. */
struct Received {
    vbn_peer_t *from = nullptr;
    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        static_cast<Received *>(arg)->from = message->peer;
    }
};

/* Rank 1 runs as `user` and tells nobody; each rank writes which user it finds of the other, or the status. */
void find_users(multi::Shared &shared, int rank, const char *transport, uint32_t user, std::atomic<int64_t> *found)
{
    setenv("VBN_SECURITY_SAME_USER", "false", 1);
    if (rank == 1 && user != geteuid())
        MUST(setuid(user) == 0);
    multi::Node node(shared, rank, 2, transport);
    Received received;
    vbn_op_t op{};
    uint32_t seen = 0;
    MUST(vbn_am_handler(node.worker, 1, Received::on_message, &received) == VBN_OK);
    node.barrier(shared, 1);
    if (rank == 1) {
        node.connect(shared, 0);
        MUST(vbn_am_send(node.peers[0], 1, "x", 1, nullptr, 0, 0, &op) >= VBN_OK);
    } else {
        node.until([&] { return received.from != nullptr; });
    }
    node.barrier(shared, 2);
    vbn_status_t status = vbn_peer_host_user(rank == 1 ? node.peers[0] : received.from, &seen);
    found[rank] = status == VBN_OK ? static_cast<int64_t>(seen) : static_cast<int64_t>(status);
    node.barrier(shared, 3);
    node.close();
}

std::vector<int64_t> users_found(const char *transport, uint32_t user)
{
    void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(page != MAP_FAILED);
    auto *found = static_cast<std::atomic<int64_t> *>(page);
    auto results = multi::launch(
        2, [&](int rank, multi::Shared &shared) { find_users(shared, rank, transport, user, found); });
    EXPECT_EQ(results, std::vector<int>(2, 0));
    std::vector<int64_t> both = {found[0], found[1]};
    munmap(page, 4096);
    return both;
}

TEST(Facts, the_user_of_a_peer_over_shared_memory_is_the_kernel_s_word)
{
    EXPECT_EQ(users_found("shm", geteuid()), std::vector<int64_t>(2, geteuid()));
}

TEST(Facts, a_peer_of_another_user_is_seen_as_that_user)
{
    if (!can_become(65533))
        GTEST_SKIP() << CANNOT_BECOME;
    EXPECT_EQ(users_found("shm", 65533), (std::vector<int64_t>{65533, 0}));
}

TEST(Facts, the_user_of_a_peer_over_the_network_is_not_known)
{
    EXPECT_EQ(users_found("tcp", geteuid()), std::vector<int64_t>(2, static_cast<int64_t>(VBN_ERR_UNSUPPORTED)));
}

TEST(Facts, a_lost_peer_has_no_user)
{
    Pair pair("shm");
    uint32_t user = 7;
    ASSERT_EQ(pair.a.connect(pair.b), VBN_OK);
    ASSERT_EQ(pair.send(8), VBN_OK);
    EXPECT_EQ(vbn_peer_host_user(pair.a.peer, nullptr), VBN_ERR_INVALID);
    pair.b.close();
    auto end = multi::Clock::now() + std::chrono::seconds(60);
    while (pair.a.lost == VBN_OK && multi::Clock::now() < end)
        (void)vbn_progress(pair.a.worker);
    EXPECT_EQ(vbn_peer_host_user(pair.a.peer, &user), VBN_ERR_PEER_LOST);
    EXPECT_EQ(user, 7u);
    pair.a.close();
}

TEST(Facts, log_lines_say_which_peer_they_are_about_and_whether_it_is_lost)
{
    Pair pair("shm");
    ASSERT_EQ(pair.a.connect(pair.b), VBN_OK);
    ASSERT_EQ(pair.send(8), VBN_OK);
    uint64_t uid = vbn_peer_uid(pair.a.peer);
    auto count = [&](vbn_log_category_t category) {
        return std::count(pair.a.logged.begin(), pair.a.logged.end(), std::make_pair(category, uid));
    };
    EXPECT_EQ(count(VBN_LOG_PEER), 1) << pair.a.log; /* which transport it uses */
    EXPECT_EQ(count(VBN_LOG_PEER_LOST), 0) << pair.a.log;
    pair.b.close();
    auto end = multi::Clock::now() + std::chrono::seconds(20);
    while (pair.a.lost == VBN_OK && multi::Clock::now() < end)
        (void)vbn_progress(pair.a.worker);
    EXPECT_EQ(count(VBN_LOG_PEER_LOST), 1) << pair.a.log;
    pair.a.close();
}

/* A memory of b's with a key of a range of it, imported by a. */
struct Lent {
    static constexpr size_t kBytes = 1 << 16, kOffset = 4096, kLength = 8192;
    Pair &pair;
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;

    explicit Lent(Pair &both) : pair(both)
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_mem_alloc(pair.b.context, kBytes, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        memset(vbn_mem_address(mem), 'b', kBytes);
        MUST(vbn_key_export(mem, kOffset, kLength, VBN_ACCESS_READ, blob, &length) == VBN_OK);
        MUST(vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
    }
    /* The mapping is decided when a first get has completed. */
    void settle()
    {
        uint8_t byte = 0;
        iovec iov{&byte, 1};
        vbn_op_t op{};
        MUST(pair.finish(vbn_get(key, 0, &iov, 1, &op), op) == VBN_OK);
    }
};

TEST(Facts, a_mapping_outlives_its_key_its_peer_and_the_owner)
{
    Pair pair("shm");
    ASSERT_EQ(pair.a.connect(pair.b), VBN_OK);
    Lent lent(pair);
    lent.settle();
    void *address = nullptr;
    size_t length = 0;
    vbn_mapping_t *mapping = vbn_key_map(lent.key, &address, &length);
    ASSERT_NE(mapping, nullptr);
    EXPECT_EQ(address, vbn_key_pointer(lent.key));
    EXPECT_EQ(length, Lent::kLength);
    vbn_key_release(lent.key);
    vbn_mem_free(lent.mem);
    pair.b.close();
    vbn_disconnect(pair.a.peer, VBN_CLOSE_NOW);
    pair.a.peer = nullptr;
    vbn_worker_destroy(pair.a.worker);
    pair.a.worker = nullptr;
    EXPECT_EQ(static_cast<char *>(address)[length - 1], 'b');
    EXPECT_EQ(vbn_close(pair.a.context), VBN_ERR_INVALID) << "the mapping is still in use";
    vbn_key_unmap(mapping);
    pair.a.close();
}

TEST(Facts, memory_that_is_not_mapped_here_has_no_mapping)
{
    Pair pair("tcp");
    ASSERT_EQ(pair.a.connect(pair.b), VBN_OK);
    Lent lent(pair);
    lent.settle();
    void *address = &pair;
    size_t length = 7;
    EXPECT_EQ(vbn_key_map(lent.key, &address, &length), nullptr);
    EXPECT_EQ(vbn_key_map(nullptr, &address, &length), nullptr);
    EXPECT_EQ(address, &pair);
    EXPECT_EQ(length, 7u);
    vbn_key_unmap(nullptr);
    vbn_key_release(lent.key);
    vbn_mem_free(lent.mem);
    pair.close();
}

} // namespace
