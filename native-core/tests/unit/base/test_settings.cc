// SPDX-License-Identifier: Apache-2.0
// Tests of the settings parser over the generated table.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

extern "C" {
#include "base/settings.h"
#include "base/settings_table.h"
}

namespace {

class Settings : public ::testing::Test {
protected:
    void SetUp() override { settings_defaults(&settings); }

    vbn_status_t set(const char *key, const char *value) { return settings_set(&settings, key, value); }

    std::string get(const char *key)
    {
        char text[256] = "";
        EXPECT_EQ(settings_get(&settings, key, text, sizeof(text)), VBN_OK);
        return text;
    }

    static bool error_has(const char *text) { return std::string(err_text()).find(text) != std::string::npos; }

    settings_t settings;
};

TEST_F(Settings, DefaultsAreTheTables)
{
    EXPECT_EQ(settings.log_level, SETTING_LOG_LEVEL_WARN);
    EXPECT_EQ(settings.security_auth, SETTING_SECURITY_AUTH_JOB_KEY);
    EXPECT_TRUE(settings.security_same_user);
    EXPECT_EQ(settings.tl_shm_chunk_bytes, 8192u);
    EXPECT_EQ(settings.tl_tcp_connect_timeout, UINT64_C(10000000000));
    EXPECT_EQ(settings.progress_spin, 50000u);
    EXPECT_STREQ(settings.tl_enable, "self,shm,rc,ud,tcp");
}

TEST_F(Settings, EveryRowsDefaultIsPrintedInAFormThatIsAccepted)
{
    for (const setting_row_t &row : setting_rows) {
        settings_t copy = settings;
        std::string text = get(row.key);
        EXPECT_EQ(settings_set(&copy, row.key, text.c_str()), VBN_OK) << row.key << "=" << text << ": " << err_text();
        EXPECT_EQ(memcmp(&copy, &settings, sizeof(copy)), 0) << row.key << "=" << text;
    }
    EXPECT_EQ(get("tl.shm.chunk_bytes"), "8K");
    EXPECT_EQ(get("tl.tcp.connect_timeout"), "10s");
    EXPECT_EQ(get("progress.spin"), "50us");
    EXPECT_EQ(get("tl.tcp.port"), "0");
    EXPECT_EQ(get("tl.tcp.socket_buffer"), "0");
}

TEST_F(Settings, NumbersTakeTheirUnits)
{
    EXPECT_EQ(set("tl.tcp.chunk_bytes", "1M"), VBN_OK);
    EXPECT_EQ(settings.tl_tcp_chunk_bytes, 1048576u);
    EXPECT_EQ(set("tl.tcp.chunk_bytes", "5000"), VBN_OK);
    EXPECT_EQ(settings.tl_tcp_chunk_bytes, 5000u);
    EXPECT_EQ(set("link.wireup_timeout", "250ms"), VBN_OK);
    EXPECT_EQ(settings.link_wireup_timeout, 250000000u);
    EXPECT_EQ(set("link.wireup_timeout", "2min"), VBN_OK);
    EXPECT_EQ(settings.link_wireup_timeout, UINT64_C(120000000000));
    EXPECT_EQ(set("progress.spin", "0"), VBN_OK);
    EXPECT_EQ(settings.progress_spin, 0u);
    EXPECT_EQ(set("tl.tcp.port", "65535"), VBN_OK);
    EXPECT_EQ(settings.tl_tcp_port, 65535);
}

TEST_F(Settings, WordsForBooleans)
{
    for (const char *word : {"false", "no", "off", "0"}) {
        settings.tl_tcp_nodelay = true;
        EXPECT_EQ(set("tl.tcp.nodelay", word), VBN_OK);
        EXPECT_FALSE(settings.tl_tcp_nodelay) << word;
    }
    for (const char *word : {"true", "yes", "on", "1"}) {
        settings.tl_tcp_nodelay = false;
        EXPECT_EQ(set("tl.tcp.nodelay", word), VBN_OK);
        EXPECT_TRUE(settings.tl_tcp_nodelay) << word;
    }
    EXPECT_EQ(set("tl.tcp.nodelay", "maybe"), VBN_ERR_SETTING);
}

TEST_F(Settings, BadValuesAreRefusedAndChangeNothing)
{
    const settings_t before = settings;
    const char *bad[][2] = {
        {"tl.tcp.port", "65536"},
        {"tl.tcp.port", "-1"},
        {"tl.tcp.port", ""},
        {"tl.tcp.port", "12x"},
        {"tl.tcp.port", " 12"},
        {"tl.tcp.port", "0x10"},
        {"tl.tcp.port", "99999999999999999999"},
        {"tl.shm.chunk_bytes", "-1K"},
        {"tl.shm.chunk_bytes", "8k"},
        {"tl.shm.chunk_bytes", "8KB"},
        {"tl.shm.chunk_bytes", "2M"},
        {"tl.shm.chunk_bytes", "9999999999T"},
        {"link.close_timeout", "5"},
        {"link.close_timeout", "1h"},
        {"link.close_timeout", "11min"},
        {"link.close_timeout", "0"},
        {"link.close_timeout", "-5s"},
        {"log.level", "loud"},
        {"log.level", ""},
        {"log.level", "WARN"},
        {"security.same_user", ""},
        {"link.close_timeout", "9223372036854775807min"},
    };
    for (auto &pair : bad) {
        EXPECT_EQ(set(pair[0], pair[1]), VBN_ERR_SETTING) << pair[0] << "=" << pair[1];
        EXPECT_TRUE(error_has(pair[0])) << err_text();
    }
    EXPECT_EQ(memcmp(&before, &settings, sizeof(before)), 0);
}

TEST_F(Settings, ErrorsSayWhatIsAllowed)
{
    set("link.close_timeout", "1h");
    EXPECT_TRUE(error_has("30s")) << err_text();
    set("link.close_timeout", "11min");
    EXPECT_TRUE(error_has("from 1ms to 10min")) << err_text();
    set("log.level", "loud");
    EXPECT_TRUE(error_has("error, warn, info, debug")) << err_text();
}

TEST_F(Settings, StringsMayHave255Bytes)
{
    EXPECT_EQ(set("tl.enable", std::string(255, 'a').c_str()), VBN_OK);
    EXPECT_EQ(get("tl.enable"), std::string(255, 'a'));
    EXPECT_EQ(set("tl.enable", std::string(256, 'b').c_str()), VBN_ERR_SETTING);
    EXPECT_EQ(get("tl.enable"), std::string(255, 'a'));
    EXPECT_EQ(set("tl.enable", ""), VBN_OK);
    EXPECT_EQ(get("tl.enable"), "");
}

TEST_F(Settings, UnknownNamesSuggestTheNearest)
{
    EXPECT_EQ(set("tl.tcp.prot", "1"), VBN_ERR_SETTING);
    EXPECT_TRUE(error_has("did you mean tl.tcp.port?")) << err_text();
    EXPECT_EQ(set("zzzzzz", "1"), VBN_ERR_SETTING);
    EXPECT_FALSE(error_has("did you mean")) << err_text();
    EXPECT_EQ(set("", "1"), VBN_ERR_SETTING);
    EXPECT_EQ(set(std::string(10000, 'x').c_str(), "1"), VBN_ERR_SETTING);
    EXPECT_EQ(set(nullptr, "1"), VBN_ERR_INVALID);
    EXPECT_EQ(set("tl.tcp.port", nullptr), VBN_ERR_INVALID);
}

TEST_F(Settings, EnvironmentIsTakenAndOthersVariablesAreLeftAlone)
{
    char port[] = "VBN_TL_TCP_PORT=4000";
    char path[] = "PATH=/bin";
    char empty[] = "VBN_TL_SHM_SOCKET_DIR=";
    char *environment[] = {path, port, empty, nullptr};
    EXPECT_EQ(settings_from_env(&settings, environment, nullptr, 0), VBN_OK);
    EXPECT_EQ(settings.tl_tcp_port, 4000);
    EXPECT_EQ(settings_from_env(&settings, nullptr, nullptr, 0), VBN_OK);
}

TEST_F(Settings, AForeignVariableOfOurPrefixIsNamedAndIgnored)
{
    char home[] = "VBN_HOME=/opt/x";
    char port[] = "VBN_TL_TCP_PORT=4000";
    char secret[] = "VBN_CLOUD_TOKEN=secret";
    char bare[] = "VBN_=1";
    char *environment[] = {home, port, secret, bare, nullptr};
    char foreign[64] = "x";
    EXPECT_EQ(settings_from_env(&settings, environment, foreign, sizeof(foreign)), VBN_OK) << err_text();
    EXPECT_EQ(settings.tl_tcp_port, 4000);
    EXPECT_STREQ(foreign, "VBN_HOME, VBN_CLOUD_TOKEN, VBN_");
    char *none[] = {port, nullptr};
    EXPECT_EQ(settings_from_env(&settings, none, foreign, sizeof(foreign)), VBN_OK);
    EXPECT_STREQ(foreign, "");
}

TEST_F(Settings, NamesOfForeignVariablesThatDoNotFitAreCut)
{
    char home[] = "VBN_HOME=1";
    char other[] = "VBN_OTHER_THING=1";
    char *environment[] = {home, other, nullptr};
    char foreign[16];
    EXPECT_EQ(settings_from_env(&settings, environment, foreign, sizeof(foreign)), VBN_OK);
    EXPECT_STREQ(foreign, "VBN_HOME, ...");
}

TEST_F(Settings, AVariableThatResemblesASettingIsAnError)
{
    for (const char *name :
         {"VBN_TL_FOO", "VBN_TL_TCP_PROT", "VBN_LINK_RAIL", "VBN_LOG", "VBN_LOGLEVEL", "VBN_PROGRESS_SPINS", "VBN_MEM_",
          "VBN_tl_tcp_port", "VBN_TCL_ENABLE", "VBN_SECURTY_AUTH", "VBN_TLENABLE"}) {
        std::string entry = std::string(name) + "=1";
        char *environment[] = {entry.data(), nullptr};
        EXPECT_EQ(settings_from_env(&settings, environment, nullptr, 0), VBN_ERR_SETTING) << name;
        EXPECT_TRUE(error_has(name)) << err_text();
    }
}

TEST_F(Settings, ABadEnvironmentChangesNothingAndIsExplained)
{
    char port[] = "VBN_TL_TCP_PORT=4000";
    char typo[] = "VBN_TL_TCP_NODELY=1";
    char value[] = "VBN_LOG_LEVEL=loud";
    char *with_typo[] = {port, typo, nullptr};
    char *with_value[] = {port, value, nullptr};
    EXPECT_EQ(settings_from_env(&settings, with_typo, nullptr, 0), VBN_ERR_SETTING);
    EXPECT_TRUE(error_has("did you mean VBN_TL_TCP_NODELAY?")) << err_text();
    EXPECT_EQ(settings_from_env(&settings, with_value, nullptr, 0), VBN_ERR_SETTING);
    EXPECT_TRUE(error_has("VBN_LOG_LEVEL")) << err_text();
    EXPECT_EQ(settings.tl_tcp_port, 0);
}

TEST_F(Settings, GetRefusesUnknownNamesAndShortBuffers)
{
    char text[4] = "abc";
    EXPECT_EQ(settings_get(&settings, "tl.tcp.prot", text, sizeof(text)), VBN_ERR_SETTING);
    EXPECT_EQ(settings_get(&settings, "tl.enable", text, sizeof(text)), VBN_ERR_LIMIT);
    EXPECT_STREQ(text, "abc");
    EXPECT_EQ(settings_get(&settings, "tl.tcp.port", text, 1), VBN_ERR_LIMIT);
    EXPECT_EQ(settings_get(&settings, "tl.tcp.port", text, 2), VBN_OK);
}

} // namespace
