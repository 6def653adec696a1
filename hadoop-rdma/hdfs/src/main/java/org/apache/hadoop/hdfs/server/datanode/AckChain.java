// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;

/**
 * The acknowledgements of a block that a client writes, on the thread that receives its packets. A packet is acknowledged when
 * it is stored here and the DataNodes after this one have acknowledged it. Restart messages come from another thread.
 *
 * <p>A1 the order of acknowledgements is that of packets. A2 the replica's acknowledged length grows before the client hears of
 * it. A3 after {@link #broke} no packet is acknowledged: the client has learnt that the next DataNode is lost. A4 an
 * acknowledgement waits for the next one only while packets follow each other at once; those of the last packet and of one that
 * is synced, all that say something else, and those after half a second without one, leave at once. A5 readers see a packet
 * before its acknowledgement leaves.
 */
final class AckChain {
    private static final Logger LOG = DataNode.LOG;
    /** A client of Hadoop has 80 packets in flight at most. */
    private static final int MOST_PENDING = 1024;

    /** What happens before the last packet is acknowledged: the block becomes final. */
    @FunctionalInterface
    interface Finish {
        void run() throws IOException;
    }

    /** A packet that is stored here. nanos: when it came; millis: when it was sent on. */
    private record Pending(long seqno, boolean last, boolean urgent, long end, long nanos, long millis) { }

    private final StreamReceiver receiver;
    private final DataNode dataNode;
    private final Downstream next;
    private final AckOutput reply;
    private final Finish finish;
    private final Deque<Pending> pending = new ArrayDeque<>();
    /** Stored, and not yet shown to readers. */
    private final Deque<Pending> stored = new ArrayDeque<>();
    private long sentMillis = Time.monotonicNow();
    private boolean broken;
    private volatile boolean running = true;

    /** next: null when this is the last DataNode. */
    AckChain(StreamReceiver receiver, Downstream next, DataOutputStream reply, Finish finish) {
        this.receiver = receiver;
        this.dataNode = receiver.getDataNode();
        this.next = next;
        this.reply = new AckOutput(reply, Time::monotonicNow);
        this.finish = finish;
    }

    /** Packets that the next DataNode has not acknowledged. */
    boolean isEmpty() {
        return pending.isEmpty() && stored.isEmpty();
    }

    boolean isFull() {
        return pending.size() >= MOST_PENDING;
    }

    /** The next DataNode is lost. */
    boolean isBroken() {
        return broken;
    }

    /** Since when the next DataNode owes an acknowledgement, in monotonic milliseconds; MAX_VALUE when it owes none. */
    long owedSince() {
        return pending.isEmpty() ? Long.MAX_VALUE : pending.peek().millis();
    }

    /** A packet has gone to the next DataNode. */
    void sent() {
        sentMillis = Time.monotonicNow();
    }

    /** A packet is stored. nanos: when it came. */
    void stored(Packet packet, long nanos) throws IOException {
        Pending one = new Pending(packet.seqno(), packet.isLast(), packet.isLast() || packet.sync(), packet.end(), nanos,
            Time.monotonicNow());
        stored.add(one);
        if (one.urgent() || stored.size() >= AckOutput.TOGETHER) {
            publish();
        }
    }

    /** What is stored is shown to readers, and may be acknowledged. */
    private void publish() throws IOException {
        if (stored.isEmpty()) {
            return;
        }
        receiver.publish();
        for (Pending one = stored.poll(); one != null; one = stored.poll()) {
            if (next == null) {
                settle(one, null, 0);
            } else if (!broken) {
                pending.add(one);
            }
        }
    }

    /** A packet is not what its sender says. */
    void refuse(Packet packet) throws IOException {
        publish();
        send(new PipelineAck(packet.seqno(), new int[] {header(Status.ERROR_CHECKSUM)}, 0), 0, true);
    }

    /** Reads an acknowledgement of the next DataNode and sends it on. It may wait for the rest of one that has begun. */
    void relay() throws IOException {
        PipelineAck ack = new PipelineAck();
        try {
            DataNodeFaultInjector.get().failPipeline(receiver.replica(), next.node());
            ack.readFields(next.in());
        } catch (IOException e) {
            if (e instanceof EOFException && !sentInTime()) {
                LOG.warn("{} has closed its connection for {}, maybe because this DataNode, or one before it, was slow",
                    next.node(), receiver.block(), e);
                throw e;
            }
            broke(e);
            return;
        }
        long now = System.nanoTime();
        if (pending.isEmpty()) {
            publish(); // it may be of one of these
        }
        Pending one = pending.peek();
        if (ack.getOOBStatus() != null || ack.getSeqno() == PipelineAck.UNKOWN_SEQNO) {
            LOG.info("{} says for {}: {}", next.node(), receiver.block(), ack);
            send(with(ack, PipelineAck.UNKOWN_SEQNO, header(Status.SUCCESS), 0), 0, true);
        } else if (one == null || one.seqno() != ack.getSeqno()) {
            broke(new IOException(next.node() + " acknowledges packet " + ack.getSeqno() + " of " + receiver.block()
                + " instead of " + (one == null ? "none" : one.seqno())));
        } else {
            count(now - one.nanos(), ack);
            settle(one, ack, now - one.nanos());
            pending.remove();
        }
    }

