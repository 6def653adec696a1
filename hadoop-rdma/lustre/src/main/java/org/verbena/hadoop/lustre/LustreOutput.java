// SPDX-License-Identifier: Apache-2.0
// Writes a file of lustre:.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FSExceptionMessages;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.impl.StoreImplementationUtils;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;
import org.apache.hadoop.fs.statistics.StreamStatisticNames;
import org.apache.hadoop.fs.statistics.impl.IOStatisticsBinding;
import org.verbena.hadoop.lustre.buffer.Sink;

/**
 * hflush hands what was written to the kernel, where every client of a coherent file system sees it; hsync waits until it is on
 * the servers' storage. A file system may accept bytes and have no room for them: that is told by a later write, by fsync or by
 * close, and by the size of the file, all of which are looked at. After an error the stream takes no more bytes, and says so.
 */
final class LustreOutput extends OutputStream implements Syncable, StreamCapabilities, IOStatisticsSource {
    private static final int BUFFER = 256 << 10;
    private static final String SAME = "unix:dev,ino,size";

    private final java.nio.file.Path target;
    private final Sink file;
    private final Path path;
    private final Map<String, Object> opened;
    private final AtomicLong bytes = new AtomicLong();
    private final IOStatistics counters = IOStatisticsBinding.dynamicIOStatistics()
        .withAtomicLongCounter(StreamStatisticNames.STREAM_WRITE_BYTES, bytes).build();
    private ByteBuffer buffer;
    /** The first byte of the file behind what this stream has handed to the kernel. */
    private long end;
    private IOException failure;
    private boolean closed;

    /**
     * Takes over an open file.
     *
     * @param file where the bytes go
     * @param end of the file, where the first byte goes
     * @param target its name, by which its size is asked for at the end
     */
    LustreOutput(Sink file, long end, java.nio.file.Path target, Path path) throws IOException {
        this.file = file;
        this.target = target;
        this.path = path;
        this.end = end;
        try {
            opened = Files.readAttributes(target, SAME);
        } catch (IOException e) {
            file.abandon();
            throw e;
        }
    }

    private void check() throws IOException {
        if (closed) {
            throw new java.nio.channels.ClosedChannelException();
        }
        if (failure != null) {
            throw new IOException(path + " has lost bytes: an earlier write failed: " + failure.getMessage(), failure);
        }
    }

    @Override
    public synchronized void write(int one) throws IOException {
        check();
        room().put((byte) one);
        bytes.incrementAndGet();
    }

    @Override
    public synchronized void write(byte[] source, int offset, int length) throws IOException {
        check();
        for (int done = 0; done < length;) {
            ByteBuffer room = room();
            int part = Math.min(room.remaining(), length - done);
            room.put(source, offset + done, part);
            done += part;
        }
        bytes.addAndGet(length);
    }

    /** The buffer, with space in it. */
    private ByteBuffer room() throws IOException {
        if (buffer == null) {
            buffer = LustreInput.POOL.getBuffer(BUFFER);
            buffer.clear();
        } else if (!buffer.hasRemaining()) {
            drain();
        }
        return buffer;
    }

    private void drain() throws IOException {
        if (buffer == null) {
            return;
        }
        try {
            buffer.flip();
            int length = buffer.remaining();
            file.write(buffer);
            end += length;
            buffer.clear();
        } catch (IOException e) {
            throw failed(e);
        }
    }

    private IOException failed(IOException cause) {
        failure = Errors.of(cause, path);
        return failure == cause ? new IOException(path + " cannot be written: " + cause.getMessage(), cause) : failure;
    }

    /** The same as hflush, but for a closed stream, which wrappers flush once more. */
    @Override
    public void flush() throws IOException {
        if (!closed) {
            hflush();
        }
    }

    @Override
    public synchronized void hflush() throws IOException {
        check();
        drain();
        try {
            file.flush();
        } catch (IOException e) {
            throw failed(e);
        }
    }

    @Override
    public synchronized void hsync() throws IOException {
        check();
        drain();
        try {
            file.force();
        } catch (IOException e) {
            throw failed(e);
        }
    }

    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        boolean isThere = false;
        try {
            if (failure == null) {
                drain();
            }
        } finally {
            isThere = release();
        }
        if (failure != null) {
            throw new IOException(path + " has lost bytes: an earlier write failed: " + failure.getMessage(), failure);
        }
        if (isThere) {
            checkSize();
        }
    }

    /** Whether the shared directory has the bytes. */
    private boolean release() throws IOException {
        if (buffer != null) {
            LustreInput.POOL.returnBuffer(buffer);
            buffer = null;
        }
        if (failure != null) {
            file.abandon();
            return false;
        }
        try {
            return file.close();
        } catch (IOException e) {
            IOException told = failed(e);
            file.abandon();
            throw told;
        }
    }

    /** A file that was renamed, removed or replaced meanwhile has no size to look at. */
    private void checkSize() throws IOException {
        try {
            Map<String, Object> now = Files.readAttributes(target, SAME);
            boolean same = now.get("ino").equals(opened.get("ino")) && now.get("dev").equals(opened.get("dev"));
            if (same && (Long) now.get("size") < end) {
                throw new IOException(path + " has " + now.get("size") + " bytes after its close, and " + end
                    + " were written: the shared file system has lost some; look at its quotas and free space");
            }
        } catch (NoSuchFileException e) {
            return;
        }
    }

    @Override
    public boolean hasCapability(String capability) {
        return StoreImplementationUtils.isProbeForSyncable(capability) || capability.equalsIgnoreCase(IOSTATISTICS);
    }

    @Override
    public IOStatistics getIOStatistics() {
        return counters;
    }

    @Override
    public String toString() {
        return "LustreOutput of " + path + ": " + counters;
    }
}
