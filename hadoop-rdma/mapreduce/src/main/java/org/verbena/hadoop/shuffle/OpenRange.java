// SPDX-License-Identifier: Apache-2.0
// A range of a segment whose file is open.
package org.verbena.hadoop.shuffle;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import org.apache.hadoop.io.ReadaheadPool.ReadaheadRequest;
import org.apache.hadoop.mapred.MapOutputBridge;

/**
 * Read from its first byte to its last one, once. The kernel reads on to the end of the segment meanwhile, since the reducer will
 * want that as well, and may forget a range that was read to its end. For the thread of the folder.
 */
final class OpenRange implements Closeable {
    private final MapOutputBridge outputs;
    private final MapOutputBridge.Segment segment;
    private final RandomAccessFile file;
    private final long first;
    private final long length;
    private long position;
    private ReadaheadRequest ahead;

    /** Opens the file; first: of the segment. */
    OpenRange(MapOutputBridge outputs, MapOutputBridge.Segment segment, String user, long first, long length)
            throws IOException {
        this.outputs = outputs;
        this.segment = segment;
        this.first = segment.offset() + first;
        this.length = length;
        file = outputs.open(segment, user);
    }

    /** Reads as much as the room takes. */
    void read(ByteBuffer room) throws IOException {
        int end = room.limit();
        room.limit((int) Math.min(end, room.position() + length - position));
        try {
            while (room.hasRemaining()) {
                ahead = outputs.readAhead(segment, file, first + position, ahead);
                int count = file.getChannel().read(room, first + position);
                if (count <= 0) {
                    throw new EOFException("the map output ends " + (length - position) + " bytes too early");
                }
                position += count;
            }
        } finally {
            room.limit(end);
        }
    }

    /** Bytes that were read. */
    long position() {
        return position;
    }

    @Override
    public void close() {
        if (ahead != null) {
            ahead.cancel();
        }
        try (file) {
            if (position == length) {
                outputs.forget(segment, file, first, length);
            }
        } catch (IOException e) {
            JobServer.LOG.debug("closing a map output", e);
        }
    }
}
