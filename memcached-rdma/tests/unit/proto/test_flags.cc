// SPDX-License-Identifier: Apache-2.0
// test_flags.cc - every row of flags.def with every command that has flags.
#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "proto/meta.h"
#include "proto/text.h"
}

namespace {

const char *const COMMANDS[] = {"mg YQ== ", "ms YQ== 2 ", "md YQ== ", "ma YQ== "};

struct Line {
    std::string text;
    request_t request;
    explicit Line(const std::string &line) : text(line) { text_parse(text.data(), text.size(), &request); }
    std::string error() const { return request.kind == REQUEST_ERROR ? request.error : ""; }
};

enum Token { KEY, SWITCH, ASKS, SECONDS, NUMBER, MODE, OPAQUE, UNUSED };

struct Row {
    char letter;
    Token token;
    std::string wrong;
    bool (*kept)(const meta_t &meta);
    std::string with(const std::string &text) const { return letter + text; }
};

/* Whether the member has the token that `right` gives. */
bool is_kept(bool member)
{
    return member;
}
bool is_kept(char member)
{
    return member == 'I' || member == 'S';
}
bool is_kept(const meta_number_t &member)
{
    return member.given && member.value == 7;
}
bool is_kept(const meta_seconds_t &member)
{
    return member.given && member.value == 7;
}

const Row ROWS[] = {
#define META_FLAG(letter, commands, token, member, wrong, field, meaning)                                              \
    {letter, token, wrong, [](const meta_t &meta) {                                                                    \
         const struct Members : meta_t {                                                                               \
             bool none = true;                                                                                         \
             explicit Members(const meta_t &from) : meta_t(from) {}                                                    \
         } members(meta);                                                                                              \
         return is_kept(members.member);                                                                               \
     }},
#include "proto/flags.def"
};

std::string right(const Row &row, const std::string &command)
{
    switch (row.token) {
    case SECONDS:
    case NUMBER: return "7";
    case MODE: return command[1] == 's' ? "S" : "I";
    case OPAQUE: return std::string(OPAQUE_MAX, 'x');
    default: return "";
    }
}

/* Tokens that are wrong; none where the command ignores the token. */
std::string wrong(const Row &row)
{
    switch (row.token) {
    case SECONDS:
    case NUMBER: return "x";
    case MODE: return "SS";
    case OPAQUE: return std::string(OPAQUE_MAX + 1, 'x');
    default: return "";
    }
}

/* md and ma have one text for all flags; the length of an opaque is looked at behind the flags, by all commands alike. */
std::string answer(const Row &row, const std::string &command)
{
    bool own = command[1] == 'g' || command[1] == 's' || row.token == OPAQUE;
    return own ? "CLIENT_ERROR " + row.wrong : "CLIENT_ERROR invalid or duplicate flag";
}

} // namespace

TEST(FlagsTest, EachIsTakenByEachCommandAndKeptInItsMember)
{
    for (const Row &row : ROWS)
        for (std::string command : COMMANDS) {
            Line line(command + row.with(right(row, command)));
            EXPECT_EQ(line.error(), "") << line.text;
            EXPECT_TRUE(row.kept(line.request.meta)) << line.text;
            ASSERT_EQ(line.request.meta.count, 1u) << line.text;
            EXPECT_EQ(line.request.meta.flags[0].name, row.letter);
        }
}

TEST(FlagsTest, AWrongTokenIsAnsweredByTheTextOfItsRow)
{
    for (const Row &row : ROWS)
        for (std::string command : COMMANDS) {
            Line line(command + row.with(wrong(row)));
            EXPECT_EQ(line.error(), wrong(row).empty() ? "" : answer(row, command)) << line.text;
        }
}

TEST(FlagsTest, AFlagWithoutATokenIgnoresOne)
{
    for (const Row &row : ROWS)
        if (row.token == KEY || row.token == SWITCH || row.token == ASKS || row.token == UNUSED) {
            for (std::string command : COMMANDS)
                EXPECT_EQ(Line(command + row.with("token")).error(), "") << command << row.letter;
        }
}

TEST(FlagsTest, ASecondOneAndALetterWithoutARowAreErrors)
{
    std::string letters;
    for (const Row &row : ROWS) {
        letters += row.letter;
        std::string flag = row.with(right(row, "mg"));
        EXPECT_EQ(Line("mg YQ== " + flag + " " + flag).error(), "CLIENT_ERROR duplicate flag") << row.letter;
    }
    for (char letter = '!'; letter < 127; letter++)
        if (letters.find(letter) == std::string::npos) {
            EXPECT_EQ(Line(std::string("mg YQ== ") + letter).error(), "CLIENT_ERROR invalid flag") << letter;
        }
}

TEST(FlagsTest, AKeyThatIsNotBase64IsAnError)
{
    for (const Row &row : ROWS)
        if (row.token == KEY) {
            EXPECT_EQ(Line(std::string("mg a! ") + row.letter).error(), "CLIENT_ERROR " + row.wrong);
        }
}
