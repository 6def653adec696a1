// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.util.EnumSet;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.fs.ReadOption;
import org.apache.hadoop.hdfs.net.Peer;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.Sender;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.ClientReadStatusProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.server.datanode.CachingStrategy;
import org.apache.hadoop.hdfs.shortcircuit.ClientMmap;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.util.DataChecksum;

/**
 * A small part of a block, read by one request and one answer of Hadoop's protocol. The status that follows a read is sent with
 * the request: it says no more than that the connection can be used again, and a reader that finds damage closes the connection.
 */
final class SmallBlockReader implements BlockReader {
    /** Most bytes that are read so. */
    static final int MOST = 64 << 10;
    /** Reads in this process. */
    static final LongAdder READS = new LongAdder();
    private static final int REQUEST = 512;

    private final ByteBuffer bytes;
    private final int distance;

    private SmallBlockReader(ByteBuffer bytes, int distance) {
        this.bytes = bytes;
        this.distance = distance;
    }

    /**
     * What is read.
     *
     * @param path of the file, for messages
     * @param offset in the block
     */
    record Range(String path, LocatedBlock block, long offset, int length, boolean verify, CachingStrategy caching) { }

    /**
     * Reads.
     *
     * @return null when Hadoop's reader shall try: it finds the same fault, and knows what to do
     * @throws IOException when a new connection's DataNode is silent for too long, or the thread is interrupted
     */
    static BlockReader read(DFSClient client, Range range, InetSocketAddress address, DatanodeInfo node) throws IOException {
        PeerCache peers = client.getClientContext().getPeerCache();
        Peer kept = peers.get(node, false);
        Peer peer = kept;
        boolean good = false;
        try {
            if (peer == null) {
                peer = client.newConnectedPeer(address, range.block.getBlockToken(), node);
            }
            ByteBuffer bytes = ask(client, range, peer);
            good = bytes != null;
            if (good) {
                READS.increment();
            }
            return good ? new SmallBlockReader(bytes, client.getClientContext().getNetworkDistance(node)) : null;
        } catch (IOException e) {
            if (kept == null && (e instanceof InterruptedIOException || e instanceof ClosedByInterruptException)) {
                throw e;
            }
            DFSClient.LOG.debug("Hadoop's reader reads {} of {}: {}", range.block.getBlock(), range.path, e.toString());
            return null;
        } finally {
            if (good) {
                peers.put(node, peer);
            } else {
                IOUtils.closeStream(peer);
            }
        }
    }

    /** Null: the connection is of a kind that Hadoop's reader knows. */
    private static ByteBuffer ask(DFSClient client, Range range, Peer peer) throws IOException {
        if (peer.getInputStreamChannel() == null) {
            return null;
        }
        ByteArrayOutputStream request = new ByteArrayOutputStream(REQUEST);
        new Sender(new DataOutputStream(request)).readBlock(range.block.getBlock(), range.block.getBlockToken(),
            client.getClientName(), range.offset, range.length, range.verify, range.caching);
        ClientReadStatusProto.newBuilder().setStatus(range.verify ? Status.CHECKSUM_OK : Status.SUCCESS).build()
            .writeDelimitedTo(request);
        peer.getOutputStream().write(request.toByteArray());
        peer.getOutputStream().flush();
        return new AnswerInput(peer.getInputStreamChannel(), range.length, range.verify, range.path)
            .read(range.offset, range.length);
    }

    @Override
    public int read(byte[] into, int offset, int length) {
        int count = Math.min(length, bytes.remaining());
        bytes.get(into, offset, count);
        return count == 0 && length > 0 ? -1 : count;
    }

    @Override
    public int read(ByteBuffer into) {
        int count = Math.min(into.remaining(), bytes.remaining());
        if (count == 0) {
            return -1;
        }
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
