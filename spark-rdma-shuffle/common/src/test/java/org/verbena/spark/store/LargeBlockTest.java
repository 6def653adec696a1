// SPDX-License-Identifier: Apache-2.0
// Blocks larger than a buffer of Netty's, out of memory through Spark's transport.
package org.verbena.spark.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.FileRegion;
import io.netty.handler.stream.ChunkedStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;

@Timeout(60)
class LargeBlockTest {
    private static final int BYTES = 3_000_000;
    private static final long LIMIT = 1 << 20;

    @TempDir
    Path disk;
    private final byte[] data = new byte[BYTES];
    private VbnContext context;
    private DataDirectory directory;
    private SlabStore store;

    @BeforeEach
    void open() throws IOException {
        context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
        directory = DataDirectory.create(Path.of("/dev/shm"), "large-" + ProcessHandle.current().pid(),
            disk.getFileName().toString());
        store = new SlabStore(context, directory.path(), 16 << 20, 64 << 10, false, new DiskFiles(disk));
        new Random(1).nextBytes(data);
        OutputBuffer output = store.newOutput(1, 2, 2);
        for (int at = 0; at < BYTES; at += 10_000) { // two partitions in turn: many pieces
            output.stream(0, false).write(data, at, 10_000);
            output.stream(1, false).write(new byte[20_000]);
        }
        output.commit();
    }

    @AfterEach
    void close() throws IOException {
        store.close();
        directory.close();
        context.close();
    }

    private SlabManagedBuffer block() throws IOException {
        return new SlabManagedBuffer(store.find(1, 2), 0, 1, () -> {
            throw new IOException("nothing was spilled");
        }, LIMIT);
    }

    /** Takes a few bytes at a time, and sometimes none, as a socket does. */
    private static final class Narrow implements WritableByteChannel {
        private final ByteArrayOutputStream taken = new ByteArrayOutputStream();
        private int calls;

        @Override
        public int write(ByteBuffer from) {
            byte[] some = new byte[Math.min(from.remaining(), calls++ % 5 == 0 ? 0 : 7777)];
            from.get(some);
            taken.writeBytes(some);
            return some.length;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {
            // nothing to close
        }
    }

    @Test
    void aBlockAboveTheLimitIsWrittenPieceByPieceAndStaysPinnedUntilItIsReleased() throws IOException {
        ManagedBuffer block = block();
        FileRegion region = assertInstanceOf(FileRegion.class, block.convertToNetty());
        store.removeShuffle(1);
        assertTrue(store.usedBytes() > 0);
        Narrow target = new Narrow();
        assertEquals(BYTES, region.count());
        while (region.transferred() < BYTES) {
            region.transferTo(target, region.transferred());
        }
        assertEquals(0, region.transferTo(target, BYTES));
        assertArrayEquals(data, target.taken.toByteArray());
        region.release();
        block.release();
        assertEquals(0, store.usedBytes());
    }

    @Test
    void theSameBytesMayBeAskedForAgain() throws IOException {
        SlabManagedBuffer block = block();
        FileRegion region = (FileRegion) block.convertToNetty();
        for (int from : new int[] {BYTES - 1, 0, 1_234_567, 65_535}) {
            Narrow target = new Narrow();
            while (target.taken.size() == 0) {
                region.transferTo(target, from);
            }
            byte[] got = target.taken.toByteArray();
            assertArrayEquals(Arrays.copyOfRange(data, from, from + got.length), got);
        }
        region.release();
        block.release();
    }

    @Test
    void aBlockAboveTheLimitIsAStreamForTls() throws Exception {
        ChunkedStream stream = assertInstanceOf(ChunkedStream.class, block().convertToNettyForSsl());
        assertArrayEquals(data, OneStream.all(stream));
        store.removeShuffle(1);
        assertEquals(0, store.usedBytes());
    }

    @Test
    void aBlockAboveTheLimitTravelsByStream() throws Exception {
        assertArrayEquals(data, OneStream.through(block()));
        store.removeShuffle(1);
        assertEquals(0, store.usedBytes());
    }
}
