// SPDX-License-Identifier: Apache-2.0
// test_base64.cc - texts of known bytes, all lengths there and back, and texts that are none.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "base/base64.h"
}

namespace {

std::string encoded(const std::string &bytes, bool padded)
{
    std::vector<char> text(padded ? BASE64_PADDED(bytes.size())
                                  : BASE64_UNPADDED(bytes.size())); // exact: a byte too far is seen
    size_t length = base64_encode(bytes.data(), bytes.size(), padded, text.data());
    EXPECT_EQ(length, text.size());
    return std::string(text.data(), length);
}

/* "refused", or the bytes. */
std::string decoded(const std::string &text, bool padded, size_t capacity)
{
    std::vector<char> from(text.begin(), text.end()), bytes(capacity);
    size_t length;
    return base64_decode(from.data(), from.size(), padded, bytes.data(), capacity, &length)
               ? std::string(bytes.data(), length)
               : "refused";
}

} // namespace

TEST(Base64, known_bytes_have_their_text)
{
    const char *const texts[][2] = {{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"},
                                    {"\xfb\xff\xbf", "+/+/"}};
    for (auto &text : texts) {
        EXPECT_EQ(encoded(text[0], true), text[1]);
        EXPECT_EQ(encoded(text[0], false), std::string(text[1]).substr(0, strcspn(text[1], "=")));
    }
}

TEST(Base64, bytes_of_every_length_come_back)
{
    std::string bytes;
    for (int i = 0; i <= 300; i++, bytes += static_cast<char>(i * 37))
        for (bool padded : {true, false}) {
            ASSERT_EQ(decoded(encoded(bytes, padded), padded, bytes.size()), bytes);
            ASSERT_EQ(encoded(bytes, padded).size() % 4, padded ? 0 : (bytes.size() * 8 + 5) / 6 % 4);
            if (!bytes.empty()) {
                ASSERT_EQ(decoded(encoded(bytes, padded), padded, bytes.size() - 1), "refused");
            }
        }
}

TEST(Base64, other_characters_and_lengths_are_refused)
{
    for (const char *text : {"A", "AA", "AAA", "A===", "====", "=AAA", "AA=A", "AAAA====", "AA*A", "AAA ", "AA\nA",
                             "A\xc3\xa9"
                             "A"})
        EXPECT_EQ(decoded(text, true, 100), "refused") << text;
    for (const char *text : {"A", "AAAAA", "Zg==", "AA*A", "AA=", " AAA"})
        EXPECT_EQ(decoded(text, false, 100), "refused") << text;
    EXPECT_EQ(decoded(std::string("AA\0A", 4), true, 100), "refused");
}
