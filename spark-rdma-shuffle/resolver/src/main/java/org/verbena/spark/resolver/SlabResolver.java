// SPDX-License-Identifier: Apache-2.0
// Spark's block resolver with slabs in front of the files.
package org.verbena.spark.resolver;

import java.io.File;
import java.util.function.Supplier;
import java.util.zip.Checksum;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.storage.BlockId;
import org.verbena.spark.read.SlabAccess;
import org.verbena.spark.read.SlabBlocks;
import org.verbena.spark.store.FileChecksum;
import org.verbena.spark.store.Packing;
import org.verbena.spark.store.ShuffleFiles;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.List;

/**
 * Compiled for each shim, and renamed to a package below the shim's: types of the super constructor and of getStoredShuffles depend
 * on the version of Spark and of Scala. Thread safe.
 */
public final class SlabResolver extends IndexShuffleBlockResolver implements ShuffleFiles {
    private final SlabBlocks slabs;
    private final SparkConf conf;
    private final Packing packing;

    /**
     * Makes the resolver of one shuffle manager.
     *
     * @param stock the resolver of Spark's own manager, whose table of stock map outputs is shared
     * @param engine gives the executor's engine, or null while there is none
     */
    public SlabResolver(SparkConf conf, IndexShuffleBlockResolver stock, Supplier<SlabAccess> engine) {
        super(conf, null, stock.taskIdMapsForShuffle());
        this.conf = conf;
        this.packing = Packing.of(conf);
        this.slabs = new SlabBlocks(engine, packing, this::getIndexFile, this::getDataFile);
    }

    @Override
    public ManagedBuffer getBlockData(BlockId block, Option<String[]> directories) {
        return slabs.find(block, directories, super::getBlockData);
    }

    @Override
    public void removeDataByMap(int shuffleId, long mapId) {
        slabs.remove(shuffleId, mapId);
        super.removeDataByMap(shuffleId, mapId);
    }

    @Override
    public List<ShuffleBlockInfo> getStoredShuffles() {
        return slabs.stored(super.getStoredShuffles().toList());
    }

    @Override
    public List<Tuple2<BlockId, ManagedBuffer>> getMigrationBlocks(ShuffleBlockInfo info) {
        slabs.toFiles(info.shuffleId(), info.mapId());
        return super.getMigrationBlocks(info);
    }

    /** Spark 4 calls it, in place of its own method; Spark 3.5 has none. */
    public void addShuffleToSkip(int shuffleId) {
        slabs.skip(shuffleId);
    }

    @Override
    public File getChecksumFile(int shuffleId, long mapId, String algorithm, Option<String[]> directories) {
        return slabs.checksums(shuffleId, mapId, algorithm,
            super.getChecksumFile(shuffleId, mapId, algorithm, directories));
    }

    @Override
    public File temporary(int shuffleId, long mapId) {
        return createTempFile(getDataFile(shuffleId, mapId));
    }

    @Override
    public void commit(int shuffleId, long mapId, long[] lengths, long[] sums, File data) {
        writeMetadataFileAndCommit(shuffleId, mapId, lengths, sums, data);
    }

    @Override
    public Packing packing() {
        return packing;
    }

    @Override
    public Checksum checksum() {
        return FileChecksum.of(conf);
    }

    @Override
    public void delete(int shuffleId, long mapId) {
        super.removeDataByMap(shuffleId, mapId);
    }
}
