// SPDX-License-Identifier: Apache-2.0
// Values as text, the node map, and PMI-1 against a launcher that follows a script.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "pmi/pmi.h"
}

TEST(Mapping, CountsTheRanksOfANode)
{
    EXPECT_EQ(pmi_mapping_local("(vector,(0,1,4))", 3, 4), 4);
    EXPECT_EQ(pmi_mapping_local("(vector,(0,1,1))", 1, 2), 2); // the vector repeats
    EXPECT_EQ(pmi_mapping_local("(vector,(0,2,2))", 2, 4), 2);
    EXPECT_EQ(pmi_mapping_local("(vector,(0,2,2))", 0, 8), 4);
    EXPECT_EQ(pmi_mapping_local("(vector,(0,1,3),(1,1,1))", 3, 4), 1);
}

// Not one step for each rank: no test of 2^30 ranks would end.
TEST(Mapping, CountsTheRanksOfAnyJob)
{
    const int size = 1 << 30;
    EXPECT_EQ(pmi_mapping_local("(vector,(0,1,1))", 5, size), size);
    EXPECT_EQ(pmi_mapping_local("(vector,(0,3,1),(1,1,2))", 0, size),
              size / 5 + 1); // nodes 0 1 2 1 1, and 0 1 2 1 of the end
    EXPECT_EQ(pmi_mapping_local("(vector,(0,3,1),(1,1,2))", 1, size), size / 5 * 3 + 2);
    EXPECT_EQ(pmi_mapping_node("(vector,(0,3,1),(1,1,2))", size - 1, size), 1);
}

TEST(Mapping, NumbersTheNodes)
{
    const int nodes[] = {0, 0, 1, 1, 0, 0, 1, 1};
    for (int rank = 0; rank < 8; rank++)
        EXPECT_EQ(pmi_mapping_node("(vector,(0,2,2))", rank, 8), nodes[rank]);
    EXPECT_EQ(pmi_mapping_node("(vector,(5,1,1))", 0, 1), 5);
    EXPECT_EQ(pmi_mapping_node("nonsense", 0, 1), -1);
}

TEST(Mapping, RefusesMalformedOnes)
{
    for (const char *text :
         {"", "vector", "(vector", "(vector)", "(vector,(0,0,1))", "(vector,(0,1,-1))", "(vector,(a,b,c))"})
        EXPECT_EQ(pmi_mapping_local(text, 0, 2), 0) << text;
}

// Answers each line that the client sends with the next line of the script, then closes.
class Launcher {
public:
    explicit Launcher(std::vector<std::string> script) : script_(std::move(script))
    {
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_), 0);
        setenv("PMI_FD", std::to_string(fds_[1]).c_str(), 1);
        setenv("PMI_RANK", "1", 1);
        setenv("PMI_SIZE", "2", 1);
        thread_ = std::thread([this] { serve(); });
    }
    ~Launcher()
    {
        shutdown(fds_[1], SHUT_RDWR);
        thread_.join();
        close(fds_[0]);
        close(fds_[1]);
        unsetenv("PMI_FD");
        free(mapping_);
    }
    int open(pmi_t *pmi)
    {
        const int rc = pmi_open(pmi);
        if (rc == 0)
            mapping_ = pmi->mapping; // nobody closes it
        return rc;
    }

private:
    char *mapping_ = nullptr;
    void serve()
    {
        char byte;
        size_t next = 0;
        while (read(fds_[0], &byte, 1) == 1) {
            if (byte != '\n')
                continue;
            if (next == script_.size()) {
                shutdown(fds_[0], SHUT_RDWR);
                return;
            }
            const std::string &line = script_[next++];
            for (char one : line) // in pieces: a line may come in many; a client that has given up closes
                if (send(fds_[0], &one, 1, MSG_NOSIGNAL) != 1)
                    return;
        }
    }
    std::vector<std::string> script_;
    int fds_[2];
    std::thread thread_;
};

static const std::vector<std::string> good = {
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
    "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
    "cmd=appnum appnum=3\n",
    "cmd=universe_size size=-1\n",
    "cmd=my_kvsname kvsname=kvs_7\n",
    "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))\n",
};

TEST(Pmi1, OpensAndReadsWhatTheLauncherSays)
{
    std::vector<std::string> script = good;
    script.push_back("cmd=get_result rc=0 value=4.\n");
    script.push_back("cmd=get_result rc=0 value=YWJj\n");
    script.push_back("cmd=barrier_out\n");
    script.push_back("cmd=finalize_ack\n");
    Launcher launcher(script);
    pmi_t pmi;
    ASSERT_EQ(launcher.open(&pmi), 0) << pmi.error;
    EXPECT_EQ(pmi.rank, 1);
    EXPECT_EQ(pmi.size, 2);
    EXPECT_EQ(pmi.local_size, 2);
    EXPECT_EQ(pmi.appnum, 3);
    EXPECT_EQ(pmi.universe, -1);
    EXPECT_STREQ(pmi.job, "kvs_7");
    char bytes[8];
    size_t length = sizeof(bytes);
    ASSERT_EQ(pmi_get_bytes(&pmi, "k", bytes, &length), 0) << pmi.error; // the value came in two
    EXPECT_EQ(std::string(bytes, length), "abc");
    EXPECT_EQ(pmi_fence(&pmi), 0) << pmi.error;
    pmi.ops->abort(&pmi, 0); // has no answer; the script's next line is the one of close
    char line[64];
    EXPECT_GT(recv(pmi.fd, line, sizeof(line), MSG_PEEK), 0);
}

