// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DF;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.Storage.StorageDirectory;
import org.apache.hadoop.hdfs.server.datanode.DatanodeUtil;
import org.apache.hadoop.hdfs.server.datanode.FileIoProvider;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipeline;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.util.DiskChecker.DiskOutOfSpaceException;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;

/** A volume in tmpfs whose replicas never take more than a ledger's limit; all else is Hadoop's volume. */
final class MemoryVolume extends FsVolumeImpl {
    /** Makes the files of a replica. */
    private interface Maker {
        ReplicaInPipeline make() throws IOException;
    }

    private static final String TRASH = "trash"; // in a block pool's folder

    private final FsDatasetImpl dataset;
    private final MemoryLedger ledger;
    private final DF usage;
    private final Set<String> clearing = ConcurrentHashMap.newKeySet();
    private volatile BiConsumer<String, Long> finished = (pool, block) -> { };

    MemoryVolume(FsDatasetImpl dataset, String id, StorageDirectory folder, FileIoProvider files, Configuration conf,
            MemoryLedger ledger) throws IOException {
        this(dataset, id, folder, files, conf, ledger, new DF(folder.getCurrentDir().getParentFile(), conf));
    }

    private MemoryVolume(FsDatasetImpl dataset, String id, StorageDirectory folder, FileIoProvider files, Configuration conf,
            MemoryLedger ledger, DF usage) throws IOException {
        super(dataset, id, folder, files, conf, usage);
        this.dataset = dataset;
        this.ledger = ledger;
        this.usage = usage;
    }

    MemoryLedger ledger() {
        return ledger;
    }

    /** Who hears of each replica that is finished here: its block pool and block. Called under locks of replicas. */
    void onFinished(BiConsumer<String, Long> listener) {
        finished = listener;
    }

    /** A pool's replicas come after those of SSDs and disks, which may be their copies: {@link BlockPools#load}. */
    @Override
    void getVolumeMap(String pool, ReplicaMap found, RamDiskReplicaTracker tracker) throws IOException {
        if (!BlockPools.isAll(dataset, found)) {
            super.getVolumeMap(pool, found, tracker);
        }
    }

    @Override
    public long getCapacity() {
        return ledger.limit();
    }

    @Override
    public long getAvailable() throws IOException {
        return Math.max(0, Math.min(ledger.limit() - ledger.used(), place()));
    }

    /** What the file system has for replicas that do not exist yet: other programs may have taken some of it. */
    private long place() throws IOException {
        return usage.getAvailable() - getReservedForReplicas();
    }

    /** Takes room for a replica as long as it may become, and makes it. The ledger is locked: nobody else takes the room. */
    private ReplicaInPipeline made(String pool, long id, long length, long now, Maker maker) throws IOException {
        synchronized (ledger) {
            if (!mayTake(MemoryLedger.pages(length) - now)) {
                throw full(id, length);
            }
            ReplicaInPipeline replica = maker.make();
            ledger.open(MoveGuard.name(pool, id), MemoryLedger.pages(length), now, false);
            return replica;
        }
    }

    private boolean mayTake(long bytes) throws IOException {
        return ledger.fits(bytes) && place() >= bytes;
    }

    private DiskOutOfSpaceException full(long id, long length) throws IOException {
        if (ledger.fits(MemoryLedger.pages(length))) {
            return new DiskOutOfSpaceException("other programs fill the memory tier's file system: " + place() + " bytes are left, "
                + "block " + id + " may take " + MemoryLedger.pages(length) + "; give the tier a tmpfs of its own");
        }
        return new DiskOutOfSpaceException("the memory tier is full: " + ledger.used() + " of " + ledger.limit()
            + " bytes are taken, block " + id + " may take " + MemoryLedger.pages(length));
    }

    @Override
    public ReplicaInPipeline createRbw(ExtendedBlock block) throws IOException {
        return made(block.getBlockPoolId(), block.getBlockId(), block.getNumBytes(), 0, () -> super.createRbw(block));
    }

    @Override
    public ReplicaInPipeline createTemporary(ExtendedBlock block) throws IOException {
        return made(block.getBlockPoolId(), block.getBlockId(), block.getNumBytes(), 0, () -> super.createTemporary(block));
    }

