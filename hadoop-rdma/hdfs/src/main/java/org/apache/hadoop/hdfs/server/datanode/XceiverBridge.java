// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.lang.reflect.Field;
import javax.net.SocketFactory;
import org.apache.hadoop.hdfs.net.PeerServer;
import org.apache.hadoop.util.Daemon;

/** What only classes of the DataNode's package may do; nothing else is here. */
public final class XceiverBridge {
    private XceiverBridge() {
    }

    /**
     * Serves data transfers from one more source, as the DataNode does for its port and for UNIX sockets.
     *
     * @param dataNode the DataNode; the server ends with it
     * @param source gives the connections
     */
    public static void serve(DataNode dataNode, PeerServer source) {
        new Daemon(dataNode.threadGroup, new DataXceiverServer(source, dataNode.getConf(), dataNode)).start();
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
}
