// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BiConsumer;
import javax.net.SocketFactory;
import org.apache.hadoop.hdfs.net.PeerServer;
import org.apache.hadoop.hdfs.server.protocol.NamespaceInfo;

/** What only classes of the DataNode's package may do; nothing else is here. */
public final class XceiverBridge {
    private XceiverBridge() {
    }

    /**
     * Serves data transfers from one more source beside the DataNode's port, by the server of that port.
     *
     * @param dataNode the DataNode; serving ends with it
     * @param source gives the connections; serving ends when its accept says that it is closed
     * @param ownReceiver whether our receiver takes the blocks, see {@link #receiverObstacle}
     * @param uses told of small reads, which we answer then (see {@link #readsObstacle}); null: Hadoop does
     */
    public static void serve(DataNode dataNode, PeerServer source, boolean ownReceiver, BiConsumer<String, ReplicaInfo> uses) {
        new StreamAcceptor(dataNode, source, ownReceiver, uses == null ? null : new OwnReads(dataNode, uses)).start();
    }

    /** Why Hadoop answers all reads of a DataNode; null when we can answer small ones. */
    public static String readsObstacle(DataNode dataNode) {
        return OwnReads.obstacle(dataNode);
    }

    /** Reads that we have answered in this process. */
    public static long readsTaken() {
        return OwnReads.TAKEN.sum();
    }

    /** Reads of blocks that we have left to Hadoop in this process; none after a stream's first other request. */
    public static long readsLeft() {
        return OwnReads.LEFT.sum();
    }

    /** Why Hadoop's own receiver takes all blocks of a DataNode; null when ours can. */
    public static String receiverObstacle(DataNode dataNode) {
        return OwnReceiver.obstacle(dataNode);
    }

    /** Blocks that our receiver has taken in this process. */
    public static long blocksTaken() {
        return OwnReceiver.TAKEN.sum();
    }

    /** Blocks that our receiver has left to Hadoop's in this process. */
    public static long blocksLeft() {
        return OwnReceiver.LEFT.sum();
    }

    /** Packets that our receiver has used where they lay, in this process. */
    public static long packetsUncopied() {
        return OwnReceiver.UNCOPIED.sum();
    }

    /**
     * Sets who makes the DataNode's sockets to other DataNodes.
     *
     * @param dataNode the DataNode
     * @param factory the factory
     * @return false when this Hadoop's DataNode keeps none, or does not let us
     */
    public static boolean replaceSocketFactory(DataNode dataNode, SocketFactory factory) {
        try {
            Field field = DataNode.class.getDeclaredField("socketFactory");
            field.setAccessible(true);
            field.set(dataNode, factory);
            return true;
        } catch (ReflectiveOperationException | RuntimeException e) {
            return false;
        }
    }

    /**
     * What a DataNode has learnt from the NameNode of a block pool. Other pools, whose locks their own threads hold while they
     * begin, are not waited for.
     *
     * @param dataNode the DataNode
     * @param pool the block pool
     * @throws IOException when it has none of that name
     */
    public static NamespaceInfo namespace(DataNode dataNode, String pool) throws IOException {
        for (BPOfferService service : dataNode.getAllBpOs()) {
            if (pool.equals(service.getBlockPoolId(true))) {
                return service.getNamespaceInfo();
            }
        }
        throw new IOException("no NameNode of block pool " + pool + " has answered");
    }

    /**
     * Makes the folder of a block pool in a volume that the DataNode has already, or brings it to the version of the NameNode.
     *
     * @throws IOException when it cannot be made
     */
    public static void prepare(DataNode dataNode, NamespaceInfo namespace, StorageLocation volume) throws IOException {
        dataNode.getStorage().recoverTransitionRead(dataNode, namespace, List.of(volume),
            DataNode.getStartupOption(dataNode.getConf()));
    }

    /**
     * Forgets the folder of a volume that the DataNode serves no longer, and releases its lock.
     *
     * @throws IOException when the lock stays
     */
    public static void release(DataNode dataNode, StorageLocation volume) throws IOException {
        dataNode.getStorage().removeVolumes(List.of(volume));
    }

    /** Where a DataNode's first volume is, on its host's own disk. */
    public static Path firstVolume(DataNode dataNode) {
        return dataNode.getStorage().getStorageDir(0).getRoot().toPath().toAbsolutePath();
    }
}
