// SPDX-License-Identifier: Apache-2.0
// test_room.cc - memory in a control group with a limit: it fits, or it fails with the text; nobody is killed. Needs the right to
// make a group (version 1 or 2).
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>

#include "launch.h"

namespace {

constexpr size_t MIB = 1 << 20;
constexpr size_t LIMIT = 200 * MIB;

std::string read_line(const std::string &path)
{
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

bool write(const std::string &path, const std::string &text)
{
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
}

/* A group below that of version 1's memory controller, or of version 2; empty where none may be made. */
class Group {
public:
    std::string path;

    Group()
    {
        bool separate = access("/sys/fs/cgroup/memory/cgroup.procs", F_OK) == 0;
        path = std::string(separate ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup") + "/vbn-test-" +
               std::to_string(getpid());
        std::string limit = path + (separate ? "/memory.limit_in_bytes" : "/memory.max");
        if (mkdir(path.c_str(), 0700) != 0 || !write(limit, std::to_string(LIMIT)) ||
            read_line(limit) != std::to_string(LIMIT)) {
            rmdir(path.c_str());
            path.clear();
        }
    }
    ~Group()
    {
        for (int i = 0; !path.empty() && i < 600 && rmdir(path.c_str()) != 0; i++)
            usleep(100000); /* its last process is still being ended */
    }
    Group(const Group &) = delete;
    Group &operator=(const Group &) = delete;
};

vbn_context_t *open_context()
{
    vbn_config_t *config;
    vbn_context_t *context;
    uint8_t key[VBN_JOB_KEY_BYTES] = {1};
    MUST(vbn_config_create(&config) == VBN_OK && vbn_config_set_job_key(config, key) == VBN_OK);
    MUST(vbn_open(config, &context) == VBN_OK);
    vbn_config_destroy(config);
    return context;
}

bool text_is_right()
{
    std::string text = vbn_error_text();
    return text.find("control group") != std::string::npos && text.find("raise that limit") != std::string::npos;
}

enum Way { ALLOC, COMMIT };

/* 0: all of it is there; 1: refused, with the text; 2: refused, another text. */
int take(Way way, size_t bytes)
{
    vbn_context_t *context = open_context();
    vbn_mem_t *mem = nullptr;
    MUST(vbn_mem_room() < LIMIT);
    vbn_status_t status = way == ALLOC ? vbn_mem_alloc(context, bytes, VBN_BACKING_MEMFD, nullptr, &mem)
                                       : vbn_mem_reserve(context, bytes, &mem);
    if (status == VBN_OK && way == COMMIT)
        status = vbn_mem_commit(mem, 0, bytes);
    if (status == VBN_OK && way == COMMIT)
        MUST(vbn_mem_commit(mem, 0, bytes) == VBN_OK); /* again: it is there */
    if (status == VBN_OK)
        memset(vbn_mem_address(mem), 1, bytes);
    return status == VBN_OK ? 0 : status == VBN_ERR_NO_MEMORY && text_is_right() ? 1 : 2;
}

/* How each child ended, once all have asked or ended, and were told to end by the end of `keep`. */
std::vector<int> ends(const std::vector<pid_t> &children, int done, int keep)
{
    std::vector<int> codes(children.size(), -1);
    size_t asked = 0, ended = 0;
    while (ended < children.size()) {
        pollfd fd{done, POLLIN, 0};
        char byte;
        if (poll(&fd, asked < children.size() ? 1 : 0, 10) == 1 && read(done, &byte, 1) == 1)
            asked++;
        for (size_t i = 0; i < children.size(); i++) {
            int status = 0;
            if (codes[i] >= 0 || waitpid(children[i], &status, WNOHANG) != children[i])
                continue;
            codes[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
            ended++;
            asked += keep >= 0; /* one that was killed has not said that it asked */
        }
        if (keep >= 0 && asked >= children.size()) {
            close(keep);
            keep = -1;
        }
    }
    return codes;
}

/* `count` processes of the group ask for `bytes` each, all at once, and keep what they get until all have asked. */
std::vector<int> ask(const Group &group, int count, Way way, size_t bytes)
{
    int go[2], keep[2], done[2];
    std::vector<pid_t> children;
    MUST(pipe(go) == 0 && pipe(keep) == 0 && pipe(done) == 0);
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            char byte = 0;
            close(go[1]);
            close(keep[1]);
            MUST(write(group.path + "/cgroup.procs", std::to_string(getpid())));
            MUST(read(go[0], &byte, 1) == 0);
            int code = take(way, bytes);
            MUST(::write(done[1], &byte, 1) == 1);
            MUST(read(keep[0], &byte, 1) == 0);
            _exit(code);
        }
        children.push_back(child);
    }
    close(go[1]);
    close(done[1]);
    std::vector<int> codes = ends(children, done[0], keep[1]);
    close(go[0]);
    close(keep[0]);
    close(done[0]);
    return codes;
}

class InAGroup : public ::testing::TestWithParam<Way> {
protected:
    Group group;
    void SetUp() override
    {
        if (group.path.empty())
            GTEST_SKIP()
                << "cannot make a control group with a limit of memory: run as root, where /sys/fs/cgroup is writable and has "
                   "the memory controller";
    }
};

TEST_P(InAGroup, what_is_beyond_the_limit_is_refused_with_the_text)
{
    EXPECT_EQ(ask(group, 1, GetParam(), 2 * LIMIT), std::vector<int>{1});
}

TEST_P(InAGroup, what_fits_is_there)
{
    EXPECT_EQ(ask(group, 1, GetParam(), LIMIT / 4), std::vector<int>{0});
}

TEST_P(InAGroup, processes_that_ask_at_once_do_not_overrun_it_together)
{
    std::vector<int> codes = ask(group, 4, GetParam(), LIMIT * 2 / 5);
    EXPECT_GE(std::count(codes.begin(), codes.end(), 0), 1);
    for (int code : codes)
        EXPECT_TRUE(code == 0 || code == 1) << code;
}

INSTANTIATE_TEST_SUITE_P(Ways, InAGroup, ::testing::Values(ALLOC, COMMIT),
                         [](const auto &test) { return std::string(test.param == ALLOC ? "alloc" : "commit"); });

} // namespace
