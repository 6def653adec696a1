// SPDX-License-Identifier: Apache-2.0
// Command lines as requests.
#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "proto/meta.h"
#include "proto/text.h"
#include "util/number.h"
}

namespace {

struct Parsed {
    std::string line;
    request_t request;
    explicit Parsed(const std::string &text) : line(text)
    {
        text_parse(line.data(), text_line(line.data(), line.size()), &request);
    }
    std::string key() const { return std::string(request.key.at, request.key.length); }
    std::string error() const { return request.kind == REQUEST_ERROR ? request.error : ""; }
};

const char *const FORMAT = "CLIENT_ERROR bad command line format";

TEST(TextTest, ARequestOfHttpEndsTheConnection)
{
    for (const char *line : {"POST / HTTP/1.1\r\n", "GET /x y HTTP/1.0  \r\n", "nonsense HTTP/\r\n"})
        EXPECT_EQ(Parsed(line).request.kind, REQUEST_QUIT) << line;
    for (const char *line : {"HTTP/1.1\r\n", "POST / HTTP/1.1 x\r\n", "POST /HTTP/1.1\r\n"})
        EXPECT_EQ(Parsed(line).error(), "ERROR") << line;
    EXPECT_EQ(Parsed("get HTTP/1.1\r\n").request.kind, REQUEST_GET); /* a key */
}

TEST(TextTest, AKeyThatIsNoreplyIsDeletedWithAnAnswer)
{
    Parsed one("delete noreply\r\n"), quiet("delete noreply noreply\r\n");
    EXPECT_EQ(one.key(), "noreply");
    EXPECT_FALSE(one.request.noreply);
    EXPECT_TRUE(quiet.request.noreply);
}

TEST(TextTest, AStorageCommandHasItsNumbers)
{
    Parsed set("cas key 7 -1 12 99 noreply\r\n");
    EXPECT_EQ(set.request.kind, REQUEST_PUT);
    EXPECT_EQ(set.request.mode, PUT_CAS);
    EXPECT_EQ(set.key(), "key");
    EXPECT_EQ(set.request.client_flags, 7u);
    EXPECT_EQ(set.request.exptime, -1);
    EXPECT_EQ(set.request.value_bytes, 12u);
    EXPECT_EQ(set.request.number, 99u);
    EXPECT_TRUE(set.request.noreply);
}

TEST(TextTest, WrongNumbersAndCountsOfWordsAreAnsweredAsMemcachedDoes)
{
    EXPECT_EQ(Parsed("set a b c\r\n").error(), "ERROR");
    EXPECT_EQ(Parsed("set a x 0 1\r\n").error(), FORMAT);
    EXPECT_EQ(Parsed("set a 0 0 -1\r\n").error(), FORMAT);
    EXPECT_EQ(Parsed("set a 0 0 2147483646\r\n").error(), FORMAT);
    EXPECT_EQ(Parsed("cas a 0 0 1 x\r\n").error(), FORMAT);
    EXPECT_EQ(Parsed("get\r\n").error(), "ERROR");
    EXPECT_EQ(Parsed("GET a\r\n").error(), "ERROR");
    EXPECT_EQ(Parsed("\r\n").error(), "ERROR");
    EXPECT_EQ(Parsed("set " + std::string(251, 'k') + " 0 0 1\r\n").error(), FORMAT);
    EXPECT_EQ(Parsed("set " + std::string(250, 'k') + " 0 0 1\r\n").error(), "");
    EXPECT_EQ(Parsed("incr a -1\r\n").error(), "CLIENT_ERROR invalid numeric delta argument");
    EXPECT_EQ(Parsed("touch a x\r\n").error(), "CLIENT_ERROR invalid exptime argument");
}

TEST(TextTest, AListOfKeysIsReadWordByWord)
{
    Parsed get("gats 10 a  bb ccc \r\n");
    EXPECT_EQ(get.request.exptime, 10);
    EXPECT_TRUE(get.request.touch && get.request.cas);
    std::string all;
    for (text_t word; (word = text_word(&get.request.rest)).length > 0;)
        all += std::string(word.at, word.length) + ";";
    EXPECT_EQ(all, "a;bb;ccc;");
}

TEST(TextTest, ALineEndsAtItsEndOrAtAZeroByte)
{
    EXPECT_EQ(text_line("ab\r\n", 4), 2u);
    EXPECT_EQ(text_line("ab\n", 3), 2u);
    EXPECT_EQ(text_line("a\0b\r\n", 5), 1u);
    EXPECT_EQ(text_line("\n", 1), 0u);
}

TEST(MetaTest, FlagsComeInTheirOrderWithTheirTokens)
{
    Parsed get("mg key v t O12 T30 R-5\r\n");
    const meta_t &meta = get.request.meta;
    EXPECT_EQ(get.request.kind, REQUEST_META_GET);
    ASSERT_EQ(meta.count, 5u);
    EXPECT_EQ(meta.flags[2].name, 'O');
    EXPECT_EQ(std::string(meta.flags[2].token.at, meta.flags[2].token.length), "12");
    EXPECT_TRUE(meta.value && meta.ttl.given && meta.recache.given);
    EXPECT_EQ(meta.ttl.value, 30);
    EXPECT_EQ(meta.recache.value, -5);
}

TEST(MetaTest, AKeyInBase64IsDecoded)
{
    Parsed get("mg Zm9vYg== b k\r\n");
    EXPECT_EQ(get.key(), "foob");
    EXPECT_EQ(std::string(get.request.meta.shown_key.at, get.request.meta.shown_key.length), "Zm9vYg==");
    for (const char *wrong : {"mg abc b\r\n", "mg ab=c b\r\n", "mg ==== b\r\n", "mg a!!= b\r\n"})
        EXPECT_EQ(Parsed(wrong).error(), "CLIENT_ERROR error decoding key") << wrong;
}

TEST(MetaTest, ErrorsAreThoseOfEachCommand)
{
    EXPECT_EQ(Parsed("mg a v v\r\n").error(), "CLIENT_ERROR duplicate flag");
    EXPECT_EQ(Parsed("mg a E\r\n").error(), "CLIENT_ERROR bad token in command line format");
    EXPECT_EQ(Parsed("mg a Z\r\n").error(), "CLIENT_ERROR invalid flag");
    EXPECT_EQ(Parsed("md a E\r\n").error(), "CLIENT_ERROR invalid or duplicate flag");
    EXPECT_EQ(Parsed("ms a 2 Mx\r\n").error(), "CLIENT_ERROR invalid mode for ms M token");
    EXPECT_EQ(Parsed("ms a x\r\n").error(), FORMAT);
    EXPECT_EQ(Parsed("mg a O" + std::string(32, 'x') + "\r\n").error(), "CLIENT_ERROR opaque token too long");
    EXPECT_EQ(Parsed("mg a" + std::string(36, ' ') + "\r\n").error(), "");
    EXPECT_TRUE(Parsed("ms a 2 E\r\n").request.swallow);
    EXPECT_FALSE(Parsed("ms a x E\r\n").request.swallow);
    EXPECT_EQ(Parsed("ms a 2 E\r\n").request.value_bytes, 2u);
}

TEST(MetaTest, AComparedSetIsACompareAndSet)
{
    EXPECT_EQ(Parsed("ms a 2 C5\r\n").request.mode, PUT_CAS);
    EXPECT_EQ(Parsed("ms a 2 C5 MA\r\n").request.mode, PUT_APPEND);
    EXPECT_TRUE(Parsed("ma a M-\r\n").request.decrement);
}

TEST(NumberTest, NumbersAreReadToTheirLimits)
{
    uint64_t u;
    int64_t i;
    EXPECT_TRUE(number_u64("18446744073709551615", 20, &u));
    EXPECT_EQ(u, UINT64_MAX);
    EXPECT_FALSE(number_u64("18446744073709551616", 20, &u));
    EXPECT_FALSE(number_u64("-1", 2, &u));
    EXPECT_FALSE(number_u64("", 0, &u));
    EXPECT_TRUE(number_u64(" 10 x", 5, &u));
    EXPECT_FALSE(number_u64("10x", 3, &u));
    EXPECT_TRUE(number_i64("-12", 3, &i));
    EXPECT_EQ(i, -12);
    EXPECT_FALSE(number_i64("--1", 3, &i));
    EXPECT_FALSE(number_i64("9223372036854775808", 19, &i));
}

} // namespace
