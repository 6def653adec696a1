// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.ChecksumOpt;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.permission.FsCreateModes;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.client.impl.LeaseRenewer;
import org.apache.hadoop.hdfs.protocol.DSQuotaExceededException;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;
import org.apache.hadoop.hdfs.protocol.NSQuotaExceededException;
import org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException;
import org.apache.hadoop.hdfs.protocol.SnapshotAccessControlException;
import org.apache.hadoop.hdfs.protocol.UnresolvedPathException;
import org.apache.hadoop.hdfs.server.namenode.RetryStartFileException;
import org.apache.hadoop.hdfs.server.namenode.SafeModeException;
import org.apache.hadoop.io.EnumSetWritable;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.util.DataChecksum;
import org.apache.hadoop.util.Progressable;

/** Hadoop's client of HDFS, which makes streams of its own for new files. */
final class ParallelClient extends DFSClient {
    /** The NameNode's refusals that a caller sees as themselves; others stay {@link RemoteException}s. */
    private static final Class<?>[] REFUSALS = {AccessControlException.class, DSQuotaExceededException.class,
        FileAlreadyExistsException.class, FileNotFoundException.class, NSQuotaExceededException.class,
        ParentNotDirectoryException.class, QuotaByStorageTypeExceededException.class, RetryStartFileException.class,
        SafeModeException.class, SnapshotAccessControlException.class, UnknownCryptoProtocolVersionException.class,
        UnresolvedPathException.class};

    private final long limit;

    /** False for clients that know their files by another key than this class does: Hadoop 3.3. */
    static boolean isPossible() {
        try {
            return DFSOutputStream.class.getDeclaredMethod("getUniqKey") != null;
        } catch (NoSuchMethodException e) {
            return false;
        }
    }

    /**
     * Connects to a NameNode.
     *
     * @param limit largest file that is written at its close, in bytes
     */
    ParallelClient(URI nameNode, Configuration conf, FileSystem.Statistics statistics, long limit) throws IOException {
        super(nameNode, conf, statistics);
        this.limit = limit;
    }

    @Override
    public DFSOutputStream create(String path, FsPermission permission, EnumSet<CreateFlag> flags, boolean createParent,
            short replication, long blockSize, Progressable progress, int bufferSize, ChecksumOpt checksums,
            InetSocketAddress[] favoredNodes, String erasureCoding, String storagePolicy) throws IOException {
        if (favoredNodes != null || erasureCoding != null) {
            return super.create(path, permission, flags, createParent, replication, blockSize, progress, bufferSize, checksums,
                favoredNodes, erasureCoding, storagePolicy);
        }
        checkOpen();
        FsPermission masked = FsCreateModes.applyUMask(permission == null ? FsPermission.getFileDefault() : permission,
            getConf().getUMask());
        DataChecksum checksum = getConf().createChecksum(checksums);
        HdfsFileStatus file;
        try {
            file = created(path, masked, flags, createParent, replication, blockSize, storagePolicy);
        } catch (RetryStartFileException e) { // the key of an encryption zone is being made
            return super.create(path, permission, flags, createParent, replication, blockSize, progress, bufferSize, checksums,
                null, null, storagePolicy);
        }
        DFSOutputStream stream = streamOf(path, file, flags, progress, checksum);
        keepLease(stream);
        return stream;
    }

    private HdfsFileStatus created(String path, FsPermission permission, EnumSet<CreateFlag> flags, boolean createParent,
            short replication, long blockSize, String storagePolicy) throws IOException {
        try {
            return getNamenode().create(path, permission, getClientName(), new EnumSetWritable<>(flags), createParent, replication,
                blockSize, DFSOutputStream.SUPPORTED_CRYPTO_VERSIONS, null, storagePolicy);
        } catch (RemoteException e) {
            throw e.unwrapRemoteException(REFUSALS);
        }
    }

    private DFSOutputStream streamOf(String path, HdfsFileStatus file, EnumSet<CreateFlag> flags, Progressable progress,
            DataChecksum checksum) throws IOException {
        if (file.getErasureCodingPolicy() == null && !DataStreamer.isLazyPersist(file)) {
            return new ParallelOutputStream(this, path, file, flags, progress, checksum, limit);
        }
        DFSOutputStream stream = file.getErasureCodingPolicy() == null
            ? new DFSOutputStream(this, path, file, flags, progress, checksum, null, true)
            : new DFSStripedOutputStream(this, path, file, flags, progress, checksum, null);
        stream.start();
        return stream;
    }

    /** As Hadoop's client does for streams that it makes itself: the renewer of leases knows the file until it is closed. */
    private void keepLease(DFSOutputStream stream) {
        putFileBeingWritten(stream.getUniqKey(), stream);
        LeaseRenewer renewer = getLeaseRenewer();
        if (!renewer.put(this)) { // it is about to end
            LeaseRenewer.remove(renewer);
            getLeaseRenewer().put(this);
        }
    }
}
