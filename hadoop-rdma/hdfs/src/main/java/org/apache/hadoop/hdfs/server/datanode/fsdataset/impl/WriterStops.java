// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.function.LongSupplier;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipeline;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for the writers of replicas that are given up. One time-out is for all of them. */
final class WriterStops {
    private static final Logger LOG = LoggerFactory.getLogger(WriterStops.class);

    private final LongSupplier clock;
    /** In milliseconds of the clock. */
    private final long end;
    private final boolean endless;

    /**
     * Begins.
     *
     * @param millis the time-out, 0 for none
     * @param clock in milliseconds, which never goes back
     */
    WriterStops(long millis, LongSupplier clock) {
        this.clock = clock;
        endless = millis == 0;
        end = clock.getAsLong() + millis;
    }

    /**
     * Interrupts a writer, and waits until it has ended.
     *
     * @return false when it does not end in time
     * @throws InterruptedIOException when this thread is interrupted, which stays so
     */
    boolean stop(ReplicaInPipeline written) throws InterruptedIOException {
        long begun = clock.getAsLong();
        long left = endless ? 0 : Math.max(1, end - begun);
        try {
            written.stopWriter(left);
            return true;
        } catch (IOException e) {
            if (endless || clock.getAsLong() - begun < left) { // Hadoop has no exception of its own for it, and takes the mark off
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted while the writer of " + written + " was to end");
            }
            LOG.warn("Verbena hhh-l: {} is given up, and its writer does not end: {}", written, e.toString());
            return false; // readers need the other replica; the space is given back when the writer ends
        }
    }
}
