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
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicy;
import org.apache.hadoop.hdfs.protocol.DSQuotaExceededException;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
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

/**
 * Hadoop's client of HDFS, which makes streams of its own for new files and for reads. Not final: programs' tests spy on their
 * client.
 */
public class ParallelClient extends DFSClient {
    /** The NameNode's refusals that a caller sees as themselves; others stay {@link RemoteException}s. */
    private static final Class<?>[] REFUSALS = {AccessControlException.class, DSQuotaExceededException.class,
        FileAlreadyExistsException.class, FileNotFoundException.class, NSQuotaExceededException.class,
        ParentNotDirectoryException.class, QuotaByStorageTypeExceededException.class, RetryStartFileException.class,
        SafeModeException.class, SnapshotAccessControlException.class, UnknownCryptoProtocolVersionException.class,
        UnresolvedPathException.class};

    private final long limit;
    private final boolean smallReads;
    private final OneRequestNodes oneRequestNodes = new OneRequestNodes();

    ParallelClient(URI nameNode, Configuration conf, FileSystem.Statistics statistics, long limit, boolean smallReads)
            throws IOException {
        super(nameNode, conf, statistics);
        this.limit = limit;
        this.smallReads = smallReads;
    }

    /**
     * Connects to a NameNode.
     *
     * @param limit largest file that is written at its close, in bytes; 0: none
     * @param smallReads whether small reads have a reader of their own; if not, and with limit 0, the client is Hadoop's own
     */
    public static DFSClient of(URI nameNode, Configuration conf, FileSystem.Statistics statistics, long limit,
            boolean smallReads) throws IOException {
        return (limit > 0 || smallReads) && isPossible() ? new ParallelClient(nameNode, conf, statistics, limit, smallReads)
            : new DFSClient(nameNode, conf, statistics);
    }

    @Override
    public DFSInputStream open(String path, int bufferSize, boolean verify) throws IOException {
        if (smallReads) {
            checkOpen();
            LocatedBlocks blocks = getLocatedBlocks(path, 0);
            if (blocks != null) {
                ErasureCodingPolicy policy = blocks.getErasureCodingPolicy();
                return policy == null ? new SmallReadsInputStream(this, path, verify, blocks, oneRequestNodes)
                    : new DFSStripedInputStream(this, path, verify, policy, blocks);
            }
        }
        return super.open(path, bufferSize, verify);
    }

    /** False for clients that know their files by another key than this class does: Hadoop 3.3. */
    private static boolean isPossible() {
        try {
            return DFSOutputStream.class.getDeclaredMethod("getUniqKey") != null;
        } catch (NoSuchMethodException e) {
            return false;
        }
    }

    /** Of file systems. */
    @Override
    public DFSOutputStream create(String path, FsPermission permission, EnumSet<CreateFlag> flags, boolean createParent,
            short replication, long blockSize, Progressable progress, int bufferSize, ChecksumOpt checksums,
            InetSocketAddress[] favoredNodes, String erasureCoding, String storagePolicy) throws IOException {
        if (limit > 0 && favoredNodes == null && erasureCoding == null) {
            FsPermission masked = FsCreateModes.applyUMask(permission == null ? FsPermission.getFileDefault() : permission,
                getConf().getUMask());
            try {
                return opened(created(path, masked, flags, createParent, replication, blockSize, storagePolicy), path, flags,
                    progress, getConf().createChecksum(checksums));
            } catch (RetryStartFileException e) {
                LOG.debug("{}: the key of an encryption zone is being made", path);
            }
        }
        return super.create(path, permission, flags, createParent, replication, blockSize, progress, bufferSize, checksums,
            favoredNodes, erasureCoding, storagePolicy);
    }

    /** Of file contexts. */
    @Override
    public DFSOutputStream primitiveCreate(String path, FsPermission permission, EnumSet<CreateFlag> flags, boolean createParent,
            short replication, long blockSize, Progressable progress, int bufferSize, ChecksumOpt checksums) throws IOException {
        CreateFlag.validate(flags);
        if (limit > 0 && !flags.contains(CreateFlag.APPEND)) {
            try {
                return opened(created(path, permission, flags, createParent, replication, blockSize, null), path, flags, progress,
                    getConf().createChecksum(checksums));
            } catch (RetryStartFileException e) {
                LOG.debug("{}: the key of an encryption zone is being made", path);
            }
        }
        return super.primitiveCreate(path, permission, flags, createParent, replication, blockSize, progress, bufferSize,
            checksums);
    }

    private HdfsFileStatus created(String path, FsPermission permission, EnumSet<CreateFlag> flags, boolean createParent,
            short replication, long blockSize, String storagePolicy) throws IOException {
        checkOpen();
        try {
            return getNamenode().create(path, permission, getClientName(), new EnumSetWritable<>(flags), createParent, replication,
                blockSize, DFSOutputStream.SUPPORTED_CRYPTO_VERSIONS, null, storagePolicy);
        } catch (RemoteException e) {
            throw e.unwrapRemoteException(REFUSALS);
        }
    }

    private DFSOutputStream opened(HdfsFileStatus file, String path, EnumSet<CreateFlag> flags, Progressable progress,
            DataChecksum checksum) throws IOException {
        DFSOutputStream stream;
        if (file.getErasureCodingPolicy() != null) {
            stream = new DFSStripedOutputStream(this, path, file, flags, progress, checksum, null);
            stream.start();
        } else if (DataStreamer.isLazyPersist(file)) {
            stream = new DFSOutputStream(this, path, file, flags, progress, checksum, null, true);
            stream.start();
        } else {
            stream = new ParallelOutputStream(this, path, file, flags, progress, checksum, limit);
        }
        keepLease(stream);
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
