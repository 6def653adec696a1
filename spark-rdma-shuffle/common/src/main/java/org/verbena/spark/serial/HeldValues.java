// SPDX-License-Identifier: Apache-2.0
// The values that open streams of Java serialisation still refer to, counted and bounded.
package org.verbena.spark.serial;

import java.io.ByteArrayOutputStream;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * An object stream keeps its last values (a hundred, by {@code spark.serializer.objectStreamReset}). With a stream for each of
 * many partitions that would be most of what a map task writes. So the streams of one serializer instance share a bound:
 * beyond it all of them let their values go, and begin anew at the next value. Belongs to the thread of the instance.
 */
public final class HeldValues {
    /** Most bytes, by our count. */
    static final long MOST = 32L << 20;
    /** An object on the heap takes more than its bytes in a stream. */
    private static final int HEAP_PER_BYTE = 2;
    /** Tables and buffers of an object stream. */
    private static final long STREAM = 4 << 10;

    private final Set<PlainWriter> writers = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Scratch scratch = new Scratch();
    private long bytes;
    private boolean writing;

    HeldValues() {
    }

    /** What one value was written to; streams share it, because each one is flushed after each value. */
    static final class Scratch extends ByteArrayOutputStream {
        private static final int USUAL = 64 << 10;

        /** Forgets its bytes, and the memory of a large value. */
        @Override
        public synchronized void reset() {
            super.reset();
            if (buf.length > USUAL) {
                buf = new byte[USUAL];
            }
        }
    }

    /** Empty, for a value. Until {@link #end} nothing is let go. */
    Scratch begin() {
        writing = true;
        scratch.reset();
        return scratch;
    }

    /** The value is written, or has failed. */
    void end() {
        writing = false;
    }

    /**
     * Counts a value of a writer's stream.
     *
     * @param first whether the stream began with it
     */
    void add(PlainWriter writer, boolean first, long size) {
        long more = HEAP_PER_BYTE * size + (first ? STREAM : 0);
        writer.held += more;
        bytes += more;
        writers.add(writer);
        if (bytes > MOST) {
            letGo();
        }
    }

    /** The writer's stream has ended. */
    void remove(PlainWriter writer) {
        if (writers.remove(writer)) {
            bytes -= writer.held;
            writer.held = 0;
        }
    }

    /** About how many bytes of heap the streams hold. */
    public long bytes() {
        return bytes;
    }

    /** Makes all streams let their values go; nothing while a value is written. */
    public void letGo() {
        if (!writing) {
            writers.forEach(PlainWriter::beginAnew);
            writers.clear();
            bytes = 0;
        }
    }
}
