// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hadoop;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What a file holds: known from a seed and the place in the file alone, so that a reader can check any piece of it. The
 * bytes of a piece are taken out of a block of 1 MiB that the seed makes; each piece begins at another place of it.
 * Immutable; any thread.
 */
final class Content {
    static final int PIECE = 1 << 20;
    private static final int STEP = 4099; // bytes by which the next piece begins later in the block

    private final byte[] block = new byte[2 * PIECE];

    Content(long seed) {
        ByteBuffer words = ByteBuffer.wrap(block, 0, PIECE).order(ByteOrder.LITTLE_ENDIAN);
        long word = seed * 0x9E3779B97F4A7C15L | 1;
        while (words.hasRemaining()) {
            word ^= word << 13;
            word ^= word >>> 7;
            word ^= word << 17;
            words.putLong(word);
        }
        System.arraycopy(block, 0, block, PIECE, PIECE);
    }

    /** The array that the bytes of a piece lie in. */
    byte[] array() {
        return block;
    }

    /** Where the bytes of the piece with this number begin in the array. */
    int start(long piece) {
        return (int) (piece * STEP % PIECE);
    }

    /** The first of {@code count} bytes at this place of a file that differs, or -1. */
    int difference(long place, byte[] bytes, int count) {
        int done = 0;
        while (done < count) {
            long at = place + done;
            int inPiece = (int) (at % PIECE);
            int from = start(at / PIECE) + inPiece;
            int length = Math.min(count - done, PIECE - inPiece);
            int found = java.util.Arrays.mismatch(block, from, from + length, bytes, done, done + length);
            if (found >= 0) {
                return done + found;
            }
            done += length;
        }
        return -1;
    }
}
