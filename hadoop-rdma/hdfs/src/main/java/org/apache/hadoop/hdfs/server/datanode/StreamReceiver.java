// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.hdfs.DFSPacket;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.ReplicaOutputStreams;
import org.apache.hadoop.hdfs.server.datanode.metrics.DataNodePeerMetrics;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.verbena.hadoop.net.CorePeer;
import org.verbena.hadoop.net.CoreSocketChannel;

/**
 * Receives a block from a stream of the core on one thread: packets, and the acknowledgements of the DataNodes after this one.
 * Opening, syncing and closing of the replica are Hadoop's, whose receiver it is. Where it does not apply, all of it is Hadoop's:
 * a next DataNode by TCP, checksums that have to be translated, storage other than plain files.
 *
 * <p>A packet is sent on before the next one is read, and stored with the few that have come together with it. So no queue of
 * packets grows here. Before it is acknowledged, and before this thread waits for another one, {@link #publish} stores it and shows
 * it to readers.
 */
final class StreamReceiver extends BlockReceiver {
    private static final Logger LOG = DataNode.LOG;
    private static final long RESTART_PAUSE_MILLIS = 1000;

    private final DataNode dataNode;
    private final CorePeer peer;
    private final WriteRequest request;
    private final long begun = System.nanoTime();
    private boolean dirSync;
    private volatile AckChain acks;
    /** To Hadoop's own. */
    private volatile boolean left;
    private Downstream next;
    private PipelineWait waits;
    private ReplicaWriter writer;
    private ChunkSums sums;
    private DataTransferThrottler throttler;

    /** Opens the replica. */
    StreamReceiver(DataNode dataNode, CorePeer peer, DataInputStream in, WriteRequest request) throws IOException {
        super(request.block(), request.storageType(), in, peer.getRemoteAddressString(), peer.getLocalAddressString(),
            request.stage(), request.newStamp(), request.minBytes(), request.maxBytes(), request.client(), request.source(),
            dataNode, request.checksum(), request.caching(), request.lazyPersist(), request.pinning(), request.storageId());
        this.dataNode = dataNode;
        this.peer = peer;
        this.request = request;
    }

    ReplicaInPipeline replica() {
        return (ReplicaInPipeline) getReplica();
    }

    ExtendedBlock block() {
        return request.block();
    }

    /**
     * Receives all packets.
     *
     * @param to the next DataNode, or null
     * @param reply where acknowledgements go
     */
    void receive(Downstream to, DataOutputStream reply) throws IOException {
        throttler = dataNode.xserver.getWriteThrottler();
        ReplicaOutputStreams streams = ReceiverInternals.streams(this);
        sums = ChunkSums.of(request.checksum());
        if (!applies(to, streams)) {
            left = true;
            OwnReceiver.LEFT.increment();
            receiveBlock(to == null ? null : to.out(), to == null ? null : to.in(), reply, to == null ? null : to.node(), throttler,
                request.targets(), false);
            return;
        }
        OwnReceiver.TAKEN.increment();
        next = to;
        writer = new ReplicaWriter(this, streams);
        dirSync = dataNode.getDnConf().syncOnClose;
        ReceiverInternals.setSyncOnClose(this, dirSync);
        if (isAcknowledged()) {
            acks = new AckChain(this, next, reply, this::finishClientsBlock);
            int longest = dataNode.getDnConf().socketTimeout;
            peer.setWriteTimeout(longest == 0 ? dataNode.getDnConf().socketWriteTimeout : longest);
        }
        receive();
    }

    private boolean isAcknowledged() {
        return request.isClient() && !request.isTransfer();
    }

    private boolean applies(Downstream to, ReplicaOutputStreams streams) {
        return sums != null && request.checksum().equals(streams.getChecksum()) && ReplicaWriter.canWrite(streams)
            && (to == null || to.channel() != null && isAcknowledged());
    }

    private void receive() throws IOException {
        boolean complete = false;
        try {
            receiveAll(peer.writersChannel());
            complete = true;
        } catch (IOException e) {
            releaseSpace();
            if (!dataNode.isRestarting() || !isAcknowledged()) { // what follows the end of a copy says that it is complete
                LOG.info("Exception for {}", block(), e);
                throw e;
            }
            LOG.info("Shutting down for restart ({}).", block());
        } finally {
            Thread.interrupted(); // it has had its effect
            if (!complete) {
                giveUp();
            }
            if (acks != null) {
                acks.end();
            }
        }
    }

    /** A deletion gives back all that is left; what was acknowledged afterwards is given back once more, and counts below zero. */
    private void releaseSpace() {
        if (replica().getReplicaInfo().getBytesReserved() > 0) {
            replica().releaseAllBytesReserved();
        }
    }