    private void count(long nanos, PipelineAck ack) {
        if (nanos >= ack.getDownstreamAckTimeNanos()) {
            dataNode.metrics.addPacketAckRoundTripTimeNanos(nanos - ack.getDownstreamAckTimeNanos());
        }
    }

    private void settle(Pending one, PipelineAck ack, long nanos) throws IOException {
        if (one.last()) {
            finish.run();
            DataNodeFaultInjector.get().delayAckLastPacket();
        }
        int mine = header(Status.SUCCESS);
        send(ack == null ? new PipelineAck(one.seqno(), new int[] {mine}, 0) : with(ack, one.seqno(), mine, nanos), one.end(),
            one.urgent());
    }

    /** An acknowledgement with this DataNode's part before those of the others. */
    private PipelineAck with(PipelineAck others, long seqno, int mine, long nanos) throws IOException {
        int[] replies = new int[others.getNumOfReplies() + 1];
        replies[0] = mine;
        for (int i = 1; i < replies.length; i++) {
            replies[i] = others.getHeaderFlag(i - 1);
        }
        DataNodeFaultInjector.get().markSlow(next.node(), replies);
        if (replies.length > 1 && PipelineAck.getStatusFromHeader(replies[1]) == Status.ERROR_CHECKSUM) {
            throw new IOException("Shutting down writer and responder since the down streams reported the data sent by this "
                + "thread is corrupt: " + receiver.block() + " to " + next.node());
        }
        return new PipelineAck(seqno, replies, nanos);
    }

    /** The next DataNode is lost: the client hears of it once, and sets up another pipeline. */
    void broke(IOException cause) throws IOException {
        if (Thread.currentThread().isInterrupted()) {
            throw cause;
        }
        LOG.info("{}: {} of its pipeline is lost", receiver.block(), next.node(), cause);
        broken = true;
        send(new PipelineAck(PipelineAck.UNKOWN_SEQNO, new int[] {header(Status.SUCCESS), header(Status.ERROR)}, 0), 0, true);
    }

    /** False when this DataNode, or one before it, has sent the next one nothing for so long that it may have given up. */
    private boolean sentInTime() {
        return Time.monotonicNow() - sentMillis <= dataNode.getDnConf().socketTimeout * 9L / 10;
    }

    private int header(Status status) {
        String pool = receiver.block().getBlockPoolId();
        return PipelineAck.combineHeader(dataNode.getECN(), status, dataNode.getSLOWByBlockPoolId(pool));
    }

    private void send(PipelineAck ack, long end, boolean atOnce) throws IOException {
        ReplicaInPipeline replica = receiver.replica();
        if (ack.isSuccess() && end > replica.getBytesAcked()) {
            replica.setBytesAcked(end);
        }
        long begun = Time.monotonicNow();
        DataNodeFaultInjector.get().delay();
        DataNodeFaultInjector.get().delaySendingAckToUpstream(receiver.inAddr);
        reply.write(ack, atOnce);
        long took = Time.monotonicNow() - begun;
        DataNodeFaultInjector.get().logDelaySendingAckToUpstream(receiver.inAddr, took);
        checkPace(took);
    }

    private void checkPace(long took) {
        if (took > dataNode.getDnConf().getSlowIoWarningThresholdMs()) {
            dataNode.metrics.incrSlowAckToUpstreamCount();
            LOG.warn("Slow PacketResponder send ack to upstream took {}ms (threshold={}ms), upstream={}, blockId={}", took,
                dataNode.getDnConf().getSlowIoWarningThresholdMs(), receiver.inAddr, receiver.block().getBlockId());
        }
    }

    /** A packet has waited for others to be stored with for too long. */
    boolean isLate() {
        return !stored.isEmpty() && Time.monotonicNow() - stored.peek().millis() > AckOutput.MOST_SILENT_MILLIS;
    }

    /** What was acknowledged leaves now. */
    void flush() throws IOException {
        publish();
        if (!reply.isEmpty()) {
            long begun = Time.monotonicNow();
            reply.flush();
            checkPace(Time.monotonicNow() - begun);
        }
    }

    /** Sends a message about this DataNode. Any thread. */
    void tell(Status status) throws IOException, InterruptedException {
        if (!running) {
            LOG.info("Cannot send OOB response {}: {} has ended", status, receiver.block());
            return;
        }
        LOG.info("Sending an out of band ack of type {}", status);
        PipelineAck message = new PipelineAck(PipelineAck.UNKOWN_SEQNO, new int[] {header(status)}, 0);
        if (!reply.tell(message, dataNode.getOOBTimeout(status))) {
            throw new IOException("Could not send OOB response in time: " + status + " of " + receiver.block());
        }
    }

    /** Nothing is sent any more. */
    void end() {
        running = false;
    }
}
