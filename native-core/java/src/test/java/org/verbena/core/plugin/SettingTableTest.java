// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.verbena.core.plugin.PluginSetting.Plugin;

class SettingTableTest {
    private final Map<String, String> conf = new HashMap<>();
    private final SettingTable table = new SettingTable(Plugin.SPARK, conf::get);

    private static String refusal(Executable call) {
        return assertThrows(IllegalArgumentException.class, call).getMessage();
    }

    private long size(String value) {
        conf.put("spark.verbena.memory", value);
        return table.size(PluginSetting.SPARK_MEMORY);
    }

    @Test
    void an_unknown_name_gets_the_nearest_one() {
        String text = refusal(() -> table.check("spark.verbena.memroy", "1"));
        assertTrue(text.contains("unknown setting spark.verbena.memroy; did you mean spark.verbena.memory?"), text);
        assertTrue(refusal(() -> table.check("SPARK.verbena.memory", "1")).contains("did you mean spark.verbena.memory?"));
    }

    @Test
    void a_name_that_is_like_none_gets_the_list_alone() {
        assertEquals("unknown setting spark.verbena.certificate; the settings are enabled, memory, compress, transport, fallback, "
            + "allowCleartextData, maxPeers, chunk, driverGc, port and core.*",
            refusal(() -> table.check("spark.verbena.certificate", "1")));
    }

    @Test
    void settings_of_others_are_passed_over_and_those_of_the_core_are_kept() {
        table.check("spark.memroy", "1");
        table.check("spark.verbena.memory", "1");
        table.check("spark.verbena.core.tl.enable", "tcp");
        assertEquals(Map.of("tl.enable", "tcp"), table.core());
    }

    @Test
    void a_plugin_leaves_the_settings_of_another_one_with_its_prefix_to_that() {
        SettingTable hdfs = new SettingTable(Plugin.HDFS, conf::get);
        hdfs.check("verbena.shuffle.memroy", "1");
        hdfs.check("verbena.hbase.loops", "1");
        hdfs.check("verbena.hdfs.auth", "none");
        hdfs.check("spark.verbena.memroy", "1");
        assertTrue(refusal(() -> hdfs.check("verbena.hdfs.enabeld", "1")).contains("did you mean verbena.hdfs.enabled?"));
        assertTrue(refusal(() -> hdfs.check("Verbena.shuffle.memory", "1")).contains("unknown setting Verbena.shuffle.memory"));
    }

    @Test
    void a_misspelt_plugin_is_known_again_by_all_that_share_the_prefix() {
        SettingTable hdfs = new SettingTable(Plugin.HDFS, conf::get);
        String text = refusal(() -> hdfs.check("verbena.shufle.source", "1"));
        assertTrue(text.startsWith("unknown setting verbena.shufle.source; did you mean verbena.shuffle.source? "), text);
        SettingTable hbase = new SettingTable(Plugin.HBASE, conf::get);
        text = refusal(() -> hbase.check("verbena.key.file", "1"));
        assertTrue(text.contains("did you mean verbena.hbase.key.file?"), "its own, although another one is nearer: " + text);
    }

    @Test
    void defaults_hold_for_what_is_not_set() {
        SettingTable hdfs = new SettingTable(Plugin.HDFS, conf::get);
        assertEquals("key", hdfs.choice(PluginSetting.HDFS_AUTH));
        assertEquals(20, hdfs.number(PluginSetting.HDFS_PORT_OFFSET));
        assertEquals(64 << 10, table.size(PluginSetting.SPARK_CHUNK));
        assertTrue(hdfs.bool(PluginSetting.HDFS_ENABLED));
        assertNull(hdfs.text(PluginSetting.HDFS_MEMORY_DIR), "the code derives it");
        assertFalse(hdfs.isSet(PluginSetting.HDFS_AUTH));
        conf.put("verbena.hdfs.auth", "none");
        assertTrue(hdfs.isSet(PluginSetting.HDFS_AUTH));
        assertEquals("none", hdfs.choice(PluginSetting.HDFS_AUTH));
    }

    @Test
    void sizes_have_units() {
        assertEquals(5, size("5"));
        assertEquals(5, size("5b"));
        assertEquals(5L << 10, size("5k"));
        assertEquals(5L << 20, size("5MB"));
        assertEquals(5L << 30, size(" 5g "));
        assertEquals(5L << 40, size("5tb"));
        assertEquals(5L << 50, size("5p"));
        assertEquals(Long.MAX_VALUE >> 50 << 50, size((Long.MAX_VALUE >> 50) + "p"));
    }

    @Test
    void what_is_no_size_is_refused() {
        for (String wrong : List.of("", "m", "-1", "1.5g", "5x", "5kk", "9999999999999999999")) {
            assertTrue(refusal(() -> size(wrong)).contains("a size like"), wrong);
        }
        assertTrue(refusal(() -> size("8192p")).contains("a size from"), "over 2^63");
    }

    @Test
    void wrong_words_numbers_and_switches_are_refused() {
        conf.putAll(Map.of("spark.verbena.fallback", "never", "spark.verbena.maxPeers", "many", "spark.verbena.enabled", "yes",
            "spark.verbena.chunk", "2k"));
        assertEquals("spark.verbena.fallback=never is not possible; give allow or forbid",
            refusal(() -> table.choice(PluginSetting.SPARK_FALLBACK)));
        assertTrue(refusal(() -> table.number(PluginSetting.SPARK_MAX_PEERS)).endsWith("a number from 1 to 4194304"));
        conf.put("spark.verbena.maxPeers", "0");
        assertTrue(refusal(() -> table.number(PluginSetting.SPARK_MAX_PEERS)).endsWith("a number from 1 to 4194304"));
        assertTrue(refusal(() -> table.bool(PluginSetting.SPARK_ENABLED)).endsWith("give true or false"));
        assertEquals("spark.verbena.chunk=2k is not possible; give a size from 4096 to 1048576 bytes",
            refusal(() -> table.size(PluginSetting.SPARK_CHUNK)));
        assertEquals("spark.verbena.chunk=2k is not possible; give less",
            table.bad(PluginSetting.SPARK_CHUNK, "less").getMessage());
    }
}
