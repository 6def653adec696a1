// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.FileIoProvider;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.verbena.hadoop.hdfs.shared.SharedTier;

/** Hadoop's calls for files, and whoever decides where replicas go learns of the ones that failed: a full path, a quota. */
class SharedFiles extends FileIoProvider {
    private final SharedTier tier;

    SharedFiles(Configuration conf, DataNode node, SharedTier tier) {
        super(conf, node);
        this.tier = tier;
    }

    @Override
    public FileOutputStream getFileOutputStream(FsVolumeSpi volume, FileDescriptor file) {
        return new Watched(super.getFileOutputStream(volume, file), file, tier); // its descriptor is what is forced
    }

    @Override
    public void sync(FsVolumeSpi volume, FileOutputStream file) throws IOException {
        tier.synced();
        super.sync(volume, file);
    }

    @Override
    public void dirSync(FsVolumeSpi volume, File folder) throws IOException {
        tier.synced();
        super.dirSync(volume, folder);
    }

    /** Writes and ends as Hadoop's stream does. */
    private static final class Watched extends FileOutputStream {
        private final FileOutputStream to;
        private final SharedTier tier;

        Watched(FileOutputStream to, FileDescriptor file, SharedTier tier) {
            super(file);
            this.to = to;
            this.tier = tier;
        }

        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes) throws IOException {
            write(bytes, 0, bytes.length);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            try {
                to.write(bytes, from, length);
            } catch (IOException e) {
                tier.failed(e);
                throw e;
            }
        }

        @Override
        public void close() throws IOException {
            try {
                to.close();
                super.close();
            } catch (IOException e) {
                tier.failed(e);
                throw e;
            }
        }
    }
}
