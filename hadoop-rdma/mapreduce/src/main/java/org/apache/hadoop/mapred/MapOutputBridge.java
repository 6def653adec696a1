// SPDX-License-Identifier: Apache-2.0
// Where a map output lies, asked of the stock shuffle handler's own caches; lives here because their key is not public.
package org.apache.hadoop.mapred;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.concurrent.ExecutionException;
import org.apache.hadoop.io.ReadaheadPool;
import org.apache.hadoop.io.SecureIOUtils;
import org.apache.hadoop.io.nativeio.NativeIO;

/** Thread safe, as the caches are. */
public final class MapOutputBridge {
    private final ShuffleChannelHandlerContext context;

    /**
     * Makes a bridge.
     *
     * @param context what the stock handler serves from
     */
    public MapOutputBridge(ShuffleChannelHandlerContext context) {
        this.context = context;
    }

    /**
     * The bytes of one reducer in one map output.
     *
     * @param file the map output
     * @param offset first byte
     * @param partLength bytes as they lie in the file, checksum included
     * @param rawLength bytes of the records when they are not compressed
     */
    public record Segment(File file, long offset, long partLength, long rawLength) {
    }

    /**
     * Tells where a map output lies, without opening it.
     *
     * @param job the job's id
     * @param user the job's user
     * @param attempt the map attempt's id, checked by the caller: it becomes part of a path
     * @throws IOException when there is no such map output here
     */
    public File place(String job, String user, String attempt) throws IOException {
        return new File(paths(job, user, attempt).dataPath.toString());
    }

    private ShuffleHandler.AttemptPathInfo paths(String job, String user, String attempt) throws IOException {
        try {
            return context.pathCache.get(new ShuffleHandler.AttemptPathIdentifier(job, user, attempt));
        } catch (ExecutionException e) {
            throw new IOException("no output of " + attempt + " on this node: " + e.getCause(), e.getCause());
        }
    }

    /**
     * Finds a segment. May read the index file.
     *
     * @param job the job's id
     * @param user the job's user, who has to own the index file when Hadoop's security is on
     * @param attempt the map attempt's id, checked by the caller: it becomes part of a path
     * @param reduce the reducer's number
     * @throws IOException when there is no such map output here
     */
    public Segment find(String job, String user, String attempt, int reduce) throws IOException {
        ShuffleHandler.AttemptPathInfo paths = paths(job, user, attempt);
        IndexRecord record = context.indexCache.getIndexInformation(attempt, reduce, paths.indexPath, user);
        return new Segment(new File(paths.dataPath.toString()), record.startOffset, record.partLength, record.rawLength);
    }

    /**
     * Opens a map output for reading, checking its owner as the stock handler does.
     *
     * @param segment what find() gave
     * @param user the job's user
     */
    public RandomAccessFile open(Segment segment, String user) throws IOException {
        return SecureIOUtils.openForRandomRead(segment.file(), "r", user, null);
    }

    /**
     * Asks the kernel to read on behind a position, if need be, as the stock handler does: so far as
     * {@code mapreduce.shuffle.readahead.bytes} says, and where Hadoop's native library is there.
     *
     * @param file what open() gave
     * @param position where the next byte will be read
     * @param last what this method gave for the same file before; null at first
     * @return to be cancelled before the file is closed; null: nothing was asked for
     */
    public ReadaheadPool.ReadaheadRequest readAhead(Segment segment, RandomAccessFile file, long position,
            ReadaheadPool.ReadaheadRequest last) throws IOException {
        return context.readaheadPool == null || context.readaheadLength <= 0 ? null
            : context.readaheadPool.readaheadStream(segment.file().getPath(), file.getFD(), position, context.readaheadLength,
                segment.offset() + segment.partLength(), last);
    }

    /**
     * Lets the kernel free the page cache of bytes that were read for their reducer, since nobody else wants them. The stock
     * handler does so, too, unless {@code mapreduce.shuffle.manage.os.cache} is false.
     *
     * @param file what open() gave
     * @param first their position in the file
     * @param length how many
     */
    public void forget(Segment segment, RandomAccessFile file, long first, long length) throws IOException {
        if (context.manageOsCache && length > 0) {
            NativeIO.POSIX.getCacheManipulator().posixFadviseIfPossible(segment.file().getPath(), file.getFD(), first, length,
                NativeIO.POSIX.POSIX_FADV_DONTNEED);
        }
    }

    /** Counts bytes that were served, in the stock handler's metrics. */
    public void served(long bytes) {
        context.metrics.shuffleOutputBytes.incr(bytes);
    }

    /** The TCP port of the stock handler, part of what requests sign. */
    public int port() {
        return context.port;
    }
}
