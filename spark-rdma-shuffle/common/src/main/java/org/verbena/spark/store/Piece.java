// SPDX-License-Identifier: Apache-2.0
// A finished piece of a partition.
package org.verbena.spark.store;

import java.nio.ByteBuffer;
import org.verbena.core.SlabPool;

/**
 * In a chunk, in heap memory, or in the overflow file.
 *
 * @param chunk null when it is elsewhere
 * @param bytes null when it is in the file
 * @param offset in the chunk, or in the file
 * @param length in bytes
 */
record Piece(SlabPool.Chunk chunk, ByteBuffer bytes, long offset, int length) {
    boolean isInMemory() {
        return bytes != null;
    }
}
