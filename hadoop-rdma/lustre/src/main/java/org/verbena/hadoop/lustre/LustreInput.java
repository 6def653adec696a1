// SPDX-License-Identifier: Apache-2.0
// Reads a file of lustre:.
package org.verbena.hadoop.lustre;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.ByteBufferPositionedReadable;
import org.apache.hadoop.fs.ByteBufferReadable;
import org.apache.hadoop.fs.CanUnbuffer;
import org.apache.hadoop.fs.FSExceptionMessages;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;
import org.apache.hadoop.fs.statistics.StreamStatisticNames;
import org.apache.hadoop.fs.statistics.impl.IOStatisticsBinding;
import org.apache.hadoop.util.DirectBufferPool;
import org.verbena.hadoop.lustre.buffer.Content;

/**
 * Small reads come out of a buffer, which a stream has from its first one; large and positional ones go to their destination.
 * Positional reads may be done by several threads at once, all others by one at a time.
 */
final class LustreInput extends FSInputStream
        implements ByteBufferReadable, ByteBufferPositionedReadable, CanUnbuffer, StreamCapabilities, IOStatisticsSource {
    static final DirectBufferPool POOL = new DirectBufferPool();
    private static final int BUFFER = 256 << 10;

    private final Content file;
    private final Path path;
    private final FileSystem.Statistics statistics;
    private final AtomicLong bytes = new AtomicLong();
    private final IOStatistics counters = IOStatisticsBinding.dynamicIOStatistics()
        .withAtomicLongCounter(StreamStatisticNames.STREAM_READ_BYTES, bytes).build();
    /** What follows `position` in the file, or null. */
    private ByteBuffer buffer;
    private long position;
    /** The file had so many bytes when its size was asked for, which costs messages to the storage targets. */
    private long known;

    /** Takes over an open file. */
    LustreInput(Content file, Path path, FileSystem.Statistics statistics) {
        this.file = file;
        this.path = path;
        this.statistics = statistics;
    }

    private void check() throws IOException {
        if (!file.isOpen()) {
            throw new IOException(path + ": " + FSExceptionMessages.STREAM_IS_CLOSED);
        }
    }

    @Override
    public void seek(long wanted) throws IOException {
        check();
        if (wanted < 0) {
            throw new EOFException(FSExceptionMessages.NEGATIVE_SEEK + " of " + path);
        }
        if (!reaches(wanted)) {
            throw new EOFException(FSExceptionMessages.CANNOT_SEEK_PAST_EOF + " of " + path);
        }
        long ahead = wanted - position;
        if (buffer != null && ahead >= -buffer.position() && ahead <= buffer.remaining()) {
            buffer.position(buffer.position() + (int) ahead);
        } else {
            unbuffer();
        }
        position = wanted;
    }

    private boolean reaches(long end) throws IOException {
        if (end > known) {
            known = file.size();
        }
        return end <= known;
    }

    @Override
    public long getPos() {
        return position;
    }

    @Override
    public boolean seekToNewSource(long target) {
        return false;
    }

    @Override
    public int available() throws IOException {
        check();
        return reaches(position + 1) ? (int) Math.min(Integer.MAX_VALUE, known - position) : 0;
    }

    @Override
    public int read() throws IOException {
        check();
        if (!fill()) {
            return -1;
        }
        passed(1);
        return buffer.get() & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        return read(ByteBuffer.wrap(target, offset, length));
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
        check();
        if (!target.hasRemaining()) {
            return 0;
        }
        boolean isBuffered = buffer != null && buffer.hasRemaining();
        if (!isBuffered && target.remaining() >= BUFFER) {
            unbuffer(); // its bytes would not be those beside the position any more
            int length = get(position, target);
            passed(length);
            return length;
        }
        if (!fill()) {
            return -1;
        }
        int length = Math.min(target.remaining(), buffer.remaining());
        target.put(buffer.slice(buffer.position(), length));
        buffer.position(buffer.position() + length);
        passed(length);
        return length;
    }

    /** False at the end of the file. */
    private boolean fill() throws IOException {
        if (buffer != null && buffer.hasRemaining()) {
            return true;
        }
        if (buffer == null) {
            buffer = POOL.getBuffer(BUFFER);
        }
        buffer.clear();
        try {
            return get(position, buffer) > 0;
        } finally {
            buffer.flip();
        }
    }

    private int get(long from, ByteBuffer target) throws IOException {
        try {
            return file.read(target, from);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    private void passed(int length) {
        if (length > 0) {
            position += length;
            count(length);
        }
    }

    private void count(int length) {
        bytes.addAndGet(length);
        if (statistics != null) {
            statistics.incrementBytesRead(length);
        }
    }

    @Override
    public int read(long from, byte[] target, int offset, int length) throws IOException {
        validatePositionedReadArgs(from, target, offset, length);
        return read(from, ByteBuffer.wrap(target, offset, length));
    }

    @Override
    public int read(long from, ByteBuffer target) throws IOException {
        check();
        if (from < 0) {
            throw new EOFException(FSExceptionMessages.NEGATIVE_SEEK + " of " + path);
        }
        if (!target.hasRemaining()) {
            return 0;
        }
        int length = get(from, target);
        if (length > 0) {
            count(length);
        }
        return length;
    }

    @Override
    public void readFully(long from, ByteBuffer target) throws IOException {
        for (long at = from; target.hasRemaining();) {
            int length = read(at, target);
            if (length < 0) {
                throw new EOFException(path + " has " + target.remaining() + " bytes too few for this read");
            }
            at += length;
        }
    }

    @Override
    public void unbuffer() {
        if (buffer != null) {
            POOL.returnBuffer(buffer);
            buffer = null;
        }
    }

    @Override
    public void close() throws IOException {
        unbuffer();
        file.close();
    }

    @Override
    public boolean hasCapability(String capability) {
        return switch (capability.toLowerCase(Locale.ROOT)) {
            case StreamCapabilities.READBYTEBUFFER, StreamCapabilities.PREADBYTEBUFFER, StreamCapabilities.UNBUFFER,
                StreamCapabilities.IOSTATISTICS, StreamCapabilities.VECTOREDIO -> true;
            default -> false;
        };
    }

    @Override
    public IOStatistics getIOStatistics() {
        return counters;
    }

    @Override
    public String toString() {
        return "LustreInput of " + path + " at " + position;
    }
}
