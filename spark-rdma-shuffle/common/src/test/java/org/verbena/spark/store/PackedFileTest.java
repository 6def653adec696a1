// SPDX-License-Identifier: Apache-2.0
// Map outputs that are compressed on their way to disk, with each of Spark's codecs.
package org.verbena.spark.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.FileRegion;
import io.netty.handler.stream.ChunkedStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Random;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.spark.settings.VerbenaConf;

@Timeout(120)
class PackedFileTest {
    private static final int BUDGET = 8 << 20;
    private static final int PARTITIONS = 7;

    @TempDir
    Path disk;
    @TempDir
    Path indices;
    private VbnContext context;
    private DataDirectory directory;

    /** Spark's resolver with packed files: the index is a file of offsets, as Spark writes it. */
    private final class PackedFiles extends DiskFiles {
        private final Packing packing;
        private File overflow;
        private long overflowed;

        PackedFiles(String codec) {
            super(disk);
            packing = Packing.of(new SparkConf(false).set(VerbenaConf.PACK_FILES, "true").set("spark.io.compression.codec", codec));
        }

        @Override
        public Packing packing() {
            return packing;
        }

        /** The first is the overflow file's, if there is one; the next is asked for when all is in it. */
        @Override
        public synchronized File temporary(int shuffleId, long mapId) {
            overflowed = overflow == null ? 0 : overflow.length();
            overflow = super.temporary(shuffleId, mapId);
            return overflow;
        }

        File index(long map) {
            return indices.resolve(Long.toString(map)).toFile();
        }

        File data(long map) {
            return disk.resolve("1-" + map).toFile();
        }

        @Override
        public void commit(int shuffleId, long mapId, long[] sizes, long[] checksums, File data) {
            super.commit(shuffleId, mapId, sizes, checksums, data);
            ByteBuffer offsets = ByteBuffer.allocate(Long.BYTES * (sizes.length + 1)).putLong(0);
            long at = 0;
            for (long size : sizes) {
                offsets.putLong(at += size);
            }
            try {
                Files.write(index(mapId).toPath(), offsets.array());
            } catch (IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
        }

        ManagedBuffer packed(long map, int start, int end) throws IOException {
            return PackedFile.find(packing, index(map), data(map), start, end);
        }
    }

    @BeforeEach
    void open() throws IOException {
        context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
        directory = DataDirectory.create(Path.of("/dev/shm"), "packed-" + ProcessHandle.current().pid(),
            disk.getFileName().toString());
    }

    @AfterEach
    void close() throws IOException {
        directory.close();
        context.close();
    }

    private SlabStore store(DiskFiles files) {
        return new SlabStore(context, directory.path(), BUDGET, 64 << 10, false, files);
    }

    /** Partition 0 and 3 and the last one are empty; letters of a small alphabet shrink, random bytes do not. */
    private static byte[][] data(int scale, int letters) {
        Random random = new Random(scale);
        byte[][] data = new byte[PARTITIONS][];
        for (int p = 0; p < PARTITIONS; p++) {
            data[p] = new byte[p % 3 == 0 ? 0 : scale + random.nextInt(scale)];
            for (int i = 0; i < data[p].length; i++) {
                data[p][i] = (byte) random.nextInt(letters);
            }
        }
        return data;
    }

    private static void write(SlabStore store, long map, byte[][] data) throws IOException {
        OutputBuffer output = store.newOutput(1, map, data.length);
        for (int round = 0; round < 10; round++) { // all partitions in turn, in ten parts each
            for (int p = 0; p < data.length; p++) {
                int from = (int) (data[p].length * (long) round / 10);
                output.stream(p, false).write(data[p], from, (int) (data[p].length * (round + 1L) / 10) - from);
            }
        }
        long[] lengths = output.commit();
        assertArrayEquals(Arrays.stream(data).mapToLong(partition -> partition.length).toArray(), lengths);
    }

    private static byte[] concatenated(byte[][] data, int start, int end) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        Arrays.stream(data, start, end).forEach(all::writeBytes);
        return all.toByteArray();
    }

