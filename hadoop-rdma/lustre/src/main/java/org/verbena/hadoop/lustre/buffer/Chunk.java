// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * A piece of a file in the buffer: an item of the servers, and a line of the record. Immutable.
 *
 * @param number of the item; a number is used once in a file
 * @param offset of its first byte in the file
 * @param length bytes
 * @param crc CRC32C of its bytes
 */
record Chunk(int number, long offset, int length, int crc) {
    static int crcOf(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.duplicate());
        return (int) crc.getValue();
    }

    long end() {
        return offset + length;
    }

    boolean isOf(ByteBuffer bytes) {
        return bytes.remaining() == length && crcOf(bytes) == crc;
    }

    String line() {
        return "c " + number + " " + offset + " " + length + " " + Integer.toHexString(crc) + "\n";
    }

    /** Null: the line is none of a chunk. */
    static Chunk of(String[] words) {
        if (words.length != 5 || !words[0].equals("c")) {
            return null;
        }
        return new Chunk(Integer.parseInt(words[1]), Long.parseLong(words[2]), Integer.parseInt(words[3]),
            Integer.parseUnsignedInt(words[4], 16));
    }

    @Override
    public String toString() {
        return "chunk " + number + " (bytes " + offset + " to " + (end() - 1) + ")";
    }
}
