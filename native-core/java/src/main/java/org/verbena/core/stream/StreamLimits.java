// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

/**
 * Bounds of the streams of one engine.
 *
 * @param window most bytes of a stream that wait to be read, at the reader
 * @param piece most bytes of one message
 * @param streamsPerPeer most streams that one peer may have opened to us
 * @param kept most bytes of buffers that are kept for later use
 */
public record StreamLimits(int window, int piece, int streamsPerPeer, long kept) {
    /** 1 MiB, 256 KiB, 4096 streams, 32 MiB. */
    public static final StreamLimits DEFAULT = new StreamLimits(1 << 20, 256 << 10, 4096, 32L << 20);

    /** Checks the bounds. */
    public StreamLimits {
        if (window < 4096 || piece < 1 || piece > window || streamsPerPeer < 1 || kept < 0) {
            throw new IllegalArgumentException("window " + window + ", piece " + piece + ", streams " + streamsPerPeer
                + ", kept " + kept + ": give a window of 4096 bytes or more, a piece that fits, and one stream or more");
        }
    }
}
