// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.util.DataChecksum;

/** Looks at acknowledgements of packets, and at the files of a replica. */
final class WireAsserts {
    private WireAsserts() {
    }

    /** So many DataNodes acknowledge this packet. */
    static void assertSuccess(PipelineAck ack, long seqno, int nodes) {
        assertEquals(seqno, ack.getSeqno());
        assertTrue(ack.isSuccess(), ack::toString);
        assertEquals(nodes, ack.getNumOfReplies());
    }

    /** There is a right checksum for each chunk of a replica, and no other. */
    static void assertSumsAreRight(Path data, ExtendedBlock block, byte[] content) throws IOException {
        byte[] meta = Files.readAllBytes(data.resolveSibling(block.getBlockName() + "_" + block.getGenerationStamp() + ".meta"));
        int header = BlockMetadataHeader.getHeaderSize();
        ByteBuffer sums = ByteBuffer.wrap(meta, header, meta.length - header);
        assertEquals((content.length + WireWriter.CHUNK - 1) / WireWriter.CHUNK * Integer.BYTES, sums.remaining());
        DataChecksum kind = DataChecksum.newDataChecksum(DataChecksum.Type.CRC32C, WireWriter.CHUNK);
        assertEquals(-1, ChunkSums.of(kind).firstWrong(ByteBuffer.wrap(content), sums));
    }
}
