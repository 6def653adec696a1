// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.Checksum;
import org.apache.hadoop.fs.FSOutputSummer;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.ReplicaOutputStreams;
import org.apache.hadoop.util.DataChecksum;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;

/**
 * Writes packets to the files of a replica, the data out of the packets' own buffers. Packets that have come together are written
 * together: the kernel takes large pages for one large write, and two thirds of the time. {@link #publish} is to follow before
 * anybody hears that the packets are stored.
 *
 * <p>W1 bytes that are on disk are not written again: after a recovery a client sends packets again. W2 the checksum of a chunk
 * covers all of the chunk's bytes on disk, when it is written by several packets as well. W3 readers see a length only with the
 * checksum of its last chunk. W4 when a writer has gone, the files are as long as the replica, however its last write has ended.
 */
final class ReplicaWriter {
    private static final Logger LOG = DataNode.LOG;

    private final StreamReceiver receiver;
    private final DataNode dataNode;
    private final ReplicaOutputStreams streams;
    private final FileChannel file;
    private final int chunk;
    private final int sumSize;
    /** Of packets that wait to be written: their data, and their checksums. */
    private final List<ByteBuffer> data = new ArrayList<>(AckOutput.TOGETHER);
    private final ByteArrayOutputStream sums = new ByteArrayOutputStream();
    /** The block's bytes in the file, and with those that wait. */
    private long written;
    private long taken;
    /** Those that readers see. */
    private long published;
    /** The checksum of the last chunk that is written. */
    private byte[] lastSum;
    private long lastSeqno;
    /** A write of checksums has begun and not ended: once it has failed, nobody knows which of them are in their file. */
    private boolean unsure;

    ReplicaWriter(StreamReceiver receiver, ReplicaOutputStreams streams) {
        this.receiver = receiver;
        this.dataNode = receiver.getDataNode();
        this.streams = streams;
        this.file = ((FileOutputStream) streams.getDataOut()).getChannel();
        this.chunk = streams.getChecksum().getBytesPerChecksum();
        this.sumSize = streams.getChecksum().getChecksumSize();
        this.written = receiver.replica().getBytesOnDisk();
        this.taken = written;
        this.published = written;
    }

    /** Whether the data of replicas can be written so. */
    static boolean canWrite(ReplicaOutputStreams streams) {
        return isPlain(streams.getDataOut()) && !streams.isTransientStorage();
    }

    /** Whether writing to the file's channel is all that the stream does: that of a shared path looks at errors as well. */
    static boolean isPlain(OutputStream out) {
        return out instanceof FileOutputStream
            && (out.getClass() == FileOutputStream.class || out.getClass().getEnclosingClass() == FileIoProvider.class);
    }

    /** Whether buffers of packets are still needed. */
    boolean holds() {
        return !data.isEmpty();
    }

    boolean isFull() {
        return data.size() >= AckOutput.TOGETHER;
    }

    /**
     * Takes a packet that has data. It may wait for others, and its buffer stays needed meanwhile.
     *
     * @throws IOException when it does not fit to what is there, or the disk fails
     */
    void write(Packet packet) throws IOException {
        checkSums(packet);
        if (taken >= packet.end()) {
            return;
        }
        checkPlace(packet);
        boolean ofMiddle = packet.offset() % chunk != 0;
        boolean alone = ofMiddle || taken % chunk != 0;
        if (alone) {
            publish(); // the next lines read the files
        }
        Checksum before = ofMiddle ? ReceiverInternals.computePartialChunkCrc(receiver, taken,
            BlockMetadataHeader.getHeaderSize() + taken / chunk * sumSize) : null;
        int skipped = (int) (taken - packet.offset());
        ByteBuffer fresh = packet.data().slice(skipped, packet.length() - skipped);
        sums.writeBytes(ofMiddle ? sumOfChunk(before, fresh) : sumsFrom(packet, skipped / chunk));
        data.add(fresh);
        taken = packet.end();
        lastSeqno = packet.seqno();
        if (alone) {
            store();
        }
    }

    /** What waits is written, the data first. */
    private void store() throws IOException {
        if (data.isEmpty()) {
            return;
        }
        ByteBuffer[] parts = data.toArray(new ByteBuffer[0]);
        byte[] theirs = sums.toByteArray();
        data.clear(); // also if it fails: what is in the file then is not known
        sums.reset();
        long took = writeData(parts);
        unsure = true;
        if (written % chunk != 0) {
            ReceiverInternals.adjustCrcFilePosition(receiver);
        }
        ReceiverInternals.checksumOut(receiver).write(theirs);
        unsure = false;
        lastSum = Arrays.copyOfRange(theirs, theirs.length - sumSize, theirs.length);
        dataNode.metrics.incrBytesWritten((int) (taken - written));
        dataNode.metrics.incrTotalWriteTime(took);
        written = taken;
    }

