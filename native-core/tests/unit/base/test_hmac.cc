// SPDX-License-Identifier: Apache-2.0
// Tests of HMAC-SHA256 against published vectors.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "base/hmac.h"
}

namespace {

std::string hex(const uint8_t *bytes, size_t length)
{
    std::string text;
    char pair[3];
    for (size_t i = 0; i < length; i++) {
        snprintf(pair, sizeof(pair), "%02x", bytes[i]);
        text += pair;
    }
    return text;
}

std::string mac_of(const char *key_text, const std::string &data)
{
    uint8_t key[32] = {};
    uint8_t mac[HMAC_BYTES] = {};
    memcpy(key, key_text, strlen(key_text)); /* HMAC pads a short key with zeros itself, so this is the same key */
    EXPECT_EQ(hmac_sha256(key, data.data(), data.size(), mac), VBN_OK);
    return hex(mac, sizeof(mac));
}

TEST(Hmac, MatchesRfc4231)
{
    EXPECT_EQ(mac_of("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b", "Hi There"),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(mac_of("Jefe", "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Hmac, OfNothingMatchesTheKnownValue)
{
    uint8_t key[32] = {};
    uint8_t mac[HMAC_BYTES];
    ASSERT_EQ(hmac_sha256(key, nullptr, 0, mac), VBN_OK);
    EXPECT_EQ(hex(mac, sizeof(mac)), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(Hmac, EqualSeesADifferenceInAnyByte)
{
    uint8_t a[HMAC_BYTES] = {};
    uint8_t b[HMAC_BYTES] = {};
    EXPECT_TRUE(hmac_equal(a, b));
    for (size_t i = 0; i < HMAC_BYTES; i++) {
        b[i] = 0x80;
        EXPECT_FALSE(hmac_equal(a, b));
        b[i] = 0;
    }
}

TEST(Hmac, ThreadsMayComputeAtTheSameTime)
{
    std::vector<std::thread> threads;
    std::vector<std::string> macs(4);
    for (size_t i = 0; i < macs.size(); i++)
        threads.emplace_back([&macs, i] {
            for (int k = 0; k < 50; k++)
                macs[i] = mac_of("Jefe", "what do ya want for nothing?");
        });
    for (auto &thread : threads)
        thread.join();
    for (auto &mac : macs)
        EXPECT_EQ(mac, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

} // namespace
