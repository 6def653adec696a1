// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.hdfs.protocol.datatransfer.DataTransferProtoUtil;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.ReadOpChecksumInfoProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.util.DataChecksum;

/**
 * The answer to a small read, as Hadoop's BlockSender gives it: the response, one packet with whole chunks and their checksums,
 * and the packet that ends the block.
 *
 * @param checksum of the chunks that are sent
 * @param begin the first byte, at the begin of a chunk
 * @param end behind the last byte, at the end of a chunk or of the replica
 */
record ReadAnswer(DataChecksum checksum, long begin, long end) {
    /** Responses of our own are shorter: a status, a kind of checksum, a place. */
    private static final int RESPONSE_MOST = 64;

    /** Of a read that is within a replica. */
    static ReadAnswer of(DataChecksum checksum, long offset, long length, long replicaLength) {
        int chunk = checksum.getBytesPerChecksum();
        long last = offset + length + chunk - 1;
        return new ReadAnswer(checksum, offset - offset % chunk, Math.min(last - last % chunk, replicaLength));
    }

    int dataLength() {
        return (int) (end - begin);
    }

    int chunks() {
        int chunk = checksum.getBytesPerChecksum();
        return (dataLength() + chunk - 1) / chunk;
    }

    private int sumsLength() {
        return chunks() * checksum.getChecksumSize();
    }

    /** Bytes of a buffer that surely holds it. */
    int room() {
        return RESPONSE_MOST + 2 * PacketHeader.PKT_MAX_HEADER_LEN + sumsLength() + dataLength();
    }

    /** Bytes of the answer that count as read. */
    int counted() {
        return dataLength() + sumsLength();
    }

    /**
     * Makes the answer.
     *
     * @param into takes it
     * @param lastSum the checksum of the replica's last chunk, if this is known and the chunk is not whole; else null
     */
    void write(ByteBuffer into, OpenReplica files, byte[] lastSum) throws IOException {
        byte[] response = BlockOpResponseProto.newBuilder().setStatus(Status.SUCCESS)
            .setReadOpChecksumInfo(ReadOpChecksumInfoProto.newBuilder().setChecksum(DataTransferProtoUtil.toProto(checksum))
                .setChunkOffset(begin))
            .build().toByteArray();
        into.put((byte) response.length).put(response);
        new PacketHeader(counted() + Integer.BYTES, begin, 0, false, dataLength(), false).putInBuffer(into);
        if (checksum.getChecksumSize() > 0) {
            files.readSums(into, begin / checksum.getBytesPerChecksum(), chunks());
            if (lastSum != null) {
                into.position(into.position() - lastSum.length).put(lastSum);
            }
        }
        files.readData(into, begin, dataLength());
        new PacketHeader(Integer.BYTES, end, 1, true, 0, false).putInBuffer(into);
    }
}
