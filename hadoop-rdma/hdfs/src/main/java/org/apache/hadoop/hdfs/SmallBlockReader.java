// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.EnumSet;
import org.apache.hadoop.fs.ReadOption;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.shortcircuit.ClientMmap;
import org.apache.hadoop.util.DataChecksum;

/** A small part of a block, read by one request and one answer of Hadoop's protocol. */
final class SmallBlockReader implements BlockReader {
    /** Most bytes that are read so. */
    static final int MOST = 64 << 10;

    private final ByteBuffer bytes;
    private final int distance;

    /** Of bytes that were read. */
    SmallBlockReader(ByteBuffer bytes, int distance) {
        this.bytes = bytes;
        this.distance = distance;
    }

    /**
     * Reads.
     *
     * @return null when Hadoop's reader shall try: it finds the same fault, and knows what to do
     * @throws IOException when a new connection's DataNode is silent for too long, or the thread is interrupted
     */
    static BlockReader read(DFSClient client, ReadRequest request, InetSocketAddress address, DatanodeInfo node)
            throws IOException {
        try (ReadConnection connection = new ReadConnection(client, address, node)) {
            connection.add(request);
            ByteBuffer bytes = connection.answer(request);
            return bytes == null ? null : new SmallBlockReader(bytes, client.getClientContext().getNetworkDistance(node));
        }
    }

    @Override
    public int read(byte[] into, int offset, int length) {
        int count = Math.min(length, bytes.remaining());
        bytes.get(into, offset, count);
        return count == 0 && length > 0 ? -1 : count;
    }

    @Override
    public int read(ByteBuffer into) {
        if (!bytes.hasRemaining()) {
            return -1;
        }
        int count = Math.min(into.remaining(), bytes.remaining()); // 0 is no end
        into.put(bytes.slice(bytes.position(), count));
        bytes.position(bytes.position() + count);
        return count;
    }

    @Override
    public long skip(long count) {
        int skipped = (int) Math.min(count, bytes.remaining());
        bytes.position(bytes.position() + skipped);
        return skipped;
    }

    @Override
    public int available() {
        return bytes.remaining();
    }

    @Override
    public void close() {
        // the connection is somebody else's already
    }

    @Override
    public void readFully(byte[] into, int offset, int length) throws IOException {
        if (read(into, offset, length) < length) {
            throw new EOFException("fewer than " + length + " bytes are left of a read");
        }
    }

    @Override
    public int readAll(byte[] into, int offset, int length) {
        return read(into, offset, length);
    }

    @Override
    public boolean isShortCircuit() {
        return false;
    }

    @Override
    public ClientMmap getClientMmap(EnumSet<ReadOption> options) {
        return null;
    }

    /** Of what is read here the checksums are checked; nobody asks for them. */
    @Override
    public DataChecksum getDataChecksum() {
        return null;
    }

    @Override
    public int getNetworkDistance() {
        return distance;
    }
}
