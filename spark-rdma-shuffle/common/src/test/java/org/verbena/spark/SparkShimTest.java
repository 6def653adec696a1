// SPDX-License-Identifier: Apache-2.0
// Which Spark versions get which shim.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.read.SlabAccess;

class SparkShimTest {
    @Test
    void everyPatchReleaseOfAKnownLineHasAShim() {
        assertEquals("35", SparkShim.line("3.5.9", "2.12.18"));
        assertEquals("40", SparkShim.line("3.5.9", "2.13.8"));
        assertEquals("40", SparkShim.line("4.0.5", "2.13.16"));
        assertEquals("42", SparkShim.line("4.1.4", "2.13.17"));
        assertEquals("42", SparkShim.line("4.2.10-SNAPSHOT", "2.13.18"));
        assertEquals("43", SparkShim.line("4.3.0", "2.13.18"));
    }

    @Test
    void olderNewerAndStrangeVersionsHaveNone() {
        for (String version : new String[] {"3.4.4", "3.50.1", "4.4.0", "4.20.0", "5.0.0", "4.2", "4", "", "x.y.z",
            "4.2.x", "4.2.1x"}) {
            assertNull(SparkShim.line(version, "2.13.18"), version);
        }
    }

    @Test
    void buildsOfVendorsAreNotKnown() {
        for (String version : new String[] {"3.5.5-amzn-0", "3.5.1.3.5.2.1-4", "4.0.0-vendor", "3.5.0-1.2", "4.2.0-hadoop3"}) {
            assertNull(SparkShim.line(version, "2.13.18"), version);
        }
        assertEquals("40", SparkShim.line("4.0.0-preview2", "2.13.14"));
    }

    /** The methods of a Spark that calls itself 4.2 and is none. */
    private static final class Misfit implements SparkShim {
        @Override
        public IndexShuffleBlockResolver newResolver(SparkConf conf, IndexShuffleBlockResolver stock,
                Supplier<SlabAccess> engine) {
            throw new NoSuchMethodError("IndexShuffleBlockResolver.<init>");
        }

        @Override
        public MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, RowChecksums checksums) {
            throw new NoSuchMethodError("MapStatus.apply");
        }
    }

    /** Calls that pass before the resolver does not. */
    private static final class LateMisfit implements SparkShim {
        private final SparkShim late = new Misfit();

        @Override
        public IndexShuffleBlockResolver newResolver(SparkConf conf, IndexShuffleBlockResolver stock,
                Supplier<SlabAccess> engine) {
            return late.newResolver(conf, stock, engine);
        }

        @Override
        public MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, RowChecksums checksums) {
            return null;
        }
    }

    @Test
    void aSparkWithOtherMethodsUsesItsOwnShuffleInsteadOfEnding() {
        for (SparkShim shim : new SparkShim[] {new Misfit(), new LateMisfit()}) {
            SparkConf conf = new SparkConf(false).set("spark.master", "local[1]");
            assertTrue(Decisions.begin(conf), "the driver has decided before the manager is made");
            Decisions.set(conf, "spark.shuffle.manager", VerbenaShuffleManager.class.getName());
            Decisions.set(conf, "spark.shuffle.compress", "false");
            VerbenaShuffleManager manager = new VerbenaShuffleManager(conf, true, () -> shim);
            assertEquals(IndexShuffleBlockResolver.class, manager.shuffleBlockResolver().getClass());
            assertNull(manager.engine());
            assertTrue(conf.get(DriverSetup.DECLINED).contains("not as Apache releases it"), conf.get(DriverSetup.DECLINED));
            assertFalse(conf.contains("spark.shuffle.manager"), "executors start with Spark's own");
            assertFalse(conf.contains("spark.shuffle.compress"));
            manager.stop();
        }
    }
}
