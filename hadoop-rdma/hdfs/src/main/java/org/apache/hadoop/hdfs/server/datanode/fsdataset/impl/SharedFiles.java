// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.FileIoProvider;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.verbena.hadoop.hdfs.shared.SharedTier;

/**
 * Hadoop's calls for files. Whoever decides where replicas go learns of the ones that failed: a full path, a quota. And a DataNode
 * that has lost a volume while it slept acknowledges nothing that it writes to files which it still has open: the new owner has
 * copies of these. Nor does it make folders by a name that the volume had.
 */
class SharedFiles extends FileIoProvider {
    private final SharedTier tier;

    SharedFiles(Configuration conf, DataNode node, SharedTier tier) {
        super(conf, node);
        this.tier = tier;
    }

    @Override
    public FileOutputStream getFileOutputStream(FsVolumeSpi volume, FileDescriptor file) {
        return new Watched(super.getFileOutputStream(volume, file), file, tier, volume); // its descriptor is what is forced
    }

    /**
     * {@inheritDoc} Hadoop would make the folders above as well, where the volume has another name now or nothing is mounted: the
     * former owner would then take the volume for its own.
     */
    @Override
    public void mkdirsWithExistsCheck(FsVolumeSpi volume, File folder) throws IOException {
        Path top = volume instanceof SharedVolume shared ? shared.getCurrentDir().toPath() : null;
        if (top != null && folder.toPath().startsWith(top)) {
            makeBelow(top, folder.toPath());
        } else {
            super.mkdirsWithExistsCheck(volume, folder);
        }
    }

    private static void makeBelow(Path top, Path folder) throws IOException {
        Path at = top;
        for (Path name : top.relativize(folder)) {
            at = at.resolve(name);
            if (!Files.isDirectory(at)) {
                try {
                    Files.createDirectory(at);
                } catch (FileAlreadyExistsException e) {
                    continue; // by another thread
                }
            }
        }
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

    /** What fails as input and output do. */
    private interface Call<T> {
        T call() throws IOException;
    }

    /** Writes and ends as Hadoop's stream does. */
    private static final class Watched extends FileOutputStream {
        private final FileOutputStream to;
        private final SharedTier tier;
        private final FsVolumeSpi volume;
        /** Where the next byte goes; less than zero: somebody may have set it. */
        private long at = -1;

        Watched(FileOutputStream to, FileDescriptor file, SharedTier tier, FsVolumeSpi volume) {
            super(file);
            this.to = to;
            this.tier = tier;
            this.volume = volume;
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
            refuseIfAway();
            long before = at < 0 ? undisturbed(to.getChannel()::position) : at;
            at = -1;
            try {
                to.write(bytes, from, length);
            } catch (IOException e) {
                tier.failed(e);
                cut(before, e);
                throw e;
            }
            try {
                refuseIfAway(); // an owner that comes later has copied what is before
            } catch (IOException e) {
                cut(before, e);
                throw e;
            }
            at = before + length;
        }

        /** Who has the channel may set the position. */
        @Override
        public FileChannel getChannel() {
            at = -1;
            return super.getChannel();
        }

        /** A call to the channel of a file ends by closing the file where the thread is interrupted; Hadoop's writes do not. */
        private static <T> T undisturbed(Call<T> call) throws IOException {
            boolean stopped = Thread.interrupted();
            try {
                return call.call();
            } finally {
                if (stopped) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        /**
         * Nobody acknowledges a write that has failed. What it has left would make the file longer than the replica: recoveries
         * refuse such a one, and a DataNode that begins cuts it to the last checksum that is right, below what was acknowledged.
         */
        private void cut(long length, IOException cause) {
            try {
                undisturbed(() -> to.getChannel().truncate(length));
            } catch (IOException e) {
                cause.addSuppressed(e);
            }
        }

        private void refuseIfAway() throws IOException {
            if (volume instanceof SharedVolume shared && shared.isAway()) {
                throw new IOException(volume + " has another owner, or its path is away: this write does not count");
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