    @Override
    public ReplicaInPipeline append(String pool, ReplicaInfo replica, long stamp, long length) throws IOException {
        long now = MemoryLedger.pages(replica.getNumBytes(), replica.getMetadataLength());
        return made(pool, replica.getBlockId(), length, now, () -> super.append(pool, replica, stamp, length));
    }

    /** Whether a finished replica may become so long. */
    boolean mayGrow(long now, long length) throws IOException {
        return mayTake(MemoryLedger.pages(length) - MemoryLedger.pages(now));
    }

    /** A replica that is being written goes on, and may now become as long as its block. */
    void goesOn(ExtendedBlock block) throws IOException {
        String name = MoveGuard.name(block.getBlockPoolId(), block.getBlockId());
        if (!ledger.open(name, MemoryLedger.pages(block.getNumBytes()), 0, false)) {
            throw full(block.getBlockId(), block.getNumBytes());
        }
    }

    /** Deletes the files of a copy that a volume could not finish. */
    static void deletePart(FsVolumeImpl volume, ExtendedBlock block) throws IOException {
        File data = new File(DatanodeUtil.idToBlockDir(volume.getTmpDir(block.getBlockPoolId()), block.getBlockId()),
            block.getBlockName());
        Files.deleteIfExists(data.toPath());
        Files.deleteIfExists(FsDatasetUtil.getMetaFile(data, block.getGenerationStamp()).toPath());
    }

    /** Copies a replica from another tier. */
    @Override
    public ReplicaInfo moveBlockToTmpLocation(ExtendedBlock block, ReplicaInfo replica, int buffer, Configuration conf)
            throws IOException {
        String name = MoveGuard.name(block.getBlockPoolId(), block.getBlockId());
        long bytes = MemoryLedger.pages(replica.getNumBytes(), replica.getMetadataLength());
        if (place() < bytes || !ledger.open(name, bytes, 0, true)) {
            throw full(block.getBlockId(), block.getNumBytes());
        }
        try {
            return super.moveBlockToTmpLocation(block, replica, buffer, conf);
        } catch (IOException e) {
            deletePart(this, block);
            ledger.drop(name);
            throw e;
        }
    }

    /** A copy from another tier is not going to be a replica here; its files are gone. */
    void givenUp(String pool, long id) {
        ledger.drop(MoveGuard.name(pool, id));
    }

    /** Truncates a replica by a copy, because a snapshot keeps the whole one. */
    @Override
    public ReplicaInPipeline updateRURCopyOnTruncate(ReplicaInfo replica, String pool, long id, long recovery, long length)
            throws IOException {
        if (!ledger.open(MoveGuard.name(pool, id), MemoryLedger.pages(replica.getNumBytes()), 0, true)) {
            throw full(id, length);
        }
        try {
            return super.updateRURCopyOnTruncate(replica, pool, id, recovery, length);
        } catch (IOException e) {
            ledger.drop(MoveGuard.name(pool, id));
            throw e;
        }
    }

    @Override
    ReplicaInfo addFinalizedBlock(String pool, Block block, ReplicaInfo replica, long reserved) throws IOException {
        ReplicaInfo done = super.addFinalizedBlock(pool, block, replica, reserved);
        ledger.close(MoveGuard.name(pool, done.getBlockId()), MemoryLedger.pages(done.getNumBytes(), done.getMetadataLength()));
        finished.accept(pool, done.getBlockId());
        return done;
    }

    /**
     * Replicas that were deleted during a rolling upgrade will be gone, on a thread of Hadoop's own. The NameNode asks for it with
     * each heartbeat.
     */
    void clearsTrash(String pool) {
        boolean isThere = Files.isDirectory(getCurrentDir().toPath().resolve(pool).resolve(TRASH));
        if (isThere ? clearing.add(pool) : clearing.remove(pool)) {
            ledger.removed();
        }
    }

    @Override
    void onBlockFileDeletion(String pool, long bytes) {
        super.onBlockFileDeletion(pool, bytes);
        ledger.removed();
    }

    @Override
    void onMetaFileDeletion(String pool, long bytes) {
        super.onMetaFileDeletion(pool, bytes);
        ledger.removed();
    }
}