    private void receiveAll(CoreSocketChannel from) throws IOException {
        try (PipelineWait waiting = new PipelineWait(from, dataNode.getDnConf().socketTimeout, next, acks);
                PacketInput input = new PacketInput(peer, from, waiting::awaitInput)) {
            waits = waiting;
            try {
                receivePackets(input);
                finish();
            } finally {
                keepRest();
            }
        }
    }

    private void receivePackets(PacketInput input) throws IOException {
        boolean last = false;
        while (!last) {
            Packet packet = input.next();
            last = packet.isLast();
            receivePacket(packet);
            int length = packet.length();
            waitForAcks(throttler == null && input.follows()); // a throttler sleeps
            if (!writer.holds()) {
                input.release();
            }
            if (throttler != null) {
                throttler.throttle(length);
            }
        }
    }

    /** After a failure: what has come counts for a recovery, and lies where it has come. */
    private void keepRest() {
        Thread.interrupted(); // it has had its effect, and would close the file
        try {
            publish();
        } catch (IOException e) {
            LOG.debug("{}: the last packets do not count", block(), e);
        } finally {
            cutOff();
        }
    }

    private void cutOff() {
        try {
            writer.cutOff();
        } catch (IOException e) {
            LOG.warn("{}: its file may be longer than the replica, whose lease is not recovered then", block(), e);
        }
    }

    /**
     * Sends on what has come; a client that never waits for acknowledgements is made to.
     *
     * @param more another packet has come
     */
    private void waitForAcks(boolean more) throws IOException {
        if (acks == null) {
            if (!more || writer.isFull()) {
                publish();
            }
            return;
        }
        if (next != null) {
            waits.pollAcks();
            while (acks.isFull() && !acks.isBroken()) {
                waits.awaitAck();
            }
        }
        if (!more || acks.isLate()) {
            acks.flush();
        }
    }

    private void receivePacket(Packet packet) throws IOException {
        long nanos = System.nanoTime();
        if (packet.offset() > replica().getNumBytes()) {
            throw new IOException("Received an out-of-sequence packet for " + block() + "from " + inAddr + " at offset "
                + packet.offset() + ". Expecting packet starting at " + replica().getNumBytes());
        }
        if (packet.sync() && packet.isLast()) {
            ReceiverInternals.setSyncOnClose(this, false); // it is synced below
            dirSync = true;
        }
        if (replica().getNumBytes() < packet.end()) {
            replica().setNumBytes(packet.end());
        }
        if (packet.seqno() < 0 && packet.length() == 0 && DataNodeFaultInjector.get().dropHeartbeatPacket()) {
            return;
        }
        if (packet.seqno() != DFSPacket.HEART_BEAT_SEQNO) {
            dataNode.metrics.incrPacketsReceived();
        }
        sendOn(packet);
        if (packet.length() > 0) {
            verify(packet);
            writer.write(packet);
        }
        if (packet.sync()) {
            writer.sync(packet.seqno());
        }
        if (acks != null) {
            acks.stored(packet, nanos);
        }
    }

    /** What is stored is seen by readers. */
    void publish() throws IOException {
        writer.publish();
    }

    // ------------------------------------------------------------------------------------------ the next DataNode

    private void sendOn(Packet packet) throws IOException {
        if (next == null || acks.isBroken()) {
            return;
        }
        long begun = Time.monotonicNow();
        try {
            DataNodeFaultInjector.get().stopSendingPacketDownstream(next.node());
        } catch (IOException e) {
            acks.broke(e);
            return;
        }
        waits.send(packet.whole().duplicate(), begun);
        if (!acks.isBroken()) {
            acks.sent();
            account(packet, Time.monotonicNow() - begun);
        }
    }

    private void account(Packet packet, long took) throws IOException {
        DataNodeFaultInjector.get().logDelaySendingPacketDownstream(next.node(), took);
        DatanodeInfo[] targets = request.targets();
        DataNodePeerMetrics metrics = dataNode.getPeerMetrics();
        if (dataNode.getDnConf().peerStatsEnabled && metrics != null && targets.length == 1) { // else it is not known who is slow
            metrics.addSendPacketDownstream(targets[0].getInfoSecurePort() != 0 ? targets[0].getInfoSecureAddr()
                : targets[0].getInfoAddr(), took);
        }
        if (took > dataNode.getDnConf().getSlowIoWarningThresholdMs()) {
            dataNode.metrics.incrPacketsSlowWriteToMirror();
            LOG.warn("Slow BlockReceiver write packet to mirror took {}ms (threshold={}ms), downstream DNs={}, blockId={}, "
                + "seqno={}", took, dataNode.getDnConf().getSlowIoWarningThresholdMs(), Arrays.toString(targets),
                block().getBlockId(), packet.seqno());
        }
    }

    // -------------------------------------------------------------------------------------------------- checksums

