// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.BlockChecksumOptions;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.StripedBlockInfo;
import org.apache.hadoop.hdfs.protocol.datatransfer.Op;
import org.apache.hadoop.hdfs.protocol.datatransfer.Receiver;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.hdfs.shortcircuit.ShortCircuitShm.SlotId;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.tracing.Tracer;

/** Hadoop's decoder of requests, for one that serves no other than the request to write. */
abstract class WriteOnly extends Receiver {
    WriteOnly(Tracer tracer) {
        super(tracer);
    }

    private static IOException refuse(Op op) {
        return new IOException(op + " is the DataXceiver's to serve");
    }

    @Override
    public void readBlock(ExtendedBlock block, Token<BlockTokenIdentifier> token, String client, long offset, long length,
            boolean sendChecksum, CachingStrategy caching) throws IOException {
        throw refuse(Op.READ_BLOCK);
    }

    @Override
    public void transferBlock(ExtendedBlock block, Token<BlockTokenIdentifier> token, String client, DatanodeInfo[] targets,
            StorageType[] types, String[] ids) throws IOException {
        throw refuse(Op.TRANSFER_BLOCK);
    }

    @Override
    public void requestShortCircuitFds(ExtendedBlock block, Token<BlockTokenIdentifier> token, SlotId slot, int maxVersion,
            boolean supportsReceipt) throws IOException {
        throw refuse(Op.REQUEST_SHORT_CIRCUIT_FDS);
    }

    @Override
    public void releaseShortCircuitFds(SlotId slot) throws IOException {
        throw refuse(Op.RELEASE_SHORT_CIRCUIT_FDS);
    }

    @Override
    public void requestShortCircuitShm(String client) throws IOException {
        throw refuse(Op.REQUEST_SHORT_CIRCUIT_SHM);
    }

    @Override
    public void replaceBlock(ExtendedBlock block, StorageType type, Token<BlockTokenIdentifier> token, String hint,
            DatanodeInfo source, String id) throws IOException {
        throw refuse(Op.REPLACE_BLOCK);
    }

    @Override
    public void copyBlock(ExtendedBlock block, Token<BlockTokenIdentifier> token) throws IOException {
        throw refuse(Op.COPY_BLOCK);
    }

    @Override
    public void blockChecksum(ExtendedBlock block, Token<BlockTokenIdentifier> token, BlockChecksumOptions options)
            throws IOException {
        throw refuse(Op.BLOCK_CHECKSUM);
    }

    @Override
    public void blockGroupChecksum(StripedBlockInfo group, Token<BlockTokenIdentifier> token, long requested,
            BlockChecksumOptions options) throws IOException {
        throw refuse(Op.BLOCK_GROUP_CHECKSUM);
    }
}
