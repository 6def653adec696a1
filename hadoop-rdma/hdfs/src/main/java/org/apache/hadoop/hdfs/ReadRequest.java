// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.Sender;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.ClientReadStatusProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.server.datanode.CachingStrategy;

/**
 * A small part of a block that a DataNode is asked for.
 *
 * @param path of the file, for messages
 * @param offset in the block
 */
record ReadRequest(String path, LocatedBlock block, long offset, int length, boolean verify, CachingStrategy caching) {
    long end() {
        return offset + length;
    }

    /**
     * Writes the request. The status that follows a read goes with it: it says no more than that the connection can be used
     * again, and a reader that finds damage closes the connection.
     */
    void write(String client, OutputStream out) throws IOException {
        new Sender(new DataOutputStream(out)).readBlock(block.getBlock(), block.getBlockToken(), client, offset, length, verify,
            caching);
        ClientReadStatusProto.newBuilder().setStatus(verify ? Status.CHECKSUM_OK : Status.SUCCESS).build().writeDelimitedTo(out);
    }
}
