// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

class ShuffleConfTest {
    private static ShuffleConf conf(String... keysAndValues) {
        Configuration conf = new Configuration(false);
        for (int i = 0; i < keysAndValues.length; i += 2) {
            conf.set(keysAndValues[i], keysAndValues[i + 1]);
        }
        return new ShuffleConf(conf);
    }

    private static String refusal(String key, String value) {
        return assertThrows(IllegalArgumentException.class, () -> conf(key, value), key).getMessage();
    }

    @Test
    void settings_of_hdfs_and_hbase_are_not_ours() {
        ShuffleConf conf = conf("verbena.hdfs.key.file", "F", "verbena.hbase.auth", "none", "mapreduce.map.memory.mb", "1",
            "verbena.shuffle.jobs", "7");
        assertEquals(7, conf.jobs());
        assertEquals("tcp", conf("verbena.core.tl.enable", "tcp").coreSettings().get("tl.enable"));
    }

    @Test
    void keys_of_no_part_are_refused() {
        assertTrue(refusal("verbena.port", "x").startsWith("unknown setting verbena.port; the settings are "));
        assertTrue(refusal("verbena.key.file", "x").contains("; did you mean verbena.rpc.key.file? The settings are "));
        for (String key : List.of("verbena.key.file", "verbena.keyfile", "verbena.auth", "verbena.fallback", "verbena.hdsf.auth")) {
            String text = refusal(key, "x");
            assertTrue(text.startsWith("unknown setting " + key + ";"), text);
            assertTrue(text.contains(" settings are shuffle.memory, "), text);
        }
    }

    @Test
    void wrong_names_and_values_are_named_with_what_would_be_right() {
        assertTrue(refusal("verbena.shuffle.memroy", "1g").contains("did you mean verbena.shuffle.memory?"));
        assertTrue(refusal("verbena.shuffle.source", "tcp").endsWith("give auto or core or shared or http"));
        assertTrue(refusal("verbena.shuffle.jobs", "0").endsWith("from 1 to 1024"));
    }
}
