// SPDX-License-Identifier: Apache-2.0
// The way of a map task's result: executor, driver, executors; with both of Spark's serializers.
package org.verbena.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.apache.spark.MapOutputTracker$;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockManagerId$;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.reflect.ClassTag$;

class PlannedStatusTest {
    private static final SparkConf CONF = new SparkConf(false);
    private static final long TRUE_SIZE = 900L << 20;
    private static final long PLANNED_SIZE = 180L << 20;

    private static BlockManagerId executor(String id) {
        return BlockManagerId$.MODULE$.apply(id, "host", 7000, Option.empty());
    }

    private static MapStatus status(long size) {
        return MapStatus$.MODULE$.apply(executor("1"), new long[] {size, 0}, 17, 5);
    }

    private static MapStatus onDriver(Serializer serializer) {
        SerializerInstance instance = serializer.newInstance();
        ByteBuffer sent = instance.serialize(new PlannedStatus(status(TRUE_SIZE), status(PLANNED_SIZE), 5),
            ClassTag$.MODULE$.Object());
        return (MapStatus) instance.deserialize(sent, ClassTag$.MODULE$.Object());
    }

    private static MapStatus onReducer(MapStatus onDriver) {
        MapOutputTracker$ tracker = MapOutputTracker$.MODULE$;
        byte[] sent = tracker.serializeOutputStatuses(new MapStatus[] {onDriver}, null, true, Integer.MAX_VALUE, CONF)._1();
        return (MapStatus) tracker.deserializeOutputStatuses(sent, CONF)[0];
    }

    private static void assertNear(long expected, long actual) {
        assertTrue(actual >= expected && actual <= expected * 1.11, actual + " for " + expected); // Spark rounds up
    }

    @Test
    void theDriverPlansWithCompressedSizesAndReducersFetchWithTrueOnes() {
        for (Serializer serializer : new Serializer[] {new JavaSerializer(CONF), new KryoSerializer(CONF)}) {
            MapStatus driver = onDriver(serializer);
            assertNear(PLANNED_SIZE, driver.getSizeForBlock(0));
            assertEquals(0, driver.getSizeForBlock(1));
            assertEquals(17, driver.mapId());
            assertEquals(5, driver.checksumValue());
            assertEquals(executor("1"), driver.location());
            MapStatus reducer = onReducer(driver);
            assertNotEquals(PlannedStatus.class, reducer.getClass());
            assertNear(TRUE_SIZE, reducer.getSizeForBlock(0));
            assertEquals(0, reducer.getSizeForBlock(1));
            assertEquals(17, reducer.mapId());
            assertEquals(executor("1"), reducer.location());
        }
    }

    @Test
    void anOutputThatMovedIsLookedForInItsNewPlace() {
        MapStatus driver = assertInstanceOf(PlannedStatus.class, onDriver(new JavaSerializer(CONF)));
        driver.updateLocation(executor("2"));
        assertEquals(executor("2"), driver.location());
        assertEquals(executor("2"), onReducer(driver).location());
    }
}
