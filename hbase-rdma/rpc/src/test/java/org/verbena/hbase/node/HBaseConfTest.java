// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

class HBaseConfTest {
    private static HBaseConf conf(String... keysAndValues) {
        Configuration conf = new Configuration(false);
        for (int i = 0; i < keysAndValues.length; i += 2) {
            conf.set(keysAndValues[i], keysAndValues[i + 1]);
        }
        return HBaseConf.of(conf);
    }

    private static String refusal(String key, String value) {
        return assertThrows(IllegalArgumentException.class, () -> conf(key, value)).getMessage();
    }

    @Test
    void settings_of_hadoop_and_hbase_are_not_ours() {
        assertEquals(conf(), conf("verbena.hdfs.port.offset", "7", "verbena.shuffle.memory", "1g", "hbase.rootdir", "x"));
        assertEquals("tcp", conf("verbena.core.tl.enable", "tcp").core().get("tl.enable"));
    }

    @Test
    void wrong_names_and_values_are_named_with_what_would_be_right() {
        assertTrue(refusal("verbena.hbase.kye.file", "x").contains("did you mean verbena.hbase.key.file?"));
        assertTrue(refusal("verbena.hbase.auth", "maybe").contains("key or none"));
        assertTrue(refusal("verbena.hbase.loops", "65").contains("from 0 to 64"));
        assertTrue(refusal("verbena.hbase.inline.max.us", "0").contains("from 1 to 100000"));
        assertTrue(refusal("verbena.hbase.enabled", "yes").contains("true or false"));
    }

    @Test
    void without_a_key_the_core_is_not_configured() {
        assertTrue(assertThrows(IOException.class, conf()::coreConfig).getMessage().contains("set verbena.hbase.key.file"));
    }
}