    /** All that was taken is in the files, and readers see the length. */
    void publish() throws IOException {
        store();
        if (published < written) {
            flush(false, lastSeqno);
            show();
        }
    }

    private void flush(boolean sync, long seqno) throws IOException {
        if (unsure) {
            throw new IOException("checksums of " + receiver.block() + " could not be written");
        }
        unsure = true;
        try {
            receiver.flushOrSync(sync, seqno);
        } catch (ClosedByInterruptException e) {
            unsure = false; // the writer is stopped while it syncs, which follows the write of the checksums
            throw e;
        }
        unsure = false;
    }

    /**
     * After a failure: the files end where the replica does. Hadoop recovers no lease of a replica whose file is longer. Nobody has
     * heard of the bytes that go. Checksums that wait in their stream go, too: its end would write them.
     */
    void cutOff() throws IOException {
        ExtendedBlock block = receiver.block();
        ReplicaInfo replica = receiver.replica().getReplicaInfo();
        if (published < taken && OwnReads.replica(dataNode, block.getBlockPoolId(), block.getBlockId()) == replica) {
            ReceiverInternals.dropChecksums(receiver);
            try {
                ReplicaCut.cut(replica, streams.getChecksum(), published);
            } catch (NoSuchFileException e) {
                LOG.debug("{} was deleted while its writer ended", block, e);
            }
        }
    }

    /** As {@link #publish}, and both files go to the disk. */
    void sync(long seqno) throws IOException {
        store();
        flush(true, seqno);
        if (published < written) {
            show();
        }
    }

    private void show() throws IOException {
        receiver.replica().setLastChecksumAndDataLen(written, lastSum);
        published = written;
        ReceiverInternals.manageWriterOsCache(receiver, written, lastSeqno);
    }

    private void checkSums(Packet packet) throws IOException {
        int expected = streams.getChecksum().getChecksumSize(packet.length());
        int have = packet.sums().remaining();
        if (have != 0 && have != expected) {
            throw new IOException("Invalid checksum length: received length is " + have + " but expected length is " + expected);
        }
    }

    private void checkPlace(Packet packet) throws IOException {
        if (taken < packet.offset()) {
            throw new IOException("a packet of " + receiver.block() + " begins at " + packet.offset() + ", beyond the " + taken
                + " bytes on disk");
        }
        int into = (int) (packet.offset() % chunk);
        if (into != 0 && into + packet.length() > chunk) {
            throw new IOException("Unexpected packet data length for " + receiver.block() + " from " + receiver.inAddr
                + ": a partial chunk must be sent in an individual packet (offset = " + packet.offset() + ", data length = "
                + packet.length() + ", bytesPerChecksum = " + chunk + ")");
        }
    }

    /** Milliseconds that it took. */
    private long writeData(ByteBuffer[] parts) throws IOException {
        long begun = Time.monotonicNow();
        try {
            for (long left = taken - written; left > 0;) {
                left -= file.write(parts);
            }
        } catch (ClosedChannelException e) {
            throw e; // by an interrupt, or the end of the receiver: no fault of the disk
        } catch (IOException e) {
            dataNode.checkDiskErrorAsync(receiver.replica().getReplicaInfo().getVolume());
            throw e;
        }
        DataNodeFaultInjector.get().delayWriteToDisk();
        long took = Time.monotonicNow() - begun;
        if (took > dataNode.getDnConf().getSlowIoWarningThresholdMs()) {
            dataNode.metrics.incrPacketsSlowWriteToDisk();
            LOG.warn("Slow BlockReceiver write data to disk cost: {}ms (threshold={}ms), volume={}, block={}, seqno={}", took,
                dataNode.getDnConf().getSlowIoWarningThresholdMs(), receiver.replica().getReplicaInfo().getVolume(),
                receiver.block(), lastSeqno);
        }
        return took;
    }

    /** The packet ends or goes on within one chunk, of which a part is on disk. */
    private byte[] sumOfChunk(Checksum before, ByteBuffer fresh) {
        byte[] bytes = new byte[fresh.limit()];
        fresh.get(0, bytes);
        before.update(bytes, 0, bytes.length);
        return FSOutputSummer.convertToByteStream(before, sumSize);
    }

    /** The packet's own sums, of its chunks from one on. */
    private byte[] sumsFrom(Packet packet, int first) {
        ByteBuffer sums = packet.sums();
        if (!sums.hasRemaining()) {
            sums = ByteBuffer.allocate(streams.getChecksum().getChecksumSize(packet.length()));
            DataChecksum.newDataChecksum(streams.getChecksum().getChecksumType(), chunk).calculateChunkedSums(packet.data(), sums);
        }
        byte[] bytes = new byte[sums.limit() - first * sumSize];
        sums.get(first * sumSize, bytes);
        return bytes;
    }
}
