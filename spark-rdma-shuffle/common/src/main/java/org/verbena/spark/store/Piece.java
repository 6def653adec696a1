// SPDX-License-Identifier: Apache-2.0
// A finished piece of a partition in memory.
package org.verbena.spark.store;

import java.nio.ByteBuffer;
import org.verbena.core.SlabPool;

/**
 * In a chunk or in heap memory.
 *
 * @param chunk null when it is in heap memory
 * @param offset in the chunk
 * @param length in bytes
 */
record Piece(SlabPool.Chunk chunk, ByteBuffer bytes, long offset, int length) {
}
