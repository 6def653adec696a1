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
    private final SettingTable table = new SettingTable("my.", List.of("memory", "fallback", "peers", "on"), conf::get);

    private static String refusal(Executable call) {
        return assertThrows(IllegalArgumentException.class, call).getMessage();
    }

    private long size(String value) {
        conf.put("my.memory", value);
        return table.size("memory", "1m", 0, Long.MAX_VALUE);
    }

    @Test
    void an_unknown_name_gets_the_nearest_one() {
        String text = refusal(() -> table.check("my.memroy", "1"));
        assertTrue(text.contains("unknown setting my.memroy; did you mean my.memory?"), text);
        assertTrue(refusal(() -> table.check("MY.memory", "1")).contains("did you mean my.memory?"));
    }

    @Test
    void a_name_that_is_like_none_gets_the_list_alone() {
        assertEquals("unknown setting my.certificate; the settings are memory, fallback, peers, on and core.*",
            refusal(() -> table.check("my.certificate", "1")));
    }

    @Test
    void settings_of_others_are_passed_over_and_those_of_the_core_are_kept() {
        table.check("your.memroy", "1");
        table.check("my.memory", "1");
        table.check("my.core.tl.enable", "tcp");
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
    void defaults_and_bounds_are_those_of_the_table() {
        SettingTable hdfs = new SettingTable(Plugin.HDFS, conf::get);
        SettingTable spark = new SettingTable(Plugin.SPARK, conf::get);
        assertEquals("key", hdfs.choice(PluginSetting.HDFS_AUTH));
        assertEquals(20, hdfs.number(PluginSetting.HDFS_PORT_OFFSET));
        assertEquals(64 << 10, spark.size(PluginSetting.SPARK_CHUNK));
        assertTrue(hdfs.bool(PluginSetting.HDFS_ENABLED));
        assertNull(hdfs.text(PluginSetting.HDFS_MEMORY_DIR), "the code derives it");
        assertFalse(hdfs.isSet(PluginSetting.HDFS_AUTH));
        conf.putAll(Map.of("verbena.hdfs.auth", "kerberos", "verbena.hdfs.port.offset", "0", "verbena.hdfs.enabled", "yes",
            "spark.verbena.chunk", "2k"));
        assertTrue(hdfs.isSet(PluginSetting.HDFS_AUTH));
        assertEquals("verbena.hdfs.auth=kerberos is not possible; give key or none",
            refusal(() -> hdfs.choice(PluginSetting.HDFS_AUTH)));
        assertEquals("verbena.hdfs.port.offset=0 is not possible; give a number from 1 to 60000",
            refusal(() -> hdfs.number(PluginSetting.HDFS_PORT_OFFSET)));
        assertTrue(refusal(() -> hdfs.bool(PluginSetting.HDFS_ENABLED)).endsWith("give true or false"));
        assertTrue(refusal(() -> spark.size(PluginSetting.SPARK_CHUNK)).endsWith("a size from 4096 to 1048576 bytes"));
        assertEquals("spark.verbena.chunk=2k is not possible; give less",
            spark.bad(PluginSetting.SPARK_CHUNK, "less").getMessage());
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
        conf.put("my.memory", "1k");
        assertEquals("my.memory=1k is not possible; give a size from 4096 to 8192 bytes",
            refusal(() -> table.size("memory", "4k", 4096, 8192)));
    }

    @Test
    void defaults_hold_for_what_is_not_set() {
        assertEquals("allow", table.choice("fallback", "allow", "forbid"));
        assertEquals(7, table.number("peers", 7, 1, 10));
        assertTrue(table.bool("on", true));
        assertEquals("x", table.text("on", "x"));
    }

    @Test
    void wrong_words_numbers_and_switches_are_refused() {
        conf.putAll(Map.of("my.fallback", "never", "my.peers", "11", "my.on", "yes"));
        assertTrue(refusal(() -> table.choice("fallback", "allow", "forbid")).endsWith("give allow or forbid"));
        assertTrue(refusal(() -> table.number("peers", 7, 1, 10)).endsWith("a number from 1 to 10"));
        assertTrue(refusal(() -> table.bool("on", true)).endsWith("true or false"));
        conf.put("my.peers", "many");
        assertTrue(refusal(() -> table.number("peers", 7, 1, 10)).endsWith("a number from 1 to 10"));
    }
}
