// SPDX-License-Identifier: Apache-2.0
// Keys as in URIs.
#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "util/uri.h"
}

namespace {

TEST(UriTest, EveryByteButLettersDigitsAndFourSignsIsEncoded)
{
    for (unsigned c = 0; c < 256; c++) {
        char text[URI_BYTES(1)], byte = static_cast<char>(c), expected[8];
        bool plain = isalnum(static_cast<int>(c)) != 0 || (c != 0 && strchr("-._~", static_cast<int>(c)) != nullptr);
        snprintf(expected, sizeof(expected), plain ? "%c" : "%%%02X", c);
        EXPECT_EQ(uri_encode(&byte, 1, text), strlen(expected));
        EXPECT_STREQ(text, expected);
    }
}

TEST(UriTest, TheLongestKeyFits)
{
    char text[URI_BYTES(250)];
    EXPECT_EQ(uri_encode(std::string(250, ' ').data(), 250, text), 750u);
    EXPECT_EQ(text[750], '\0');
}

} // namespace
