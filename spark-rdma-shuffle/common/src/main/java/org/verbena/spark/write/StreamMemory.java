// SPDX-License-Identifier: Apache-2.0
// The heap of a map task's open streams, taken out of what Spark gives its tasks.
package org.verbena.spark.write;

import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;
import org.verbena.spark.serial.HeldValues;

/**
 * Asks Spark for the streams and for the values to which they refer. When Spark has no more, or another consumer of the task
 * needs memory, the streams let their values go; they themselves are few enough ({@link HashShuffleMapWriter}) to go on.
 * Belongs to the task's thread.
 */
final class StreamMemory extends MemoryConsumer {
    /** Asked for at a time; less than this may be in use without having been asked for. */
    private static final long STEP = 1 << 20;

    private final Thread owner = Thread.currentThread();
    private final HeldValues values;
    private long streams;
    /** In use beyond what Spark gave when it was asked last. */
    private long refused;

    /**
     * Begins with nothing.
     *
     * @param values null when the streams keep none
     */
    StreamMemory(TaskMemoryManager memory, HeldValues values) {
        super(memory, MemoryMode.ON_HEAP);
        this.values = values;
    }

    /** A stream was opened. */
    void opened(long bytes) {
        streams += bytes;
        cover();
    }

    /** To be called after each record. */
    void cover() {
        if (inUse() - getUsed() - refused > STEP) {
            ask();
        }
    }

    private long inUse() {
        return streams + (values == null ? 0 : values.bytes());
    }

    private void ask() {
        long wanted = inUse() - getUsed();
        long got = acquireMemory(wanted); // Spark may call spill() meanwhile
        if (got < wanted && values != null) {
            values.letGo();
        }
        refused = Math.max(0, inUse() - getUsed());
    }

    @Override
    public long spill(long size, MemoryConsumer trigger) {
        if (values == null || trigger == this || Thread.currentThread() != owner) {
            return 0;
        }
        values.letGo();
        long free = Math.max(0, getUsed() - inUse());
        freeMemory(free);
        return free;
    }

    /** All streams are closed. */
    void free() {
        streams = 0;
        refused = 0;
        freeMemory(getUsed());
    }
}
