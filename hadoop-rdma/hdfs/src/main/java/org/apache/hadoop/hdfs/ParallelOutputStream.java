// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.util.EnumSet;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.hdfs.client.HdfsDataOutputStream.SyncFlag;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.util.DataChecksum;
import org.apache.hadoop.util.Progressable;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A new file that is written at its close, if it is small until then: the client sends all packets to each DataNode by a
 * connection of its own, and waits once. Hadoop's stream would set up a pipeline, send the data, then the end of the block, with
 * a wait for each, and two threads.
 *
 * <p>Hadoop's packets wait in Hadoop's queue. A larger file, {@code hflush} and {@code hsync} start Hadoop's thread, which
 * takes the queue, and the stream is Hadoop's from then on. So does a replica that fails: the block is abandoned with all
 * replicas, and Hadoop's thread writes the same packets to another block. Only {@code close} has promised anything, and it has
 * not returned yet.
 */
final class ParallelOutputStream extends DFSOutputStream {
    private static final Logger LOG = LoggerFactory.getLogger(ParallelOutputStream.class);
    private static final long RESTART_PAUSE_MS = 1000;
    /** Packets of a client that wait, in Hadoop's own measure; more would block the writer. */
    private final int packetLimit;
    private final long byteLimit;
    private final DataChecksum checksum;
    /** Hadoop's thread writes. Guarded by this. */
    private boolean streaming;
    /** The block is written, by this class. Guarded by this. */
    private boolean written;
    /** The only DataNode restarts, and Hadoop's client would wait for it. Guarded by this. */
    private boolean awaitsRestart;
    /** What of {@link HeldBytes} is this stream's. Guarded by this. */
    private long held;

    /**
     * Makes the stream of a file that the NameNode has created.
     *
     * @param byteLimit largest file that is written at its close
     */
    ParallelOutputStream(DFSClient client, String path, HdfsFileStatus file, EnumSet<CreateFlag> flags, Progressable progress,
            DataChecksum checksum, long byteLimit) {
        super(client, path, file, flags, progress, checksum, null, true);
        this.checksum = checksum;
        this.byteLimit = Math.min(byteLimit, file.getBlockSize());
        this.packetLimit = client.getConf().getWriteMaxPackets();
    }

    private synchronized void stream() {
        if (!streaming && !written && !isClosed()) {
            streaming = true;
            letGo();
            start();
        }
    }

    private void letGo() {
        HeldBytes.sub(held);
        held = 0;
    }

    @Override
    void enqueueCurrentPacket() throws IOException {
        synchronized (this) {
            if (!streaming) {
                held += packetSize;
                if (!HeldBytes.add(packetSize) || streamer.getBytesCurBlock() > byteLimit
                    || streamer.getBytesCurBlock() == blockSize || streamer.dataQueue.size() >= packetLimit) {
                    stream();
                }
            }
        }
        super.enqueueCurrentPacket();
    }

    /** While packets wait, each is as large as all before it: a DataNode acknowledges few, and a small file takes little memory. */
    @Override
    protected synchronized void adjustChunkBoundary() {
        super.adjustChunkBoundary();
        long before = streamer.getBytesCurBlock();
        if (!streaming && before > packetSize) {
            computePacketChunkSize((int) Math.min(before, blockSize - before), bytesPerChecksum);
        }
    }

    @Override
    public void hflush() throws IOException {
        stream();
        super.hflush();
    }

    @Override
    public void hsync() throws IOException {
        stream();
        super.hsync();
    }

    @Override
    public void hsync(EnumSet<SyncFlag> flags) throws IOException {
        stream();
        super.hsync(flags);
    }

    /** The last step of a close before the NameNode completes the file: all that is queued goes to the DataNodes. */
    @Override
    protected synchronized void flushInternal() throws IOException {
        if (!streaming) {
            flushInternalWithoutWaitingAck();
            if (streamer.dataQueue.isEmpty() || writeFile()) {
                written = true;
                return;
            }
            stream();
        }
        super.flushInternal();
    }

    /** False: a replica failed, and the file has no block. */
    private boolean writeFile() throws IOException {
        long deadline = Time.monotonicNow() + dfsClient.getConf().getDatanodeRestartTimeout();
        while (!writeBlock()) {
            if (!awaitsRestart || Time.monotonicNow() > deadline) {
                return false;
            }
            pause(RESTART_PAUSE_MS);
        }
        return true;
    }

    private void pause(long milliseconds) throws InterruptedIOException {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            throw (InterruptedIOException) new InterruptedIOException(getSrc() + " is not complete").initCause(e);
        }
    }

    /** As {@link #writeFile}, without patience. */
    private boolean writeBlock() throws IOException {
        LocatedBlock block = addBlock(null, dfsClient, getSrc(), null, fileId, null, getAddBlockFlags());
        streamer.block.setCurrentBlock(block.getBlock());
        try (ReplicaWriters replicas = new ReplicaWriters(dfsClient, block)) {
            try {
                replicas.write(streamer.dataQueue, replica -> replica.request(blockSize, checksum, cachingStrategy.get()));
                streamer.block.setNumBytes(streamer.getBytesCurBlock());
                return true;
            } catch (IOException e) {
                if (isInterrupt(e)) {
                    throw e;
                }
                abandon(block, replicas.failing(), e);
                return false;
            }
        }
    }

    private static boolean isInterrupt(IOException e) {
        return e instanceof ClosedByInterruptException
            || e instanceof InterruptedIOException && !(e instanceof SocketTimeoutException);
    }

    private void abandon(LocatedBlock block, DatanodeInfo failing, IOException cause) throws IOException {
        LOG.info("{}: Hadoop's pipeline writes the file, as {} failed: {}", getSrc(), failing, cause.toString());
        dfsClient.getNamenode().abandonBlock(block.getBlock(), fileId, getSrc(), dfsClient.getClientName());
        streamer.block.setCurrentBlock(null);
        awaitsRestart |= cause instanceof ReplicaWriter.RestartException && block.getLocations().length == 1;
        if (failing != null && !awaitsRestart) {
            streamer.excludedNodes.put(failing, failing);
        }
    }

    /**
     * Completes the file. DataNodes report a finished replica to the NameNode while they acknowledge it, and in a pipeline the
     * first report is earlier than the last acknowledgement. Here the NameNode may need a moment more, and Hadoop's first pause
     * is 400 ms.
     */
    @Override
    protected synchronized void completeFile(ExtendedBlock last) throws IOException {
        long longest = dfsClient.getConf().getBlockWriteLocateFollowingInitialDelayMs();
        for (long pause = 1; written && last != null && pause < longest; pause *= 2) {
            if (dfsClient.getNamenode().complete(getSrc(), dfsClient.getClientName(), last, fileId)) {
                return;
            }
            pause(pause);
        }
        super.completeFile(last);
    }

    /** Hadoop's last step of every end of a stream. */
    @Override
    protected synchronized void closeThreads(boolean force) throws IOException {
        letGo();
        super.closeThreads(force);
    }
}
