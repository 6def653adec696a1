// SPDX-License-Identifier: Apache-2.0
// Finds shuffle blocks in slabs for Spark's block resolver.
package org.verbena.spark.read;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.spark.metrics.Traffic;
import org.verbena.spark.store.HostLocalBuffer;
import org.verbena.spark.store.MapIndex;
import org.verbena.spark.store.MapOutput;
import org.verbena.spark.store.SlabManagedBuffer;
import org.verbena.spark.store.SlabStore;
import scala.Option;

/** Shared by the resolvers of all Spark versions. Thread safe. */
public final class BlockSource {
    /** Shuffle id of the reserved block by which one executor asks another for its address. */
    public static final int ADDRESS_SHUFFLE = Integer.MAX_VALUE;
    /** Name of the reserved block. */
    static final String ADDRESS_BLOCK = "shuffle_" + ADDRESS_SHUFFLE + "_0_0";
    private static final Logger LOG = LoggerFactory.getLogger(BlockSource.class);

    private BlockSource() {
    }

    /**
     * Finds a block.
     *
     * @param engine may be null
     * @param directories block manager directories of another executor of this host, or none for our own blocks
     * @param verify whether bytes are compared with their checksums, if there are some
     * @param files where the block is when it was spilled
     * @return null when the block is not in slabs, then Spark's files have to be asked
     * @throws IOException for the reserved block while no address can be given, and for damaged bytes
     */
    public static ManagedBuffer find(SlabAccess engine, BlockId block, Option<String[]> directories, boolean verify,
            SlabManagedBuffer.Files files) throws IOException {
        BlockRange range = BlockRange.of(block);
        if (range != null && range.shuffle() == ADDRESS_SHUFFLE) {
            return address(engine);
        }
        return range == null || engine == null ? null : find(engine, range, directories, verify, files);
    }

    private static ManagedBuffer address(SlabAccess engine) throws IOException {
        byte[] address = engine == null ? null : engine.address();
        if (address == null) {
            throw new IOException("this executor serves blocks by Spark's own transport only");
        }
        return new NioManagedBuffer(ByteBuffer.wrap(address));
    }

    private static ManagedBuffer find(SlabAccess engine, BlockRange range, Option<String[]> directories, boolean verify,
            SlabManagedBuffer.Files files) throws IOException {
        try {
            return directories.isDefined() ? neighbours(engine, range, directories.get(), verify, files)
                : own(engine, range, verify, files);
        } catch (MapIndex.Damaged e) {
            LOG.warn("map output {} of shuffle {} is damaged in memory: {}; its map task has to run again", range.map(),
                range.shuffle(), e.getMessage());
            throw e;
        } catch (IOException | RuntimeException e) {
            LOG.debug("map output {} of shuffle {} is read from files: {}", range.map(), range.shuffle(), e.toString());
            return null;
        }
    }

    private static ManagedBuffer neighbours(SlabAccess engine, BlockRange range, String[] directories, boolean verify,
            SlabManagedBuffer.Files files) throws IOException {
        MapIndex index = engine.neighbours().find(directories, range.shuffle(), range.map());
        if (index == null) {
            return null;
        }
        if (verify) {
            index.verify(range.start(), range.end());
        }
        return counted(engine, Traffic.Path.HOST_SLAB, new HostLocalBuffer(index, range.start(), range.end(), files));
    }

    /** Null when it was spilled or removed meanwhile. */
    private static ManagedBuffer own(SlabAccess engine, BlockRange range, boolean verify, SlabManagedBuffer.Files files)
            throws IOException {
        SlabStore store = engine.existingStore();
        MapOutput output = store == null ? null : store.find(range.shuffle(), range.map());
        if (output == null || !output.pin(range.start(), range.end(), verify)) {
            return null;
        }
        try {
            return counted(engine, Traffic.Path.LOCAL_SLAB, new SlabManagedBuffer(output, range.start(), range.end(), files));
        } finally {
            output.unpin();
        }
    }

    private static ManagedBuffer counted(SlabAccess engine, Traffic.Path path, ManagedBuffer buffer) {
        engine.traffic().count(path, buffer.size());
        return buffer;
    }
}
