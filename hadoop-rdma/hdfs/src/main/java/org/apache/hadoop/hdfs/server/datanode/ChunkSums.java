// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import org.apache.hadoop.util.DataChecksum;

/** Checks chunks where they lie: Hadoop's own check copies each chunk of a direct buffer first, unless it has libhadoop. */
final class ChunkSums {
    private final Checksum sum;
    private final int chunk;

    private ChunkSums(Checksum sum, int chunk) {
        this.sum = sum;
        this.chunk = chunk;
    }

    /** Null when the type is another than CRC32 and CRC32C. */
    static ChunkSums of(DataChecksum checksum) {
        return switch (checksum.getChecksumType()) {
            case CRC32 -> new ChunkSums(new CRC32(), checksum.getBytesPerChecksum());
            case CRC32C -> new ChunkSums(new CRC32C(), checksum.getBytesPerChecksum());
            default -> null;
        };
    }

    /**
     * Compares data with its checksums. Positions stay.
     *
     * @param data chunks, the last of which may be shorter
     * @param sums one for each chunk
     * @return where in the data the first chunk begins that is wrong, -1 when none is
     */
    int firstWrong(ByteBuffer data, ByteBuffer sums) {
        ByteBuffer bytes = data.duplicate();
        int place = sums.position();
        for (int from = 0; from < data.remaining(); from += chunk) {
            bytes.limit(data.position() + Math.min(from + chunk, data.remaining()));
            sum.reset();
            sum.update(bytes);
            if ((int) sum.getValue() != sums.getInt(place)) {
                return from;
            }
            place += Integer.BYTES;
        }
        return -1;
    }
}
