// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.hadoop.fs.FsTracer;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DFSUtilClient;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.datatransfer.Op;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.security.token.SecretManager.InvalidToken;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.util.DataChecksum;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.verbena.hadoop.net.CorePeer;

/**
 * The operation WRITE_BLOCK of a stream, with the steps of Hadoop's own: token, replica, next DataNode, answer, packets, report
 * to the NameNode. The packets are {@link StreamReceiver}'s. The next DataNode has the request for a new block before this one
 * makes its replica: so all make theirs at once.
 */
final class WriteOperation extends WriteOnly {
    private static final Logger LOG = DataNode.LOG;
    private static final long PAUSE_MILLIS = 1000;

    private final DataNode dataNode;
    private final CorePeer peer;
    private final DataXceiver xceiver;
    private final DataOutputStream reply;
    private final long begun = Time.monotonicNow();
    private StreamReceiver receiver;
    private Downstream next;
    /** Why the next DataNode has not got the request. */
    private IOException unreached;

    /** xceiver: by which the server of data transfers knows the stream. */
    WriteOperation(DataNode dataNode, CorePeer peer, DataXceiver xceiver) {
        super(FsTracer.get(null));
        this.dataNode = dataNode;
        this.peer = peer;
        this.xceiver = xceiver;
        this.reply = new DataOutputStream(new BufferedOutputStream(peer.getOutputStream(),
            DFSUtilClient.getSmallBufferSize(dataNode.getConf())));
    }

    /** Serves the stream to its end. */
    void run() throws IOException {
        initialize(new DataInputStream(peer.peeked())); // unbuffered: packets may follow at once
        Op op = readOp();
        processOp(op);
    }

    @Override
    public void writeBlock(ExtendedBlock block, StorageType storageType, Token<BlockTokenIdentifier> token, String client,
            DatanodeInfo[] targets, StorageType[] targetTypes, DatanodeInfo source, BlockConstructionStage stage,
            int pipelineSize, long minBytes, long maxBytes, long newStamp, DataChecksum checksum, CachingStrategy caching,
            boolean lazyPersist, boolean pinning, boolean[] targetPinnings, String storageId, String[] targetIds)
            throws IOException {
        boolean lazy = lazyPersist && (dataNode.getDnConf().getAllowNonLocalLazyPersist() || peer.isLocal());
        WriteRequest request = new WriteRequest(block, storageType, token, client, targets, targetTypes, source, stage,
            pipelineSize, minBytes, maxBytes, newStamp, checksum, caching, lazy, pinning, targetPinnings, storageId, targetIds);
        Thread.currentThread().setName("DataXceiver for client " + (client.isEmpty() ? "" : client + " at ")
            + peer.getRemoteAddressString() + " [Receiving block " + block + "]");
        checkAccess(request);
        if (request.isTransfer() && targets.length > 0) {
            throw new IOException(stage + " of " + block + " has targets: a transfer goes to one DataNode");
        }
        long size = serve(request);
        dataNode.getMetrics().addWriteBlockOp(Time.monotonicNow() - begun);
        dataNode.getMetrics().incrWritesFromClient(peer.isLocal(), size);
    }

    private long serve(WriteRequest request) throws IOException {
        ExtendedBlock block = request.block();
        ExtendedBlock original = new ExtendedBlock(block);
        if (block.getNumBytes() == 0) {
            block.setNumBytes(dataNode.xserver.estimateBlockSize);
        }
        LOG.info("Receiving {} src: {} dest: {}", block, peer.getRemoteAddressString(), peer.getLocalAddressString());
        try {
            if (request.isNew()) {
                sendOn(request, original);
            }
            Replica replica = open(request);
            String storage = replica.getStorageUuid();
            boolean isTransient = replica.isOnTransientStorage();
            if (!request.isNew()) {
                sendOn(request, original);
            }
            answerClient(request);
            receive(request);
            if (request.isClose()) {
                block.setGenerationStamp(request.newStamp());
                block.setNumBytes(request.minBytes());
            }
            if (request.isDatanode() || request.isClose()) { // what else a client writes, the receiver has reported
                dataNode.closeBlock(block, null, storage, isTransient);
                LOG.info("Received {} src: {} dest: {} volume: {} of size {}", block, peer.getRemoteAddressString(),
                    peer.getLocalAddressString(), replica.getVolume(), block.getNumBytes());
            }
            return request.isClient() ? block.getNumBytes() : 0;
        } catch (IOException e) {
            LOG.info("opWriteBlock {} received exception {}", block, e.toString());
            countNetworkError();
            throw e;
        } finally {
            close();
        }
    }