    private static void assertBlocks(byte[][] data, PackedFiles files, long map) throws IOException {
        for (int start = 0; start < data.length; start++) {
            for (int end = start + 1; end <= data.length; end++) {
                byte[] expected = concatenated(data, start, end);
                ManagedBuffer block = files.packed(map, start, end);
                assertEquals(expected.length, block.size());
                assertEquals(ByteBuffer.wrap(expected), block.nioByteBuffer());
                try (InputStream in = block.createInputStream()) {
                    assertEquals(expected.length, in.available());
                    in.skipNBytes(expected.length / 3);
                    assertArrayEquals(Arrays.copyOfRange(expected, expected.length / 3, expected.length), in.readAllBytes());
                    assertEquals(-1, in.read());
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"lz4", "zstd", "snappy", "lzf"})
    void whatShrinksTakesLessDiskAndComesBackAsItWas(String codec) throws IOException {
        PackedFiles files = new PackedFiles(codec);
        byte[][] data = data(100_000, 4);
        try (SlabStore store = store(files)) {
            write(store, 1, data);
            store.spillAll();
            assertNull(store.find(1, 1));
        }
        long plain = concatenated(data, 0, PARTITIONS).length;
        assertTrue(files.data(1).length() < plain * 3 / 4, files.data(1).length() + " of " + plain);
        assertBlocks(data, files, 1);
    }

    /** Most of it does not fit, and is compressed before it waits for the rest. */
    @ParameterizedTest
    @ValueSource(strings = {"lz4", "zstd", "snappy", "lzf"})
    void anOutputThatOverflowsIsCompressedBothTimes(String codec) throws IOException {
        PackedFiles files = new PackedFiles(codec);
        byte[][] data = data(6_000_000, 4);
        try (SlabStore store = store(files)) {
            write(store, 2, data);
            assertNull(store.find(1, 2));
        }
        long plain = concatenated(data, 0, PARTITIONS).length;
        assertTrue(plain - BUDGET > plain * 3 / 4);
        assertTrue(files.overflowed < plain * 3 / 4, files.overflowed + " of " + plain);
        assertTrue(files.overflowed > 0);
        assertTrue(files.data(2).length() < plain * 3 / 4, files.data(2).length() + " of " + plain);
        for (int p = 0; p < PARTITIONS; p++) {
            assertEquals(ByteBuffer.wrap(data[p]), files.packed(2, p, p + 1).nioByteBuffer());
        }
    }

    @Test
    void theFirstOverflowDecidesForTheWholeOutput() throws IOException {
        PackedFiles files = new PackedFiles("lz4");
        byte[][] data = {data(6_000_000, 256)[1], data(6_000_000, 4)[1], data(6_000_000, 4)[2]};
        try (SlabStore store = store(files)) {
            OutputBuffer output = store.newOutput(1, 2, data.length);
            for (int p = 0; p < data.length; p++) {
                output.stream(p, false).write(data[p]);
            }
            output.commit();
        }
        assertNull(files.packed(2, 0, 1), "what came first does not shrink");
        assertArrayEquals(concatenated(data, 0, data.length), Files.readAllBytes(files.data(2).toPath()));
    }

    @Test
    void onePartitionLargerThanTheMemoryIsCompressed() throws IOException {
        PackedFiles files = new PackedFiles("lz4");
        byte[][] data = {data(10_000_000, 4)[1]};
        try (SlabStore store = store(files)) {
            write(store, 3, data);
        }
        assertTrue(files.data(3).length() < data[0].length * 3L / 4);
        assertBlocks(data, files, 3);
    }

    @Test
    void whatDoesNotShrinkIsSparksOwnFile() throws IOException {
        PackedFiles files = new PackedFiles("lz4");
        byte[][] data = data(50_000, 256);
        try (SlabStore store = store(files)) {
            write(store, 4, data);
            store.spillAll();
        }
        assertNull(files.packed(4, 1, 2), "it has no other form");
        assertArrayEquals(concatenated(data, 0, PARTITIONS), Files.readAllBytes(files.data(4).toPath()));
        assertEquals(ByteBuffer.wrap(data[1]), files.open(1, 4, 1, 2).nioByteBuffer());
    }

    @Test
    void withoutTheDriversWordNothingIsCompressed() {
        assertNull(Packing.of(new SparkConf(false)));
    }

    private PackedFiles spilled(byte[][] data) throws IOException {
        PackedFiles files = new PackedFiles("lz4");
        try (SlabStore store = store(files)) {
            write(store, 5, data);
            store.spillAll();
        }
        return files;
    }

    @Test
    void aFileThatIsNotThereIsNotOurs() throws IOException {
        PackedFiles files = spilled(data(1000, 4));
        Files.delete(files.data(5).toPath());
        assertNull(files.packed(5, 1, 2));
        assertNull(files.packed(6, 1, 2));
    }

    @Test
    void partitionsThatDoNotExistAreRefused() throws IOException {
        PackedFiles files = spilled(data(1000, 4));
        assertThrows(IOException.class, () -> files.packed(5, 0, PARTITIONS + 1));
        assertThrows(IOException.class, () -> files.packed(5, 2, 1));
        assertThrows(IOException.class, () -> files.packed(5, -1, 1));
    }

    private static void put(File file, long at, long number) throws IOException {
        try (FileChannel to = FileChannel.open(file.toPath(), StandardOpenOption.WRITE)) {
            to.write(ByteBuffer.allocate(Long.BYTES).putLong(0, number), at);
        }
    }

    @Test
    void offsetsThatFallAreRefused() throws IOException {
        PackedFiles files = spilled(data(1000, 4));
        put(files.index(5), Long.BYTES, -1);
        assertThrows(IOException.class, () -> files.packed(5, 1, 2));
        put(files.index(5), Long.BYTES, 1L << 40);
        assertThrows(IOException.class, () -> files.packed(5, 1, 2));
        assertThrows(IOException.class, () -> files.packed(5, 0, 1));
        put(files.data(5), files.data(5).length() - 2 * Long.BYTES, -1);
        assertThrows(IOException.class, () -> files.packed(5, PARTITIONS - 1, PARTITIONS));
    }

    @Test
    void aBlockThatIsShorterThanItShouldBeIsAnErrorAndNotAnEnd() throws IOException {
        PackedFiles files = spilled(data(1000, 4));
        put(files.data(5), files.data(5).length() - 2 * Long.BYTES, 1L << 30); // the end of the last partition
        ManagedBuffer block = files.packed(5, PARTITIONS - 2, PARTITIONS);
        try (InputStream in = block.createInputStream()) {
            assertThrows(IOException.class, in::readAllBytes);
        }
    }

    @Test
    void aLargeBlockGoesToSparksTransportStepByStep() throws IOException {
        byte[][] data = data(1_500_000, 4);
        ManagedBuffer block = spilled(data).packed(5, 0, PARTITIONS);
        byte[] expected = concatenated(data, 0, PARTITIONS);
        FileRegion region = assertInstanceOf(FileRegion.class, block.convertToNetty());
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        WritableByteChannel target = Channels.newChannel(sent);
        while (region.transferred() < region.count()) {
            region.transferTo(target, region.transferred());
        }
        assertEquals(0, region.transferTo(target, region.count()));
        assertThrows(IOException.class, () -> region.transferTo(target, 5));
        region.release();
        assertArrayEquals(expected, sent.toByteArray());
    }

    @Test
    void aLargeBlockTravelsByStream() throws Exception {
        byte[][] data = data(1_500_000, 4);
        assertArrayEquals(concatenated(data, 0, PARTITIONS), OneStream.through(spilled(data).packed(5, 0, PARTITIONS)));
    }

    @Test
    void aLargeBlockIsAStreamForTlsAndASmallOneABuffer() throws Exception {
        byte[][] data = data(1_500_000, 4);
        PackedFiles files = spilled(data);
        ChunkedStream stream = assertInstanceOf(ChunkedStream.class,
            ((PackedBlock) files.packed(5, 0, PARTITIONS)).convertToNettyForSsl());
        assertArrayEquals(concatenated(data, 0, PARTITIONS), OneStream.all(stream));
        assertEquals(0, assertInstanceOf(ByteBuf.class, files.packed(5, 0, 1).convertToNetty()).readableBytes());
    }
}
