// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.metrics;

/**
 * What fetching and serving use at a moment.
 *
 * @param directBytes direct memory of requests and replies
 * @param directBound most of it
 * @param serveWaiting requests of other executors that wait for Spark's blocks, memory or checksums
 */
public record Load(long directBytes, long directBound, long serveWaiting) {
    /** Nothing. */
    public static final Load NONE = new Load(0, 0, 0);
}
