// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.BlockMetadataHeader;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.FileIoProvider;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipeline;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.verbena.core.plugin.PluginSetting;

/**
 * Hadoop's calls for files in memory where a writer that wants its data on a disk is to hear that they are not: tmpfs takes an
 * fsync, and keeps nothing when the host has no power.
 */
final class UnsyncedFiles extends FileIoProvider {
    UnsyncedFiles(Configuration conf, DataNode node) {
        super(conf, node);
    }

    /** {@inheritDoc} The volume is not looked at as after a fault of a disk: it has none. */
    @Override
    public void sync(FsVolumeSpi volume, FileOutputStream file) throws IOException {
        throw new IOException("Verbena hhh-m refuses hsync: " + volume + " is memory, which a power cut empties; write the file "
            + "to a folder of another storage policy, such as ALL_SSD, or set " + PluginSetting.HDFS_MEMORY_HSYNC + "=memory");
    }

    /**
     * Cuts off bytes that came with a refused hsync. Hadoop's receiver leaves them in the files, and Hadoop recovers no lease of a
     * replica whose file is longer. Nobody has heard of these bytes.
     *
     * @param replica null: none
     * @return whether there were such bytes; false as well if a thread other than this one may write more
     */
    static boolean cutOff(ReplicaInfo replica) throws IOException {
        Thread self = Thread.currentThread();
        if (replica == null || !(replica.getVolume().getFileIoProvider() instanceof UnsyncedFiles)
                || !(replica instanceof ReplicaInPipeline open) || !open.attemptToSetWriter(self, self)
                || replica.getBlockDataLength() <= replica.getBytesOnDisk()) {
            return false;
        }
        long length = replica.getBytesOnDisk();
        if (length > 0) {
            replica.truncateBlock(length); // makes the checksum of the last chunk, too
        } else {
            setLength(replica.getBlockURI(), 0);
            setLength(replica.getMetadataURI(), BlockMetadataHeader.getHeaderSize()); // Hadoop would leave a checksum of no data
        }
        open.setNumBytes(length);
        return true;
    }

    private static void setLength(URI file, long length) throws IOException {
        try (RandomAccessFile open = new RandomAccessFile(new File(file), "rw")) {
            open.setLength(length);
        }
    }
}