    private Replica open(WriteRequest request) throws IOException {
        if (request.isClose()) {
            return dataNode.data.recoverClose(request.block(), request.newStamp(), request.minBytes());
        }
        receiver = new StreamReceiver(dataNode, peer, in, request);
        ReceiverInternals.setReceiver(xceiver, receiver);
        return receiver.getReplica();
    }

    /** Connects to the next DataNode, if there is one. */
    private void sendOn(WriteRequest request, ExtendedBlock original) {
        if (request.targets().length > 0) {
            try {
                next = Downstream.open(dataNode, peer.channel(), request, request.block(), original);
            } catch (IOException e) {
                unreached = e;
            }
        }
    }

    /** Waits for the answer of the next DataNode. */
    private void answerClient(WriteRequest request) throws IOException {
        Status status = Status.SUCCESS;
        String badLink = "";
        if (request.targets().length > 0) {
            try {
                if (unreached != null) {
                    throw unreached;
                }
                if (request.isClient()) { // a replication gets no answer
                    BlockOpResponseProto answer = next.readReply();
                    status = answer.getStatus();
                    badLink = answer.getFirstBadLink();
                }
            } catch (IOException e) {
                failedToConnect(request, e);
            }
        }
        if (request.isClient() && !request.isTransfer()) {
            answer(status, badLink);
        }
    }

    private void failedToConnect(WriteRequest request, IOException cause) throws IOException {
        IOUtils.closeStream(next);
        next = null;
        DatanodeInfo target = request.targets()[0];
        if (request.isClient()) {
            answer(Status.ERROR, target.getXferAddr());
            LOG.error("{}:Exception transferring block {} to mirror {}", dataNode, request.block(), target, cause);
            throw cause;
        }
        LOG.info("{}:Exception transferring {} to mirror {}- continuing without the mirror", dataNode, request.block(), target,
            cause);
        countNetworkError();
    }

    private void answer(Status status, String badLink) throws IOException {
        BlockOpResponseProto.newBuilder().setStatus(status).setFirstBadLink(badLink).build().writeDelimitedTo(reply);
        reply.flush();
    }

    private void receive(WriteRequest request) throws IOException {
        if (receiver == null) {
            return;
        }
        receiver.receive(next, reply);
        if (request.isTransfer()) {
            BlockOpResponseProto.newBuilder().setStatus(Status.SUCCESS).build().writeDelimitedTo(reply);
            reply.flush();
        }
    }

    private void close() {
        IOUtils.closeStream(next);
        IOUtils.closeStream(reply);
        if (receiver != null) {
            receiver.releaseAnyRemainingReservedSpace();
            IOUtils.closeStream(receiver);
        }
        ReceiverInternals.setReceiver(xceiver, null);
    }

    private void countNetworkError() {
        String address = peer.getRemoteAddressString();
        int colon = address.indexOf(':');
        dataNode.incrDatanodeNetworkErrors(colon < 0 ? address : address.substring(0, colon));
    }

    // ---------------------------------------------------------------------------------------------- block tokens

    private void checkAccess(WriteRequest request) throws IOException {
        waitForPool(request.block());
        if (!dataNode.isBlockTokenEnabled) {
            return;
        }
        try {
            dataNode.blockPoolTokenSecretManager.checkAccess(request.token(), null, request.block(),
                BlockTokenIdentifier.AccessMode.WRITE, request.allTypes(), request.allIds());
        } catch (InvalidToken e) {
            LOG.warn("Block token verification failed: op={}, remoteAddress={}, message={}", Op.WRITE_BLOCK,
                peer.getRemoteAddressString(), e.getLocalizedMessage());
            try {
                refuse(request);
            } finally {
                IOUtils.closeStream(reply);
            }
            throw e;
        }
    }

    private void refuse(WriteRequest request) throws IOException {
        if (request.isClient()) {
            BlockOpResponseProto.newBuilder().setStatus(Status.ERROR_ACCESS_TOKEN)
                .setFirstBadLink(dataNode.getDNRegistrationForBP(request.block().getBlockPoolId()).getXferAddr())
                .build().writeDelimitedTo(reply);
            reply.flush();
        }
    }

    /** The DataNode may be about to register with the NameNode. */
    private void waitForPool(ExtendedBlock block) throws IOException {
        String pool = block.getBlockPoolId();
        long end = Time.monotonicNow() + dataNode.getDnConf().getBpReadyTimeout() * PAUSE_MILLIS;
        while (true) {
            try {
                dataNode.getDNRegistrationForBP(pool);
                return;
            } catch (IOException e) {
                if (Time.monotonicNow() > end) {
                    throw new IOException("Not ready to serve the block pool, " + pool + ".", e);
                }
            }
            try {
                Thread.sleep(PAUSE_MILLIS);
            } catch (InterruptedException e) {
                throw new IOException("Interrupted while serving request. Aborting.", e);
            }
        }
    }
}
