// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.ReadOption;
import org.apache.hadoop.io.ElasticByteBufferPool;

/** All ways to read a small part of a file. */
final class Readings {
    /** Of a file that all of it can be read of. */
    static final int SIZE = 1_000_001;
    /** Positioned reads and ranges of a vectored read, which are small. */
    static final int SMALL = 3 + 8;
    private static final int PIECE = 4096;

    private Readings() {
    }

    static byte[] write(DistributedFileSystem files, Path path) throws IOException {
        byte[] content = WriteCluster.content(SIZE);
        try (FSDataOutputStream out = files.create(path)) {
            out.write(content);
        }
        return content;
    }

    /** Reads in all ways, and checks. */
    static void check(DistributedFileSystem files, Path path, byte[] content) throws Exception {
        try (FSDataInputStream in = files.open(path)) {
            check(in, content);
        }
    }

    /** As above, from an open stream. */
    static void check(FSDataInputStream in, byte[] content) throws Exception {
        positioned(in, content);
        vectored(in, content);
        sequential(in, content);
        pooled(in, content);
    }

    static void positioned(FSDataInputStream in, byte[] content) throws IOException {
        byte[] bytes = new byte[PIECE];
        in.readFully(70_001, bytes);
        assertArrayEquals(Arrays.copyOfRange(content, 70_001, 70_001 + PIECE), bytes);
        assertEquals(PIECE, in.read(90_001, bytes, 0, PIECE));
        assertArrayEquals(Arrays.copyOfRange(content, 90_001, 90_001 + PIECE), bytes);
        ByteBuffer buffer = ByteBuffer.allocateDirect(PIECE);
        in.readFully(511, buffer);
        assertEquals(ByteBuffer.wrap(content, 511, PIECE), buffer.flip());
    }

    static void vectored(FSDataInputStream in, byte[] content) throws Exception {
        List<FileRange> ranges = IntStream.range(0, SMALL - 3).mapToObj(i -> FileRange.createFileRange(i * 100_003L, PIECE))
            .toList();
        in.readVectored(ranges, ByteBuffer::allocate);
        for (FileRange range : ranges) {
            assertEquals(ByteBuffer.wrap(content, (int) range.getOffset(), PIECE), range.getData().get(), range.toString());
        }
    }

    static void sequential(FSDataInputStream in, byte[] content) throws IOException {
        int last = content.length - 5000;
        in.seek(last);
        assertArrayEquals(Arrays.copyOfRange(content, last, content.length), in.readAllBytes());
        assertEquals(-1, in.read());
    }

    private static void pooled(FSDataInputStream in, byte[] content) throws IOException {
        ElasticByteBufferPool pool = new ElasticByteBufferPool();
        int last = content.length - 3000;
        in.seek(last);
        ByteBuffer bytes = in.read(pool, 1000, EnumSet.of(ReadOption.SKIP_CHECKSUMS));
        assertEquals(ByteBuffer.wrap(content, last, bytes.remaining()), bytes);
        in.releaseBuffer(bytes);
    }
}