    /** The last DataNode checks what a client sends, every one what a DataNode sends. */
    private void verify(Packet packet) throws IOException {
        if (next != null || !packet.sums().hasRemaining()
                || packet.sums().remaining() != request.checksum().getChecksumSize(packet.length())) {
            return;
        }
        int wrong = sums.firstWrong(packet.data(), packet.sums());
        if (wrong < 0) {
            return;
        }
        LOG.warn("Checksum error in block {} from {}, specific offsets are: offsetInBlock = {} offsetInPacket = {}", block(),
            sender(), packet.offset(), wrong);
        if (request.source() != null && request.isDatanode()) {
            reportSource();
        }
        if (acks != null) {
            acks.refuse(packet);
        }
        throw new IOException("Terminating due to a checksum error. Unexpected checksum mismatch while writing " + block()
            + " from " + sender());
    }

    /** A stream's port tells nobody whose it is, so the DataNode that copies a replica is named, too. */
    private String sender() {
        return request.source() == null ? inAddr : inAddr + ", a copy from DataNode " + request.source();
    }

    private void reportSource() {
        try {
            LOG.info("report corrupt {} from datanode {} to namenode", block(), request.source());
            dataNode.reportRemoteBadBlock(request.source(), block());
        } catch (IOException e) {
            LOG.warn("Failed to report bad {} from datanode {} to namenode", block(), request.source(), e);
        }
    }

    // -------------------------------------------------------------------------------------------------------- end

    /** All packets are stored. */
    private void finish() throws IOException {
        if (acks == null) {
            finishCopy();
            return;
        }
        while (!acks.isEmpty() && !acks.isBroken()) {
            waits.awaitAck();
        }
        if (acks.isBroken()) {
            waits.awaitInput(); // the client ends the stream, as it has learnt of the loss
            throw new IOException("the pipeline of " + block() + " has broken behind this DataNode");
        }
    }

    private void finishCopy() throws IOException {
        publish();
        ReplicaHandler volume = ReceiverInternals.claimReplicaHandler(this);
        try {
            close();
            block().setNumBytes(replica().getNumBytes());
            if (request.stage() == BlockConstructionStage.TRANSFER_RBW) {
                dataNode.data.convertTemporaryToRbw(block());
            } else {
                dataNode.data.finalizeBlock(block(), dirSync);
            }
        } finally {
            volume.close();
        }
        dataNode.metrics.incrBlocksWritten();
    }

    private void finishClientsBlock() throws IOException {
        ReplicaHandler volume = ReceiverInternals.claimReplicaHandler(this); // no volume is removed meanwhile
        try {
            close();
            block().setNumBytes(replica().getNumBytes());
            dataNode.data.finalizeBlock(block(), dirSync);
        } finally {
            volume.close();
        }
        if (request.pinning()) {
            dataNode.data.setPinning(block());
        }
        dataNode.closeBlock(block(), null, replica().getStorageUuid(), replica().isOnTransientStorage());
        if (DataNode.CLIENT_TRACE_LOG.isInfoEnabled()) {
            DataNode.CLIENT_TRACE_LOG.info(String.format(DataNode.DN_CLIENTTRACE_FORMAT, inAddr, myAddr, replica().getVolume(),
                block().getNumBytes(), "HDFS_WRITE", request.client(), 0,
                dataNode.getDNRegistrationForBP(block().getBlockPoolId()).getDatanodeUuid(), block(), System.nanoTime() - begun));
        } else {
            LOG.info("Received {} on volume {} size {} from {}", block(), replica().getVolume(), block().getNumBytes(), inAddr);
        }
    }

    private void giveUp() throws IOException {
        boolean restarts = dataNode.isRestarting() && isAcknowledged();
        if (restarts) {
            markForRestart();
        }
        IOUtils.closeStream(this);
        ReceiverInternals.cleanupBlock(this);
        if (restarts) {
            pause(RESTART_PAUSE_MILLIS); // a client that sees the stream end before the message would take it for a failure
        }
    }

    /** An interrupt ends it, and is left for the thread's next wait. */
    static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The DataNode finds the replica as it was, if it is back in time. */
    private void markForRestart() {
        try (Writer out = new OutputStreamWriter(replica().createRestartMetaStream(), StandardCharsets.UTF_8)) {
            out.write(Long.toString(Time.now() + dataNode.getDnConf().restartReplicaExpiry));
        } catch (IOException e) {
            LOG.debug("{}: the client recovers it in the common way", block(), e);
        } finally {
            IOUtils.closeStream(ReceiverInternals.streams(this).getDataOut());
        }
    }

    @Override
    public void sendOOB() throws IOException, InterruptedException {
        AckChain told = acks;
        if (told != null) {
            told.tell(PipelineAck.getRestartOOBStatus());
        } else if (left) {
            super.sendOOB();
        }
    }
}
