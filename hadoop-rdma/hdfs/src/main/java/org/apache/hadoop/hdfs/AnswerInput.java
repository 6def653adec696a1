// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.util.Collection;
import org.apache.hadoop.hdfs.protocol.datatransfer.DataTransferProtoUtil;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.util.DataChecksum;

/**
 * A DataNode's answers to reads, taken in as few pieces as they come in. What is read stays in the buffer that it came into, which
 * no later answer overwrites. Of one thread.
 */
final class AnswerInput {
    private static final int LENGTH_MOST = 5;
    /** A response or a packet that is longer belongs to no small read. */
    private static final int MESSAGE_MOST = 1 << 20;
    /** Room for a response, for headers, and for checksums and chunks beside what was asked for. */
    private static final int BESIDE = 2048;
    /** Answers that are expected share a buffer of so many bytes at most. */
    private static final int SHARED_MOST = 128 << 10;

    private final ReadableByteChannel in;
    private ByteBuffer buffer = ByteBuffer.allocate(0);
    private boolean ended;

    AnswerInput(ReadableByteChannel in) {
        this.in = in;
    }

    /** Nothing has come beside the answers that were read. */
    boolean isEmpty() {
        return !buffer.hasRemaining();
    }

    /** The connection has ended, or failed, before the end of an answer. */
    boolean isEnded() {
        return ended;
    }

    /**
     * Reads the next answer, and checks it.
     *
     * @param request that it answers
     * @param following requests whose answers come next
     * @return the bytes
     * @throws IOException when it is no such answer, or a chunk is damaged
     */
    ByteBuffer read(ReadRequest request, Collection<ReadRequest> following) throws IOException {
        makeRoom(request, following);
        BlockOpResponseProto response = response();
        if (response.getStatus() != Status.SUCCESS) {
            throw new IOException(response.getStatus() + ": " + response.getMessage());
        }
        DataChecksum checksum = DataTransferProtoUtil.fromProto(response.getReadOpChecksumInfo().getChecksum());
        if (checksum == null) {
            throw new IOException("chunks of no bytes: " + response.getReadOpChecksumInfo().getChecksum());
        }
        long place = response.getReadOpChecksumInfo().getChunkOffset();
        if (place < 0 || place > request.offset() || place <= request.offset() - checksum.getBytesPerChecksum()) {
            throw new IOException("the first chunk is at " + place + ", not at " + request.offset());
        }
        ByteBuffer bytes = packets(request, checksum, place);
        PacketHeader end = header();
        if (!end.isLastPacketInBlock() || end.getDataLen() != 0) {
            throw new IOException("no end after the last byte: " + end);
        }
        return bytes;
    }

    /** So that the buffer of one answer, or of several small ones, is filled by one read where they have come. */
    private void makeRoom(ReadRequest request, Collection<ReadRequest> following) {
        int least = request.length() + BESIDE;
        if (buffer.capacity() - buffer.position() < least) {
            int wanted = least;
            for (ReadRequest next : following) {
                wanted = Math.min(SHARED_MOST, wanted + next.length() + BESIDE);
            }
            grow(Math.max(least, wanted));
        }
    }

    private void grow(int room) {
        buffer = ByteBuffer.allocate(Math.max(room, buffer.remaining())).put(buffer).flip();
    }

    /** What was asked for: in most answers it is in one packet. */
    private ByteBuffer packets(ReadRequest request, DataChecksum checksum, long begin) throws IOException {
        ByteBuffer first = packet(request, checksum, -1, begin);
        long place = begin + first.capacity();
        ByteBuffer wanted = wanted(request, first, begin);
        if (wanted.remaining() == request.length()) {
            return wanted;
        }
        ByteBuffer bytes = ByteBuffer.allocate(request.length()).put(wanted);
        for (long seqno = 0; place < request.end(); seqno++) {
            ByteBuffer next = packet(request, checksum, seqno, place);
            bytes.put(wanted(request, next, place));
            place += next.capacity();
        }
        return bytes.flip();
    }

    /** The part of a packet's data that was asked for. */
    private static ByteBuffer wanted(ReadRequest request, ByteBuffer data, long place) {
        int from = (int) Math.min(data.capacity(), Math.max(0, request.offset() - place));
        int to = (int) Math.min(data.capacity(), request.end() - place);
        return data.slice(from, Math.max(0, to - from));
    }

    private BlockOpResponseProto response() throws IOException {
        int length = 0;
        for (int i = 0; i < LENGTH_MOST; i++) {
            need(1);
            byte part = buffer.get();
            length |= (part & 0x7f) << 7 * i;
            if (part >= 0) {
                break;
            }
        }
        byte[] response = new byte[need(length)];
        buffer.get(response);
        return BlockOpResponseProto.parseFrom(response);
    }

    /** The header of the next packet; checksums and data follow. */
    private PacketHeader header() throws IOException {
        need(PacketHeader.PKT_LENGTHS_LEN);
        int payload = buffer.getInt();
        int length = buffer.getShort();
        byte[] header = new byte[need(length)];
        buffer.get(header);
        PacketHeader packet = new PacketHeader();
        packet.setFieldsFromData(payload, header);
        need(payload - Integer.BYTES);
        return packet;
    }

    /** The data of the next packet, checked if that was asked for. */
    private ByteBuffer packet(ReadRequest request, DataChecksum checksum, long lastSeqno, long place) throws IOException {
        PacketHeader header = header();
        int length = header.getDataLen();
        int chunks = (length + checksum.getBytesPerChecksum() - 1) / checksum.getBytesPerChecksum();
        int sums = header.getPacketLen() - Integer.BYTES - length;
        if (length <= 0 || header.getOffsetInBlock() != place || !header.sanityCheck(lastSeqno)
                || sums != chunks * checksum.getChecksumSize()) {
            throw new IOException("unexpected packet at " + place + ": " + header);
        }
        int first = buffer.position() + sums;
        ByteBuffer data = buffer.slice(first, length);
        if (request.verify()) {
            checksum.verifyChunkedSums(data, buffer.slice(buffer.position(), sums), request.path(), place);
        }
        buffer.position(first + length);
        return data;
    }

    /** Returns the count, when so many bytes are there. */
    private int need(int count) throws IOException {
        if (count < 0 || count > MESSAGE_MOST) {
            throw new IOException("a part of " + count + " bytes");
        }
        if (buffer.remaining() >= count) {
            return count;
        }
        if (buffer.position() + count > buffer.capacity()) {
            grow(count + BESIDE);
        }
        int begin = buffer.position();
        buffer.position(buffer.limit()).limit(buffer.capacity());
        ended = true; // unless all comes
        while (buffer.position() - begin < count) {
            if (in.read(buffer) < 0) {
                throw new EOFException("the DataNode has closed the connection");
            }
        }
        ended = false;
        buffer.limit(buffer.position()).position(begin);
        return count;
    }
}
