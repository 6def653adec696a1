// SPDX-License-Identifier: Apache-2.0
// What Spark's block resolver does for slabs, in front of its files.
package org.verbena.spark.read;

import java.io.File;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.storage.BlockId;
import org.verbena.spark.store.MapOutput;
import org.verbena.spark.store.PackedFile;
import org.verbena.spark.store.Packing;
import org.verbena.spark.store.SlabStore;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.List;
import scala.collection.immutable.List$;

/** Shared by the shims' resolvers, whose superclass has another constructor in every Spark version. Thread safe. */
public final class SlabBlocks {
    private final Supplier<SlabAccess> engine;
    private final Packing packing;
    private final Place index;
    private final Place data;
    private final Diagnosis diagnosis = new Diagnosis();
    private final Set<Integer> skipped = ConcurrentHashMap.newKeySet();

    /** Says where a file of Spark's is. */
    @FunctionalInterface
    public interface Place {
        /** Directories as for {@link SlabBlocks#find}. */
        File of(int shuffleId, long mapId, Option<String[]> directories);
    }

    /**
     * Makes the slab side of one resolver.
     *
     * @param engine gives the engine, or null while there is none
     * @param packing how files may be compressed, or null
     * @param index places of Spark's index files
     * @param data places of Spark's data files
     */
    public SlabBlocks(Supplier<SlabAccess> engine, Packing packing, Place index, Place data) {
        this.engine = engine;
        this.packing = packing;
        this.index = index;
        this.data = data;
    }

    /**
     * Finds a block in slabs, else in files or with its owner; throws IOException undeclared, as Spark's resolver does.
     *
     * @param directories block manager directories of another executor of this host, or none for our own blocks
     * @param files the superclass's getBlockData
     */
    public ManagedBuffer find(BlockId block, Option<String[]> directories,
            BiFunction<BlockId, Option<String[]>, ManagedBuffer> files) {
        try {
            ManagedBuffer found = BlockSource.find(engine.get(), block, directories, !diagnosis.takes(block),
                () -> notMapped(block, directories, files));
            return found != null ? found : notMapped(block, directories, files);
        } catch (IOException e) {
            throw Failures.sneak(e);
        }
    }

    /** In Spark's files, or with the executor that has the block, when this one cannot see its memory. */
    private ManagedBuffer notMapped(BlockId block, Option<String[]> directories,
            BiFunction<BlockId, Option<String[]>, ManagedBuffer> files) throws IOException {
        try {
            ManagedBuffer packed = packed(block, directories);
            return packed != null ? packed : files.apply(block, directories);
        } catch (Exception e) { // NoSuchFileException too, which Scala does not declare
            SlabAccess current = directories.isDefined() ? engine.get() : null;
            ManagedBuffer late = current == null ? null : current.neighbourBlocks().find(block);
            if (late == null) {
                throw e instanceof IOException io ? io : new IOException(e);
            }
            return late;
        }
    }

    /** Null when the block is not in compressed files of ours. */
    private ManagedBuffer packed(BlockId block, Option<String[]> directories) throws IOException {
        BlockRange range = packing == null ? null : BlockRange.of(block);
        return range == null ? null : PackedFile.find(packing, index.of(range.shuffle(), range.map(), directories),
            data.of(range.shuffle(), range.map(), directories), range.start(), range.end());
    }

    /** Forgets one map output. */
    public void remove(int shuffleId, long mapId) {
        SlabStore store = store();
        if (store != null) {
            store.remove(shuffleId, mapId);
        }
    }

    /** Spark asks for the file of a map output's checksums, to find out what damaged a block: makes it for one in slabs. */
    public File checksums(int shuffleId, long mapId, String algorithm, File file) {
        SlabStore store = store();
        MapOutput output = store == null ? null : store.find(shuffleId, mapId);
        if (output != null) {
            diagnosis.write(output, algorithm, file);
        }
        return file;
    }

    /**
     * What a decommissioned executor has to migrate.
     *
     * @param inFiles what Spark finds in its files
     * @return the same with map outputs in slabs, and without shuffles that Spark skips
     */
    public List<ShuffleBlockInfo> stored(List<ShuffleBlockInfo> inFiles) {
        List<ShuffleBlockInfo> all = List$.MODULE$.empty();
        for (Iterator<ShuffleBlockInfo> files = inFiles.iterator(); files.hasNext();) {
            all = with(all, files.next());
        }
        SlabStore store = store();
        for (MapOutput output : store == null ? java.util.List.<MapOutput>of() : store.live()) {
            all = with(all, new ShuffleBlockInfo(output.shuffleId(), output.mapId()));
        }
        return all;
    }

    private List<ShuffleBlockInfo> with(List<ShuffleBlockInfo> others, ShuffleBlockInfo output) {
        return skipped.contains(output.shuffleId()) ? others : others.$colon$colon(output);
    }

    /** Spark will not migrate this shuffle. */
    public void skip(int shuffleId) {
        skipped.add(shuffleId);
    }

    /** One map output becomes files, which Spark then migrates; nothing where it is none of those in slabs. */
    public void toFiles(int shuffleId, long mapId) {
        SlabStore store = store();
        if (store != null) {
            store.spill(shuffleId, mapId);
        }
    }

    private SlabStore store() {
        SlabAccess current = engine.get();
        return current == null ? null : current.existingStore();
    }

    private static final class Failures {
        @SuppressWarnings("unchecked")
        static <E extends Throwable> RuntimeException sneak(Throwable e) throws E {
            throw (E) e;
        }
    }
}
