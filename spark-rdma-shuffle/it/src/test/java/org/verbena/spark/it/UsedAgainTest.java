// SPDX-License-Identifier: Apache-2.0
// A configuration that a program took out of one application and starts the next one with.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.OutputStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.VerbenaShuffleManager;

@Timeout(120)
class UsedAgainTest {
    private static final String DECLINED = "spark.verbena.internal.declined";

    /** What a program would take along. */
    private static SparkConf used(String... settings) {
        try (Application application = new Application(settings)) {
            assertEquals(10, application.pairs().groupByKey(4).count());
            return application.context().getConf();
        }
    }

    private static boolean compresses() {
        OutputStream out = OutputStream.nullOutputStream();
        return SparkEnv.get().serializerManager().wrapStream(new ShuffleBlockId(0, 0, 0), out) != out;
    }

    @Test
    void whatStoodAsideIsDecidedAnew() {
        SparkConf conf = used("spark.verbena.enabled=false");
        assertTrue(conf.contains(DECLINED));
        try (Application application = new Application(conf.set("spark.verbena.enabled", "true"))) {
            assertFalse(SparkEnv.get().conf().contains(DECLINED));
            assertEquals(10, application.pairs().groupByKey(4).count());
            assertTrue(application.slabs().writtenBytes() > 0);
            assertFalse(compresses());
        }
    }

    @Test
    void whatWasOnCanBeTurnedOff() {
        SparkConf conf = used();
        assertEquals(VerbenaShuffleManager.class.getName(), conf.get("spark.shuffle.manager"));
        try (Application application = new Application(conf.set("spark.verbena.enabled", "false"))) {
            assertEquals("spark.verbena.enabled is false", SparkEnv.get().conf().get(DECLINED));
            assertEquals(10, application.pairs().groupByKey(4).count());
            assertFalse(SparkEnv.get().conf().contains("spark.shuffle.manager"));
            assertTrue(compresses());
        }
    }

    /** The shuffle manager that the plugin set is still there, and must be none of ours. */
    @Test
    void withoutThePluginItIsSparksOwnShuffle() {
        SparkConf conf = used().remove("spark.plugins");
        try (Application application = new Application(conf)) {
            assertTrue(SparkEnv.get().conf().get(DECLINED).contains("names Verbena"), SparkEnv.get().conf().get(DECLINED));
            assertEquals(10, application.pairs().groupByKey(4).count());
            assertNull(((VerbenaShuffleManager) SparkEnv.get().shuffleManager()).engine());
            assertFalse(SparkEnv.get().conf().contains("spark.shuffle.compress"));
            assertTrue(compresses());
        }
    }

    @Test
    void whatTheUserHadIsTheUsersAgainAndKeysAreNew() {
        SparkConf first = used("spark.shuffle.manager=sort", "spark.shuffle.compress=true");
        try (Application application = new Application(first)) {
            assertTrue(compresses());
            assertEquals(10, application.pairs().groupByKey(4).count());
            SparkConf now = SparkEnv.get().conf();
            assertNotEquals(first.get("spark.verbena.internal.secret"), now.get("spark.verbena.internal.secret"));
            assertTrue(application.slabs().writtenBytes() > 0);
        }
        try (Application application = new Application(first.set("spark.verbena.enabled", "false"))) {
            assertEquals("sort", SparkEnv.get().conf().get("spark.shuffle.manager"));
            assertEquals(10, application.pairs().groupByKey(4).count());
        }
    }
}
