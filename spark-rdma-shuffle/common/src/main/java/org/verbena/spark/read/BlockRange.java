// SPDX-License-Identifier: Apache-2.0
// What a shuffle block's name says.
package org.verbena.spark.read;

import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;

/** Partitions [start, end) of one map task's output. */
record BlockRange(int shuffle, long map, int start, int end) {
    private static final String PREFIX = "shuffle_";
    private static final int ONE = 4;
    private static final int BATCH = 5;

    /** Null when it is no shuffle block. */
    static BlockRange of(BlockId block) {
        if (block instanceof ShuffleBlockId one) {
            return new BlockRange(one.shuffleId(), one.mapId(), one.reduceId(), one.reduceId() + 1);
        } else if (block instanceof ShuffleBlockBatchId batch) {
            return new BlockRange(batch.shuffleId(), batch.mapId(), batch.startReduceId(), batch.endReduceId());
        }
        return null;
    }

    /** From another executor; null when it is not the name of a shuffle block. Spark's own parser tries a dozen patterns. */
    static BlockRange parse(String name) {
        String[] parts = name.startsWith(PREFIX) ? name.split("_", BATCH + 1) : new String[0];
        if (parts.length != ONE && parts.length != BATCH) {
            return null;
        }
        try {
            int start = Integer.parseInt(parts[3]);
            return new BlockRange(Integer.parseInt(parts[1]), Long.parseLong(parts[2]), start,
                parts.length == ONE ? start + 1 : Integer.parseInt(parts[4]));
        } catch (NumberFormatException e) {
            return null;
        }
    }
}
