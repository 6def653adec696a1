// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.Map;
import java.util.TreeMap;

/** The free ranges of one slab: first fit by address, neighbours are joined. Not thread safe. */
final class FreeList {
    /** Offset to length; ranges never touch. */
    private final TreeMap<Integer, Integer> ranges = new TreeMap<>();
    /** No range is longer; exact after a search that failed. */
    private int longestBound;

    FreeList(int bytes) {
        ranges.put(0, bytes);
        longestBound = bytes;
    }

    /** Takes `bytes` and returns their offset, or -1. */
    int take(int bytes) {
        if (bytes > longestBound) {
            return -1;
        }
        int longest = 0;
        for (Map.Entry<Integer, Integer> range : ranges.entrySet()) {
            int offset = range.getKey();
            int length = range.getValue();
            if (length >= bytes) {
                ranges.remove(offset);
                if (length > bytes) {
                    ranges.put(offset + bytes, length - bytes);
                }
                return offset;
            }
            longest = Math.max(longest, length);
        }
        longestBound = longest;
        return -1;
    }

    /** Gives back what take() gave. */
    void give(int offset, int bytes) {
        int start = offset;
        int length = bytes;
        Map.Entry<Integer, Integer> before = ranges.floorEntry(offset);
        if (before != null && before.getKey() + before.getValue() == offset) {
            start = before.getKey();
            length += before.getValue();
        }
        Integer after = ranges.remove(offset + bytes);
        if (after != null) {
            length += after;
        }
        ranges.put(start, length);
        longestBound = Math.max(longestBound, length);
    }
}
