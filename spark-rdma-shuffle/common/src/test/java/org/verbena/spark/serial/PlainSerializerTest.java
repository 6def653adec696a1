// SPDX-License-Identifier: Apache-2.0
// The short form of Java serialisation, on top of Spark's own Java serializer.
package org.verbena.spark.serial;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.SerializerInstance;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

@Timeout(60)
class PlainSerializerTest {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.apply(Object.class);

    private final SerializerInstance instance = new PlainSerializer(new JavaSerializer(new SparkConf(false)))
        .newInstance();

    /** Gives few bytes per call, and counts how often it was closed. */
    private static final class Drip extends InputStream {
        private final InputStream in;
        private final Random random = new Random(3);
        private int closed;

        Drip(byte[] bytes) {
            in = new ByteArrayInputStream(bytes);
        }

        @Override
        public int read() throws IOException {
            return in.read();
        }

        @Override
        public int read(byte[] to, int offset, int count) throws IOException {
            return in.read(to, offset, Math.min(count, 1 + random.nextInt(700)));
        }

        @Override
        public void close() {
            closed++;
        }
    }

    private byte[] written(List<?> values) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        SerializationStream stream = instance.serializeStream(out);
        values.forEach(value -> stream.writeObject(value, ANY));
        stream.close();
        return out.toByteArray();
    }

    private List<Object> read(InputStream in) {
        List<Object> values = new ArrayList<>();
        Iterator<Object> all = instance.deserializeStream(in).asIterator();
        while (all.hasNext()) {
            values.add(all.next());
        }
        return values;
    }

    private void assertRoundTrip(List<?> values) {
        Drip in = new Drip(written(values));
        List<Object> back = read(in);
        assertEquals(values, back);
        for (int i = 0; i < values.size(); i++) {
            assertEquals(values.get(i) == null ? null : values.get(i).getClass(),
                back.get(i) == null ? null : back.get(i).getClass());
        }
        assertEquals(1, in.closed);
    }

    @Test
    void recordsOfARelocatableStreamAreReadInAnyOrderAndFromSeveralStreams() throws IOException {
        SerializerInstance relocatable =
            new PlainSerializer(new JavaSerializer(new SparkConf(false))).newRelocatable();
        List<Object> values = List.of(1, "two", new ArrayList<>(List.of(3, 4)), new Tuple2<>(5L, new HashMap<>()),
            new ArrayList<>(List.of(6)), new java.util.Date(7));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        SerializationStream stream = relocatable.serializeStream(out);
        List<byte[]> records = new ArrayList<>();
        for (Object value : values) {
            stream.writeObject(value, ANY).flush();
            records.add(out.toByteArray());
            out.reset();
        }
        List<Object> reversed = new ArrayList<>();
        for (int i = records.size() - 1; i >= 0; i--) {
            out.write(records.get(i));
            reversed.add(values.get(i));
        }
        assertEquals(reversed, read(new Drip(out.toByteArray())));
    }

    @Test
    void plainValuesComeBackEqualAndOfTheSameClass() {
        assertRoundTrip(Arrays.asList(1, -1, Integer.MIN_VALUE, 5L, Long.MIN_VALUE, null, true, false, 1.5, Double.NaN,
            -0.0, 2.5f, Float.NaN, (short) -3, (byte) -4, 'x', '\uffff', "", "text", new Tuple2<>(1, "a"),
            new Tuple2<>(new Tuple2<>(null, 2L), new Tuple2<>("", 'c'))));
    }

    @Test
    void anyTextComesBackAlsoHalfOfASurrogatePair() {
        assertRoundTrip(List.of("ascii", "na\u00efve \u00ff", "\u0100", "\u6f22\u5b57", "\ud83d\ude00", "\ud83d",
            "x\udc00y", "\0", "a".repeat(100_000), "\u4e00".repeat(50_000)));
    }

    @Test
    void byteArraysOfAllSizesComeBack() {
        Random random = new Random(1);
        List<byte[]> values = new ArrayList<>();
        for (int size : new int[] {0, 1, 100, 4000, 4096, 5000, 40_000, 1 << 20, (1 << 20) + 1, 3_000_000}) {
            byte[] value = new byte[size];
            random.nextBytes(value);
            values.add(value);
        }
        List<Object> back = read(new Drip(written(values)));
        assertEquals(values.size(), back.size());
        for (int i = 0; i < values.size(); i++) {
            assertArrayEquals(values.get(i), (byte[]) back.get(i));
        }
    }

    @Test
    void otherValuesGoThroughJavaSerialisationInBetweenAndPastItsResets() {
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            values.add(i);
            values.add(new HashMap<>(java.util.Map.of("key" + i, new ArrayList<>(List.of(i, "x".repeat(i))))));
            values.add(new Tuple2<>(i, java.time.Duration.ofSeconds(i)));
        }
        assertRoundTrip(values);
    }

    @Test
    void otherValuesOfOneBlockShareTheirClassDescriptions() {
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < 90; i++) {
            values.add(java.time.Duration.ofSeconds(i));
        }
        int one = written(values.subList(0, 1)).length;
        assertTrue(written(values).length < 90 * one / 2);
    }

    @Test
    void anObjectOfAnotherSerializerKeepsItsIdentityInsideOneValue() {
        ArrayList<Integer> shared = new ArrayList<>(List.of(1));
        List<?> back = (List<?>) read(new Drip(written(List.of(new ArrayList<>(List.of(shared, shared)))))).get(0);
        assertSame(back.get(0), back.get(1));
    }

    @Test
    void pairsAreReadAsKeyAndValueAndTheBlockIsClosedAtItsEnd() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        SerializationStream stream = instance.serializeStream(out);
        for (int i = 0; i < 1000; i++) {
            stream.writeKey(i, ANY);
            stream.writeValue("v" + i, ANY);
        }
        stream.close();
        Drip in = new Drip(out.toByteArray());
        Iterator<Tuple2<Object, Object>> pairs = instance.deserializeStream(in).asKeyValueIterator();
        for (int i = 0; i < 1000; i++) {
            assertEquals(new Tuple2<>(i, "v" + i), pairs.next());
        }
        assertEquals(0, in.closed);
        assertFalse(pairs.hasNext());
        assertFalse(pairs.hasNext());
        assertEquals(1, in.closed);
        DeserializationStream next = instance.deserializeStream(new Drip(out.toByteArray()));
        assertEquals((Object) 0, next.readKey(ANY));
        assertThrows(NoSuchElementException.class, pairs::next);
        assertEquals("v0", next.readValue(ANY));
    }

    @Test
    void streamsOfOneInstanceMayBeReadInTurns() {
        DeserializationStream[] streams = new DeserializationStream[3];
        for (int s = 0; s < streams.length; s++) {
            List<String> values = new ArrayList<>();
            for (int i = 0; i < 5000; i++) {
                values.add(s + "-" + i);
            }
            streams[s] = instance.deserializeStream(new Drip(written(values)));
        }
        for (int i = 0; i < 5000; i++) {
            for (int s = 0; s < streams.length; s++) {
                assertEquals(s + "-" + i, streams[s].readObject(ANY));
            }
        }
        for (DeserializationStream stream : streams) {
            assertThrows(EOFException.class, () -> stream.readObject(ANY));
            stream.close();
        }
        assertEquals(List.of(), read(new Drip(new byte[0])));
    }

    @Test
    void aBlockThatEndsInsideAValueIsAnErrorAndNotAnEnd() {
        byte[] all = written(List.of(7, "some text", new byte[2000], new Tuple2<>(1L, 2.0)));
        int[] ends = {0, 5, 19, 2024};
        for (int length = 1; length < all.length; length += length < 30 ? 1 : 97) {
            byte[] part = Arrays.copyOf(all, length);
            if (Arrays.binarySearch(ends, length) < 0) {
                assertThrows(IOException.class, () -> read(new Drip(part)), "at " + length);
            }
        }
    }

    @Test
    void damagedLengthsAndKindsAreRefusedWithoutTakingTheMemoryTheyName() {
        byte[][] damaged = {{99}, {-1}, {Plain.BYTES, -1, 0, 0, 0}, {Plain.BYTES, 127, -1, -1, -1, 1},
            {Plain.LATIN_TEXT, 127, -1, -1, -16, 1}, {Plain.WIDE_TEXT, 127, -1, -1, -1, 1},
            {Plain.WIDE_TEXT, 32, 0, 0, 0, 1}, {Plain.OTHER, 127, -1, -1, -1, 1}};
        for (byte[] bytes : damaged) {
            assertThrows(IOException.class, () -> read(new Drip(bytes)), Arrays.toString(bytes));
        }
    }

    @Test
    void aClosedStreamGivesNothingMore() {
        DeserializationStream stream = instance.deserializeStream(new Drip(written(Arrays.asList(null, 1))));
        assertNull(stream.readObject(ANY));
        stream.close();
        stream.close();
        assertThrows(EOFException.class, () -> stream.readObject(ANY));
    }
}
