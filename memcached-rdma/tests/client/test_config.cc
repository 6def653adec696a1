// SPDX-License-Identifier: Apache-2.0
// test_config.cc - the text of vmc_open: every row of options.def, and servers.
#include <map>

#include "server.h"

using namespace client_test;

namespace {

struct Row {
    std::string name, standard;
};

const Row ROWS[] = {
#define CLIENT_OPTION(name, value, standard, take, help) {name, standard},
#include "client/options.def"
};

const char *const MS = "give milliseconds, from 1 to 86400000";

/* Wrong values of each option, and the cure that the error has; any name of a file is right. */
const std::map<std::string, std::pair<std::vector<std::string>, std::string>> WRONG = {
    {"timeout", {{"", "0", "86400001", "1x", "-1", " 1"}, MS}},
    {"connect", {{"", "0", "86400001", "1x", "-1", " 1"}, MS}},
    {"key", {{}, ""}},
    {"carrier", {{"", "message", "Auto"}, "give auto, messages or sockets"}},
    {"onesided", {{"", "yes", "ON"}, "give on or off"}},
};

/* "" when the text is accepted, else the error. */
std::string error_of(const std::string &config)
{
    const char *error = nullptr;
    vmc_t *mc = vmc_open(config.c_str(), &error);
    std::string text = mc == nullptr ? error : "";
    vmc_close(mc);
    return text;
}

TEST(Config, each_option_takes_its_default_and_names_the_right_values_for_a_wrong_one)
{
    for (const Row &row : ROWS) {
        SCOPED_TRACE(row.name);
        const auto &[values, cure] = WRONG.at(row.name);
        EXPECT_EQ(error_of("localhost;" + row.name + "=" + row.standard), "");
        for (const std::string &value : values)
            EXPECT_EQ(error_of("localhost;" + row.name + "=" + value), row.name + " '" + value + "': " + cure);
        EXPECT_EQ(error_of("localhost;" + row.name), "option '" + row.name + "': give NAME=VALUE");
    }
}

TEST(Config, an_unknown_option_is_answered_by_the_names_of_all)
{
    std::string names;
    for (const Row &row : ROWS)
        names += (names.empty() ? "" : ", ") + row.name;
    EXPECT_EQ(error_of("localhost;time=5"), "option 'time': there are " + names);
}

TEST(Config, a_wrong_server_is_named_with_the_right_form)
{
    for (const char *right : {"host", "host:1", "[::1]", "[::1]:65535", "fe80::1", "/path", "a:1/?65535,b:2",
                              "[::1]:5,::1,/a/socket;timeout=5;carrier=sockets;key=/k"})
        EXPECT_EQ(error_of(right), "") << right;
    for (const char *wrong : {"host:0", "host:65536", "host:", "[::1", "[::1]x", ":11211"})
        EXPECT_NE(error_of(wrong).find("': give host:port, [v6]:port, or the path of a socket"), std::string::npos)
            << wrong;
    EXPECT_EQ(error_of(""), "server '': give host:port, or the path of a socket");
    EXPECT_EQ(error_of("a/?0"), "weight '0': give a number from 1 to 65535");
    EXPECT_EQ(error_of("a/?65536"), "weight '65536': give a number from 1 to 65535");
    EXPECT_EQ(error_of("a,,b"), "server '': give host:port, or the path of a socket");
}

TEST(Config, a_long_value_leaves_space_for_the_cure)
{
    EXPECT_EQ(error_of("a" + std::string(1024, ',')), "servers 'a" + std::string(99, ',') + "...': at most 1,024");
    EXPECT_EQ(error_of("a;carrier=" + std::string(101, 'x')),
              "carrier '" + std::string(100, 'x') + "...': give auto, messages or sockets");
    EXPECT_EQ(error_of("a;carrier=" + std::string(100, 'x')),
              "carrier '" + std::string(100, 'x') + "': give auto, messages or sockets");
}

} // namespace
