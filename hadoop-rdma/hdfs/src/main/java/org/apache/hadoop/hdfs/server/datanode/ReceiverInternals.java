// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.util.zip.Checksum;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.ReplicaOutputStreams;

/**
 * Members of Hadoop's receiver that its subclass needs and that are private. They are looked up once; a Hadoop that lacks one
 * keeps its own receiver.
 */
final class ReceiverInternals {
    private static final ReceiverInternals FOUND;
    private static final String MISSING;

    static {
        ReceiverInternals found = null;
        String missing = null;
        try {
            found = new ReceiverInternals();
        } catch (ReflectiveOperationException | LinkageError e) {
            missing = "this Hadoop's receiver lacks " + e.getMessage();
        }
        FOUND = found;
        MISSING = missing;
    }

    private final VarHandle streams;
    private final VarHandle checksumOut;
    private final VarHandle syncOnClose;
    private final MethodHandle claimReplicaHandler;
    private final MethodHandle adjustCrcFilePosition;
    private final MethodHandle computePartialChunkCrc;
    private final MethodHandle manageWriterOsCache;
    private final MethodHandle cleanupBlock;
    private final VarHandle xceiverReceiver;
    private final VarHandle xceiverThread;

    private ReceiverInternals() throws ReflectiveOperationException {
        Class<?> type = BlockReceiver.class;
        MethodHandles.Lookup in = MethodHandles.privateLookupIn(type, MethodHandles.lookup());
        streams = in.findVarHandle(type, "streams", ReplicaOutputStreams.class);
        checksumOut = in.findVarHandle(type, "checksumOut", DataOutputStream.class);
        syncOnClose = in.findVarHandle(type, "syncOnClose", boolean.class);
        claimReplicaHandler = in.findVirtual(type, "claimReplicaHandler", MethodType.methodType(ReplicaHandler.class));
        adjustCrcFilePosition = in.findVirtual(type, "adjustCrcFilePosition", MethodType.methodType(void.class));
        computePartialChunkCrc = in.findVirtual(type, "computePartialChunkCrc",
            MethodType.methodType(Checksum.class, long.class, long.class));
        manageWriterOsCache = in.findVirtual(type, "manageWriterOsCache",
            MethodType.methodType(void.class, long.class, long.class));
        cleanupBlock = in.findVirtual(type, "cleanupBlock", MethodType.methodType(void.class));
        MethodHandles.Lookup xceiver = MethodHandles.privateLookupIn(DataXceiver.class, MethodHandles.lookup());
        xceiverReceiver = xceiver.findVarHandle(DataXceiver.class, "blockReceiver", type);
        xceiverThread = xceiver.findVarHandle(DataXceiver.class, "xceiver", Thread.class);
        in.findVirtual(DataNode.class, "getSLOWByBlockPoolId", MethodType.methodType(PipelineAck.SLOW.class, String.class));
    }

    /** Null when everything is there, else what is not. */
    static String missing() {
        return MISSING;
    }

    static ReplicaOutputStreams streams(BlockReceiver receiver) {
        return (ReplicaOutputStreams) FOUND.streams.get(receiver);
    }

    /** The replica's checksums, buffered. */
    static DataOutputStream checksumOut(BlockReceiver receiver) {
        return (DataOutputStream) FOUND.checksumOut.get(receiver);
    }

    /** What waits to be written to the replica's checksums is not; the file stays open until the receiver is closed. */
    static void dropChecksums(BlockReceiver receiver) {
        if (checksumOut(receiver) != null) {
            FOUND.checksumOut.set(receiver, new DataOutputStream(streams(receiver).getChecksumOut()));
        }
    }

    /** Whether the files are synced when the receiver closes them. */
    static void setSyncOnClose(BlockReceiver receiver, boolean sync) {
        FOUND.syncOnClose.set(receiver, sync);
    }

    /** The reference on the volume, which the caller closes from now on. */
    static ReplicaHandler claimReplicaHandler(BlockReceiver receiver) throws IOException {
        return (ReplicaHandler) call(() -> FOUND.claimReplicaHandler.invoke(receiver));
    }

    /** The next checksum that is written replaces the last one. */
    static void adjustCrcFilePosition(BlockReceiver receiver) throws IOException {
        call(() -> {
            FOUND.adjustCrcFilePosition.invoke(receiver);
            return null;
        });
    }

    /** The checksum of the last chunk, which is not whole, from its bytes on disk; compared with the one on disk. */
    static Checksum computePartialChunkCrc(BlockReceiver receiver, long blockOffset, long metaOffset) throws IOException {
        return (Checksum) call(() -> FOUND.computePartialChunkCrc.invoke(receiver, blockOffset, metaOffset));
    }

    /** Drops pages and starts write-back behind the writer, as configured. */
    static void manageWriterOsCache(BlockReceiver receiver, long offset, long seqno) throws IOException {
        call(() -> {
            FOUND.manageWriterOsCache.invoke(receiver, offset, seqno);
            return null;
        });
    }

    /** Removes the block of a replication that has failed. */
    static void cleanupBlock(BlockReceiver receiver) throws IOException {
        call(() -> {
            FOUND.cleanupBlock.invoke(receiver);
            return null;
        });
    }

    /** Whom the server of data transfers interrupts, and by whom it sends restart messages. */
    static void setReceiver(DataXceiver xceiver, BlockReceiver receiver) {
        synchronized (xceiver) {
            FOUND.xceiverThread.set(xceiver, Thread.currentThread());
            FOUND.xceiverReceiver.set(xceiver, receiver);
        }
    }

    /** A call of a method handle. */
    @FunctionalInterface
    private interface Call {
        Object run() throws Throwable;
    }

    private static Object call(Call call) throws IOException {
        try {
            return call.run();
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IOException(e);
        }
    }
}
