// SPDX-License-Identifier: Apache-2.0
// What open streams keep is taken out of Spark's memory, bounded, and given to others who need it.
package org.verbena.spark.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.memory.UnifiedMemoryManager;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.SerializerInstance;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.serial.HeldValues;
import org.verbena.spark.serial.Serializers;
import scala.collection.Iterator;

@Timeout(60)
class StreamMemoryTest {
    private static final int STREAMS = 50;
    private static final long MIB = 1 << 20;

    private final SerializerInstance serializer = Serializers.shortForm(new JavaSerializer(new SparkConf(false))).newInstance();
    private final HeldValues values = Serializers.values(serializer);
    private final ByteArrayOutputStream[] written = IntStream.range(0, STREAMS).mapToObj(i -> new ByteArrayOutputStream())
        .toArray(ByteArrayOutputStream[]::new);
    private final SerializationStream[] streams = IntStream.range(0, STREAMS)
        .mapToObj(i -> serializer.serializeStream(written[i])).toArray(SerializationStream[]::new);
    private int count;

    private static TaskMemoryManager memory(long bytes) {
        return new TaskMemoryManager(new UnifiedMemoryManager(new SparkConf(false), bytes, 0, 1), 0);
    }

    /** An array is an object for Java serialisation, and none of the short form. */
    private void write(StreamMemory memory, int size) {
        int[] value = new int[size / Integer.BYTES];
        value[0] = count;
        streams[count++ % STREAMS].writeObject(value, SlabMapWriter.ANY);
        memory.cover();
    }

    private void assertAllCanBeRead(int size) {
        int[] wanted = new int[size / Integer.BYTES];
        for (int i = 0; i < STREAMS; i++) {
            streams[i].close();
            Iterator<Object> read = serializer.deserializeStream(new ByteArrayInputStream(written[i].toByteArray())).asIterator();
            for (int number = i; number < count; number += STREAMS) {
                wanted[0] = number;
                assertArrayEquals(wanted, (int[]) read.next());
            }
            assertTrue(!read.hasNext());
        }
        assertEquals(0, values.bytes());
    }

    @Test
    void withMuchMemoryTheValuesAreBoundedAllTheSame() {
        TaskMemoryManager memory = memory(1 << 30);
        StreamMemory taken = new StreamMemory(memory, values);
        long most = 0;
        while (count < 60 << 10) {
            write(taken, 1 << 10);
            most = Math.max(most, values.bytes());
            assertTrue(values.bytes() - taken.getUsed() <= MIB, "unaccounted");
        }
        assertTrue(most > 30 * MIB && most <= 32 * MIB, most + " bytes");
        assertAllCanBeRead(1 << 10);
        taken.free();
        assertEquals(0, memory.getMemoryConsumptionForThisTask());
    }

    @Test
    void withLittleMemoryTheValuesStayWithinIt() {
        TaskMemoryManager memory = memory(4 * MIB);
        StreamMemory taken = new StreamMemory(memory, values);
        while (count < 10_000) {
            write(taken, 1 << 10);
            assertTrue(values.bytes() <= 6 * MIB, values.bytes() + " bytes");
        }
        assertAllCanBeRead(1 << 10);
    }

    @Test
    void anotherConsumerOfTheTaskGetsTheMemory() {
        TaskMemoryManager memory = memory(16 * MIB);
        StreamMemory taken = new StreamMemory(memory, values);
        while (taken.getUsed() < 8 * MIB) {
            write(taken, 1 << 10);
        }
        MemoryConsumer other = new MemoryConsumer(memory, 1 << 20, MemoryMode.ON_HEAP) {
            @Override
            public long spill(long size, MemoryConsumer trigger) {
                return 0;
            }
        };
        assertEquals(15 * MIB, other.acquireMemory(15 * MIB));
        assertEquals(0, values.bytes());
        write(taken, 1 << 10);
        assertAllCanBeRead(1 << 10);
    }

    @Test
    void streamsThemselvesAreCountedAndGoOnWhereSparkHasNothing() {
        TaskMemoryManager memory = memory(4 * MIB);
        StreamMemory taken = new StreamMemory(memory, null);
        for (int i = 0; i < 2048; i++) {
            taken.opened(5 << 10);
        }
        assertTrue(taken.getUsed() > 2 * MIB, taken.getUsed() + " bytes");
        taken.free();
        assertEquals(0, memory.getMemoryConsumptionForThisTask());
    }
}
