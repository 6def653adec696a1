// SPDX-License-Identifier: Apache-2.0
// Finds shuffle blocks in slabs for Spark's block resolver.
package org.verbena.spark.read;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.spark.ShuffleEngine;
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
    public static ManagedBuffer find(ShuffleEngine engine, BlockId block, Option<String[]> directories, boolean verify,
            SlabManagedBuffer.Files files) throws IOException {
        if (block instanceof ShuffleBlockId one) {
            if (one.shuffleId() == ADDRESS_SHUFFLE) {
                return address(engine);
            }
            return find(engine, one.shuffleId(), one.mapId(), one.reduceId(), one.reduceId() + 1, directories, verify,
                files);
        } else if (block instanceof ShuffleBlockBatchId batch) {
            return find(engine, batch.shuffleId(), batch.mapId(), batch.startReduceId(), batch.endReduceId(),
                directories, verify, files);
        }
        return null;
    }

    private static ManagedBuffer address(ShuffleEngine engine) throws IOException {
        byte[] address = engine == null ? null : engine.address();
        if (address == null) {
            throw new IOException("this executor serves blocks by Spark's own transport only");
        }
        return new NioManagedBuffer(ByteBuffer.wrap(address));
    }

    private static ManagedBuffer find(ShuffleEngine engine, int shuffle, long map, int start, int end,
            Option<String[]> directories, boolean verify, SlabManagedBuffer.Files files) throws IOException {
        if (engine == null) {
            return null;
        }
        try {
            if (directories.isDefined()) {
                MapIndex index = engine.neighbours().find(directories.get(), shuffle, map);
                return index == null ? null : counted(engine, Traffic.Path.HOST_SLAB,
                    new HostLocalBuffer(verified(index, start, end, verify), start, end, files));
            }
            SlabStore store = engine.existingStore();
            MapOutput output = store == null ? null : store.find(shuffle, map);
            return output == null ? null : local(engine, output, start, end, verify, files);
        } catch (MapIndex.Damaged e) {
            LOG.warn("map output {} of shuffle {} is damaged in memory: {}; its map task has to run again", map, shuffle,
                e.getMessage());
            throw e;
        } catch (IOException | RuntimeException e) {
            LOG.debug("map output {} of shuffle {} is read from files: {}", map, shuffle, e.toString());
            return null;
        }
    }

    private static MapIndex verified(MapIndex index, int start, int end, boolean verify) throws IOException {
        if (verify) {
            index.verify(start, end);
        }
        return index;
    }

    /** Null when it was spilled or removed meanwhile. */
    private static ManagedBuffer local(ShuffleEngine engine, MapOutput output, int start, int end, boolean verify,
            SlabManagedBuffer.Files files) throws IOException {
        if (!output.pin()) {
            return null;
        }
        try {
            verified(output.index(), start, end, verify);
            return counted(engine, Traffic.Path.LOCAL_SLAB, new SlabManagedBuffer(output, start, end, files));
        } finally {
            output.unpin();
        }
    }

    private static ManagedBuffer counted(ShuffleEngine engine, Traffic.Path path, ManagedBuffer buffer) {
        engine.traffic().count(path, buffer.size());
        return buffer;
    }
}
