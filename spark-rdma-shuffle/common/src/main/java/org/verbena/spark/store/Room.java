// SPDX-License-Identifier: Apache-2.0
// Memory that a partition fills.
package org.verbena.spark.store;

import java.nio.ByteBuffer;
import org.verbena.core.SlabPool;

/**
 * A chunk, or a heap buffer when there is none.
 *
 * @param chunk null for heap memory
 * @param buffer filled up to its position
 */
record Room(SlabPool.Chunk chunk, ByteBuffer buffer) {
}
