// SPDX-License-Identifier: Apache-2.0
// What the open segments of one merge take of the heap.
package org.verbena.hadoop.shuffle;

/**
 * A share for each segment of a bounded whole, however many there are, and one array for the value that is read now. Belongs to
 * the thread that merges.
 */
final class MergeHeap {
    /** For all windows together, unless there are more segments than shares of the least size. */
    static final int MOST = 16 << 20;
    private static final int LARGEST = 64 << 10;
    /** Holds the lengths of a record and a short key. */
    private static final int LEAST = 128;

    private final int share;
    private byte[] value = new byte[0];

    /** segments: how many are open at the same time. */
    MergeHeap(int segments) {
        share = Math.max(LEAST, Math.min(LARGEST, MOST / Math.max(1, segments)));
    }

    /** How long the window of a segment with so many bytes is. */
    int window(int bytes) {
        return Math.min(share, bytes);
    }

    /** An array for a value of that length, which is there until the next one is asked for. */
    byte[] value(int length) {
        if (value.length < length) {
            value = new byte[(int) Math.min(Integer.MAX_VALUE - 8, length + (long) length / 2)];
        }
        return value;
    }
}
