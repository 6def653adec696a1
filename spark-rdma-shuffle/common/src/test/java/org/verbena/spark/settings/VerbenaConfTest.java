// SPDX-License-Identifier: Apache-2.0
// Settings are checked, and errors say what would be right.
package org.verbena.spark.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class VerbenaConfTest {
    private static VerbenaConf with(String key, String value) {
        return new VerbenaConf(new SparkConf(false).set(key, value));
    }

    private static String error(String key, String value) {
        return assertThrows(IllegalArgumentException.class, () -> with(key, value)).getMessage();
    }

    @Test
    void anUnknownKeyIsAnErrorWithASuggestion() {
        assertTrue(error("spark.verbena.memroy", "1g").contains("did you mean spark.verbena.memory"));
        assertTrue(error("spark.verbena.maxpeer", "1").contains("spark.verbena.maxPeers"));
    }

    @Test
    void aBadValueIsAnErrorThatSaysWhatIsPossible() {
        assertTrue(error("spark.verbena.compress", "lz4").contains("auto or as-spark"));
        assertTrue(error("spark.verbena.enabled", "yes").contains("true or false"));
        assertTrue(error("spark.verbena.memory", "much").contains("512m"));
        assertTrue(error("spark.verbena.maxPeers", "0").contains("1 to"));
        assertTrue(error("spark.verbena.chunk", "1k").contains("4096"));
    }

    @Test
    void aKeyInOtherLettersIsAnErrorAndNotIgnored() {
        assertTrue(error("spark.Verbena.Memory", "1g").contains("did you mean spark.verbena.memory"));
    }

    @Test
    void aMemoryThatIsTooSmallForSlabsIsAnError() {
        assertTrue(error("spark.verbena.memory", "1m").contains("at least 8m"));
    }

    private static String coreError(String key, String value) {
        return assertThrows(IllegalArgumentException.class, () -> with(key, value).checkCore()).getMessage();
    }

    @Test
    void settingsOfTheCoreAreCheckedByTheCore() {
        assertTrue(coreError("spark.verbena.core.link.widnow", "9").contains("did you mean link.window?"));
        assertTrue(coreError("spark.verbena.core.link.window", "many").contains("whole number"));
        assertTrue(coreError("spark.verbena.core.tl.shm.ring_slots", "9").contains("power of two"));
        assertTrue(coreError("spark.verbena.transport", "shm,tpc").contains("known transports"));
        assertTrue(coreError("spark.verbena.core.link.window", "many")
            .startsWith("spark.verbena.core.link.window=many is wrong: "), coreError("spark.verbena.core.link.window", "many"));
        with("spark.verbena.core.tl.tcp.interface", "an.interface.of.the.executors").checkCore();
    }

    @Test
    void errorsNameTheSettingsThatUsersWrite() {
        assertEquals("no transport of spark.verbena.transport=self,rc can be opened; see spark.verbena.core.tl.verbs.device",
            VerbenaConf.inUsersWords("no transport of tl.enable=self,rc can be opened; see tl.verbs.device"));
        assertEquals("spark.verbena.core.tl.tcp.port=0", VerbenaConf.inUsersWords("spark.verbena.core.tl.tcp.port=0"));
    }

    @Test
    void aPortIsTheFirstOfSeveralOrOfARange() {
        assertEquals("7400", with("spark.verbena.port", "7400").core().get("tl.tcp.port"));
        assertEquals(16, with("spark.verbena.port", "7400").portRetries());
        assertEquals("7400", with("spark.verbena.port", "7400-7431").core().get("tl.tcp.port"));
        assertEquals(31, with("spark.verbena.port", "7400-7431").portRetries());
        assertEquals(0, with("spark.verbena.port", "7400-7400").portRetries());
        for (String wrong : new String[] {"0", "7400-7399", "65536", "65000-65536", "7400-", "any"}) {
            assertTrue(error("spark.verbena.port", wrong).contains("a range like 7400-7431"), wrong);
        }
    }

    @Test
    void valuesAreRead() {
        assertEquals(32 << 20, with("spark.verbena.memory", "32m").memory());
        assertEquals("self,tcp", with("spark.verbena.transport", "tcp").core().get("tl.enable"));
        assertEquals("9", with("spark.verbena.core.link.window", "9").core().get("link.window"));
        assertEquals(512, new VerbenaConf(new SparkConf(false)).maxPeers());
        assertTrue(new VerbenaConf(new SparkConf(false)).driverGc());
        assertFalse(with("spark.verbena.driverGc", "false").driverGc());
    }
}
