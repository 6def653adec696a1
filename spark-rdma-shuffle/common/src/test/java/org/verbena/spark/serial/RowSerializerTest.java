// SPDX-License-Identifier: Apache-2.0
// Spark SQL's rows: the same bytes as Spark's own serializer, which is on the test class path.
package org.verbena.spark.serial;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Random;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

@Timeout(60)
class RowSerializerTest {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.apply(Object.class);
    private static final int ROWS = 3000;

    private SQLMetric metric;
    private Serializer stock;
    private SerializerInstance ours;

    @BeforeEach
    void open() throws ReflectiveOperationException {
        metric = new SQLMetric("size", 0);
        stock = new UnsafeRowSerializer(2, metric);
        ours = new RowSerializer(stock).newInstance();
    }

    /** A row of two columns, the first of them i, with random bytes behind. */
    private static UnsafeRow row(int i) {
        byte[] bytes = new byte[24 + 8 * new Random(i).nextInt(i % 500 == 7 ? 10_000 : 30)];
        new Random(i).nextBytes(bytes);
        Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET, 0);
        Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + 8L, i);
        UnsafeRow row = new UnsafeRow(2);
        if (i % 3 == 0) { // as rows in pages of long arrays
            long[] page = new long[bytes.length / 8 + 1];
            Platform.copyMemory(bytes, Platform.BYTE_ARRAY_OFFSET, page, Platform.LONG_ARRAY_OFFSET + 8L, bytes.length);
            row.pointTo(page, Platform.LONG_ARRAY_OFFSET + 8L, bytes.length);
        } else {
            row.pointTo(bytes, bytes.length);
        }
        return row;
    }

    private static byte[] written(SerializerInstance instance) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        SerializationStream stream = instance.serializeStream(out);
        for (int i = 0; i < ROWS; i++) {
            stream.writeKey(i % 7, ANY);
            stream.writeValue(row(i), ANY);
        }
        stream.flush();
        stream.close();
        return out.toByteArray();
    }

    @Test
    void theBytesAreThoseOfSparksSerializer() {
        assertArrayEquals(written(stock.newInstance()), written(ours));
    }

    @Test
    void theSizeMetricByWhichAdaptiveExecutionPlansIsThatOfSparksSerializer() {
        written(stock.newInstance());
        long wanted = (Long) metric.value();
        metric.reset();
        written(ours);
        assertTrue(wanted > 0);
        assertEquals(wanted, (Long) metric.value());
    }

    @Test
    void aRowIsGoodUntilTheNextIsAskedForAlsoAfterHasNextAndAcrossBlocks() {
        byte[] bytes = written(ours);
        for (int block = 0; block < 3; block++) {
            Iterator<Tuple2<Object, Object>> rows = ours.deserializeStream(new ByteArrayInputStream(bytes))
                .asKeyValueIterator();
            UnsafeRow last = null;
            for (int i = 0; i < ROWS; i++) {
                assertTrue(rows.hasNext());
                if (last != null) {
                    assertEquals(row(i - 1), last);
                }
                last = (UnsafeRow) rows.next()._2();
                assertEquals(i, last.getLong(0));
                assertEquals(row(i), last);
            }
            assertFalse(rows.hasNext());
            assertEquals(row(ROWS - 1), last);
        }
    }

    @Test
    void aBlockThatEndsInsideARowIsAnErrorAndNotAnEnd() {
        byte[] bytes = written(ours);
        byte[] part = Arrays.copyOf(bytes, bytes.length - 3);
        Iterator<Tuple2<Object, Object>> rows = ours.deserializeStream(new ByteArrayInputStream(part))
            .asKeyValueIterator();
        assertThrows(IOException.class, () -> {
            while (rows.hasNext()) {
                rows.next();
            }
        });
    }

    @Test
    void anUnknownRowSerializerIsRefused() {
        assertThrows(ReflectiveOperationException.class,
            () -> new RowSerializer(new org.apache.spark.serializer.JavaSerializer(new org.apache.spark.SparkConf())));
    }
}
