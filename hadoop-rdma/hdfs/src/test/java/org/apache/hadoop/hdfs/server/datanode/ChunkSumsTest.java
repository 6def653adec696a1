// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.ByteBuffer;
import java.util.Random;
import org.apache.hadoop.util.DataChecksum;
import org.junit.jupiter.api.Test;

/** Our check of chunks beside Hadoop's sums. */
class ChunkSumsTest {
    private static final int CHUNK = 512;

    private static ByteBuffer random(int bytes) {
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        return ByteBuffer.allocateDirect(bytes).put(content).flip();
    }

    private static ByteBuffer sums(DataChecksum checksum, ByteBuffer data) {
        ByteBuffer sums = ByteBuffer.allocateDirect(checksum.getChecksumSize(data.remaining()));
        checksum.calculateChunkedSums(data.duplicate(), sums);
        return sums.clear();
    }

    @Test
    void it_agrees_with_hadoops_sums_for_each_length_and_type() {
        for (DataChecksum.Type type : new DataChecksum.Type[] {DataChecksum.Type.CRC32, DataChecksum.Type.CRC32C}) {
            DataChecksum checksum = DataChecksum.newDataChecksum(type, CHUNK);
            for (int bytes : new int[] {1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 64_512}) {
                ByteBuffer data = random(bytes);
                assertEquals(-1, ChunkSums.of(checksum).firstWrong(data, sums(checksum, data)), type + " of " + bytes);
                assertEquals(bytes, data.remaining());
            }
        }
    }

    @Test
    void it_tells_the_first_chunk_that_is_wrong() {
        DataChecksum checksum = DataChecksum.newDataChecksum(DataChecksum.Type.CRC32C, CHUNK);
        ByteBuffer data = random(5 * CHUNK + 3);
        ByteBuffer sums = sums(checksum, data);
        for (int at : new int[] {5 * CHUNK + 2, 4 * CHUNK, 2 * CHUNK - 1, 0}) {
            data.put(at, (byte) ~data.get(at));
            assertEquals(at / CHUNK * CHUNK, ChunkSums.of(checksum).firstWrong(data, sums));
        }
    }

    @Test
    void other_sums_are_left_to_hadoop() {
        assertNull(ChunkSums.of(DataChecksum.newDataChecksum(DataChecksum.Type.NULL, CHUNK)));
    }
}