TEST(Pmi1, AsksForKeysWhileAFenceIsUnderWay)
{
    std::vector<std::string> script = good;
    script.push_back("cmd=get_result rc=-1 msg=key_k_not_found value=unknown\n");
    script.push_back(""); // the fence is not over yet
    script.push_back("cmd=get_result rc=0 value=1\n");
    script.push_back("cmd=barrier_out\ncmd=get_result rc=-1 msg=key_k_not_found\n");
    Launcher launcher(script);
    pmi_t pmi;
    ASSERT_EQ(launcher.open(&pmi), 0) << pmi.error;
    EXPECT_EQ(pmi.ops->has(&pmi, "k"), 0);
    ASSERT_EQ(pmi.ops->fence_start(&pmi), 0);
    EXPECT_EQ(pmi.ops->fence_test(&pmi), 0);
    EXPECT_EQ(pmi.ops->has(&pmi, "k"), 1);
    EXPECT_EQ(pmi.ops->fence_test(&pmi), 0);
    EXPECT_EQ(pmi.ops->has(&pmi, "k"), 0);
    EXPECT_EQ(pmi.ops->fence_test(&pmi), 1);
    EXPECT_EQ(pmi.ops->has(&pmi, "k"), -1); // the launcher has closed
    EXPECT_NE(pmi.error[0], 0);
}

TEST(Pmi1, PutsTheFirstPartOfAValueLast)
{
    std::vector<std::string> keys;
    static std::vector<std::string> *found;
    found = &keys;
    pmi_ops_t ops = {};
    ops.put = [](pmi_t *, const char *key, const char *) {
        found->push_back(key);
        return 0;
    };
    pmi_t pmi = {};
    pmi.ops = &ops;
    pmi.value_max = 64;
    const std::string bytes(120, 'x'); // 160 letters and 4 before them
    ASSERT_EQ(pmi_put_bytes(&pmi, "k", bytes.data(), bytes.size()), 0);
    EXPECT_EQ(keys, (std::vector<std::string>{"k-2", "k-1", "k-0"}));
}

TEST(Pmi1, BytesOfEveryLengthComeBackFromTheirParts)
{
    static std::map<std::string, std::string> values;
    pmi_ops_t ops = {};
    ops.put = [](pmi_t *, const char *key, const char *value) {
        values[key] = value;
        return strcspn(value, " =\n") == strlen(value) ? 0 : -1; // a line of PMI-1 could not carry it
    };
    ops.get = [](pmi_t *, const char *key, char *value, size_t capacity) {
        return values.count(key) == 1 && values[key].copy(value, capacity) < capacity ? 0 : -1;
    };
    pmi_t pmi = {};
    pmi.ops = &ops;
    pmi.value_max = 64;
    std::string bytes;
    for (int i = 0; i < 300; i++, bytes += (char)(i * 37)) {
        char back[300];
        size_t length = sizeof(back);
        values.clear();
        ASSERT_EQ(pmi_put_bytes(&pmi, "k", bytes.data(), bytes.size()), 0);
        ASSERT_EQ(pmi_get_bytes(&pmi, "k", back, &length), 0) << pmi.error;
        ASSERT_EQ(std::string(back, length), bytes);
    }
    EXPECT_EQ(pmi_put_bytes(&pmi, "k", std::string(6140, 'x').data(), 6140), -1);
    EXPECT_STREQ(pmi.error, "put k: 6140 bytes are too many for the launcher");
    EXPECT_EQ(pmi_put_bytes(&pmi, "k", std::string(6139, 'x').data(), 6139), 0);
}

TEST(Pmi1, EachBrokenAnswerIsAnErrorWithAText)
{
    const std::vector<std::string> broken = {"\n", "cmd=nonsense\n", "cmd=\n", "rc=0\n", std::string(9000, 'x')};
    for (size_t at = 0; at + 1 < good.size(); at++) { // the map may be missing
        for (const std::string &line : broken) {
            std::vector<std::string> script(good.begin(), good.begin() + (long)at);
            script.push_back(line);
            Launcher launcher(script);
            pmi_t pmi;
            EXPECT_EQ(launcher.open(&pmi), -1) << at << line.substr(0, 20);
            EXPECT_NE(pmi.error[0], 0);
        }
    }
}

TEST(Pmi1, BrokenValuesAreErrors)
{
    for (const char *value : {"", "5", "x.AAAA", "9.AAAA", "99999.AAAA", "4.A*AA", "2.AAAA"}) {
        std::vector<std::string> script = good;
        for (int i = 0; i < 12; i++)
            script.push_back("cmd=get_result rc=0 value=" + std::string(i == 0 ? value : "") + "\n");
        Launcher launcher(script);
        pmi_t pmi;
        ASSERT_EQ(launcher.open(&pmi), 0);
        char bytes[64];
        size_t length = sizeof(bytes);
        EXPECT_EQ(pmi_get_bytes(&pmi, "k", bytes, &length), -1) << value;
    }
}
