// SPDX-License-Identifier: Apache-2.0
// Hadoop's own settings manage the page cache of map outputs. This test plays Hadoop's native library, which is not there.
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.EOFException;
import java.io.File;
import java.io.FileDescriptor;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.ReadaheadPool;
import org.apache.hadoop.io.nativeio.NativeIO;
import org.apache.hadoop.mapred.MapOutputBridge;
import org.apache.hadoop.mapred.ShuffleChannelHandlerContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnPeer;

@Timeout(120)
class OpenRangeTest {
    private static final int KIB = 1 << 10;
    private static final int OFFSET = 10 * KIB;
    private static final int BYTES = 100 * KIB;
    private static final int AHEAD = 32 * KIB;
    private static final int NEED = 3;
    private static final int FORGET = 4;

    /** What the kernel is told of a file. */
    private record Advice(String file, long first, long length, int kind) {
    }

    @TempDir
    Path place;

    private final BlockingQueue<Advice> advice = new LinkedBlockingQueue<>();
    private final NativeIO.POSIX.CacheManipulator usual = NativeIO.POSIX.getCacheManipulator();
    private final int usualNeed = NativeIO.POSIX.POSIX_FADV_WILLNEED;
    private final int usualForget = NativeIO.POSIX.POSIX_FADV_DONTNEED;

    @BeforeEach
    void play() throws ReflectiveOperationException {
        NativeIO.POSIX.POSIX_FADV_WILLNEED = NEED;
        NativeIO.POSIX.POSIX_FADV_DONTNEED = FORGET;
        NativeIO.POSIX.setCacheManipulator(new NativeIO.POSIX.CacheManipulator() {
            @Override
            public void posixFadviseIfPossible(String name, FileDescriptor file, long first, long length, int kind) {
                advice.add(new Advice(name, first, length, file.valid() ? kind : -1));
            }
        });
        Constructor<ReadaheadPool> constructor = ReadaheadPool.class.getDeclaredConstructor();
        constructor.setAccessible(true);
        Field instance = ReadaheadPool.class.getDeclaredField("instance");
        instance.setAccessible(true);
        instance.set(null, constructor.newInstance());
    }

    @AfterEach
    void end() {
        ReadaheadPool.resetInstance();
        NativeIO.POSIX.setCacheManipulator(usual);
        NativeIO.POSIX.POSIX_FADV_WILLNEED = usualNeed;
        NativeIO.POSIX.POSIX_FADV_DONTNEED = usualForget;
    }

    private static MapOutputBridge outputs(Map<String, String> settings) {
        Configuration conf = new Configuration();
        conf.set("mapreduce.shuffle.readahead.bytes", Integer.toString(AHEAD));
        settings.forEach(conf::set);
        return new MapOutputBridge(new ShuffleChannelHandlerContext(conf, Map.of(), null, null, null, null, null));
    }

    private MapOutputBridge.Segment segment() throws IOException {
        Path file = place.resolve("file.out");
        Files.write(file, new byte[OFFSET + BYTES + KIB]);
        return new MapOutputBridge.Segment(file.toFile(), OFFSET, BYTES, BYTES);
    }

    private static OpenRange open(MapOutputBridge outputs, MapOutputBridge.Segment segment, int first, int length)
            throws IOException {
        return new OpenRange(outputs, segment, System.getProperty("user.name"), first, length);
    }

    private Advice of(MapOutputBridge.Segment segment, long first, long length, int kind) {
        return new Advice(segment.file().getPath(), first, length, kind);
    }

    @Test
    void the_kernel_reads_ahead_to_the_end_of_the_segment_and_forgets_the_range_that_was_read() throws Exception {
        MapOutputBridge.Segment segment = segment();
        try (OpenRange range = open(outputs(Map.of()), segment, 0, 90 * KIB)) {
            range.read(ByteBuffer.allocate(KIB));
            assertEquals(of(segment, OFFSET, AHEAD, NEED), advice.take());
            range.read(ByteBuffer.allocate(79 * KIB)); // less than half of what is ahead is left to read
            range.read(ByteBuffer.allocate(KIB));
            assertEquals(of(segment, OFFSET + 80 * KIB, 20 * KIB, NEED), advice.take(), "not beyond the segment");
            range.read(ByteBuffer.allocate(100 * KIB));
            assertEquals(90 * KIB, range.position());
        }
        assertEquals(of(segment, OFFSET, 90 * KIB, FORGET), advice.take());
        assertEquals(List.of(), List.copyOf(advice));
    }

    @Test
    void what_is_read_in_part_or_without_the_setting_stays() throws Exception {
        MapOutputBridge.Segment segment = segment();
        Map<String, String> nothingAhead = Map.of("mapreduce.shuffle.readahead.bytes", "0");
        try (OpenRange range = open(outputs(nothingAhead), segment, 0, BYTES)) {
            range.read(ByteBuffer.allocate(KIB));
        }
        Map<String, String> none = Map.of("mapreduce.shuffle.readahead.bytes", "0", "mapreduce.shuffle.manage.os.cache", "false");
        try (OpenRange range = open(outputs(none), segment, 0, BYTES)) {
            range.read(ByteBuffer.allocate(BYTES));
        }
        assertEquals(List.of(), List.copyOf(advice));
    }

    @Test
    void without_hadoops_native_library_all_is_read_as_well() throws Exception {
        ReadaheadPool.resetInstance();
        MapOutputBridge.Segment segment = segment();
        try (OpenRange range = open(outputs(Map.of()), segment, KIB, KIB)) {
            ByteBuffer room = ByteBuffer.allocate(2 * KIB);
            range.read(room);
            assertEquals(KIB, room.position());
            assertEquals(2 * KIB, room.limit());
        }
    }

    @Test
    void a_file_that_is_too_short_is_an_error() throws Exception {
        MapOutputBridge.Segment segment = segment();
        Files.write(segment.file().toPath(), new byte[OFFSET + KIB]);
        try (OpenRange range = open(outputs(Map.of()), segment, 0, BYTES)) {
            assertThrows(EOFException.class, () -> range.read(ByteBuffer.allocate(BYTES)));
        }
    }

    /** A reducer's fetch of two segments, from a NodeManager's service. */
    @Test
    void segments_that_a_reducer_has_fetched_are_forgotten() throws Exception {
        int bytes = 5000;
        try (TestNode node = new TestNode(List.of(place.toFile()), 2, 2, bytes);
                CoreClient client = new CoreClient(node.conf, TestNode.secret())) {
            Link link = node.link(client);
            VbnPeer peer = link.peer(0);
            TestNode.fetch(client, link, peer, 1, List.of(0, 1));
            for (int map = 0; map < 2; map++) {
                File output = node.output(map);
                Advice wanted = new Advice(output.getPath(), bytes + 4, bytes + 4, FORGET);
                Advice next = advice.take();
                while (!next.equals(wanted)) { // reading ahead is said by other threads
                    assertEquals(NEED, next.kind(), next.toString());
                    next = advice.take();
                }
            }
        }
    }
}
