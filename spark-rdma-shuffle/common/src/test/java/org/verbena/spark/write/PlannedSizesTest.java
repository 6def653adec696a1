// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Random;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec$;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.spark.VerbenaConf;
import org.verbena.spark.store.DataDirectory;
import org.verbena.spark.store.OutputBuffer;
import org.verbena.spark.store.SlabStore;

class PlannedSizesTest {
    private static final int PARTITIONS = 40;

    private final SparkConf conf = new SparkConf(false).set(VerbenaConf.PLAN_COMPRESSED, "true");
    private VbnContext context;
    private DataDirectory directory;
    private SlabStore store;

    @BeforeEach
    void open() throws IOException {
        context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
        directory = DataDirectory.create(Path.of("/dev/shm"), "sizes-" + ProcessHandle.current().pid(), "blockmgr");
        store = new SlabStore(context, directory.path(), 64 << 20, 64 << 10, false, null);
    }

    @AfterEach
    void close() throws IOException {
        store.close();
        directory.close();
        context.close();
    }

    private static byte[] text(Random random, int rows) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < rows; i++) {
            text.append("customer#").append(random.nextInt(1_000_000)).append("|BUILDING|final deposits sleep|");
        }
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    private static OutputBuffer filled(SlabStore store, byte[][] data, boolean sequential) throws IOException {
        OutputBuffer output = store.newOutput(1, 1, data.length);
        for (int p = 0; p < data.length; p++) {
            if (data[p] != null) {
                try (OutputStream stream = output.stream(p, sequential)) {
                    stream.write(data[p]);
                }
            }
        }
        return output;
    }

    private int asSparkWould(byte[] data) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (OutputStream stream = CompressionCodec$.MODULE$.createCodec(conf).compressedOutputStream(packed)) {
            stream.write(data);
        }
        return packed.size();
    }

    private double error(int rows, boolean sequential) throws IOException {
        Random random = new Random(rows);
        byte[][] data = new byte[PARTITIONS][];
        long raw = 0;
        long packed = 0;
        for (int p = 0; p < PARTITIONS; p += 2) {
            data[p] = text(random, rows + random.nextInt(rows));
            raw += data[p].length;
            packed += asSparkWould(data[p]);
        }
        OutputBuffer output = filled(store, data, sequential);
        double ratio = PlannedSizes.of(conf).ratio(output, PARTITIONS);
        output.abort();
        return ratio * raw / packed - 1;
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 50, 1000, 3000})
    void sizesAreThoseOfCompressedBytes(int rows) throws IOException {
        assertEquals(0, error(rows, false), 0.08);
        assertEquals(0, error(rows, true), 0.08);
    }

    @Test
    void bytesThatDoNotCompressKeepTheirSize() throws IOException {
        byte[][] data = new byte[PARTITIONS][30_000];
        Random random = new Random(1);
        for (byte[] partition : data) {
            random.nextBytes(partition);
        }
        OutputBuffer output = filled(store, data, false);
        assertEquals(1, PlannedSizes.of(conf).ratio(output, PARTITIONS), 0.01);
        output.abort();
    }

    @Test
    void samplingLeavesTheBytesAsTheyAre() throws IOException {
        byte[][] data = {text(new Random(2), 1000), text(new Random(3), 10)};
        OutputBuffer output = filled(store, data, false);
        byte[] all = new byte[data[0].length + 100];
        assertEquals(data[0].length, output.sample(0, all));
        assertArrayEquals(data[0], java.util.Arrays.copyOf(all, data[0].length));
        assertArrayEquals(new long[] {data[0].length, data[1].length}, output.commit());
    }

    @Test
    void withoutTheDriversWordAndForEmptyOutputsSizesAreTrue() throws IOException {
        OutputBuffer output = filled(store, new byte[][] {text(new Random(2), 1000)}, false);
        assertEquals(1, PlannedSizes.of(new SparkConf(false)).ratio(output, 1));
        output.abort();
        OutputBuffer empty = filled(store, new byte[PARTITIONS][], false);
        assertEquals(1, PlannedSizes.of(conf).ratio(empty, PARTITIONS));
        empty.abort();
    }

    @Test
    void whatIsNotEmptyStaysSo() {
        assertArrayEquals(new long[] {0, 1, 1, 300}, PlannedSizes.scaled(new long[] {0, 1, 2, 1000}, 0.3));
    }
}
