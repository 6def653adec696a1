// SPDX-License-Identifier: Apache-2.0
// Spark's block resolver with slabs in front of the files.
package org.verbena.spark.read;

import java.io.File;
import java.io.IOException;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockId;
import org.verbena.spark.ShuffleEngine;
import org.verbena.spark.store.ShuffleFiles;
import org.verbena.spark.store.SlabStore;
import scala.Option;

/**
 * The shims override {@code getStoredShuffles}, whose result is another class with Scala 2.12, and call
 * {@link #everythingToFiles} there. Thread safe.
 */
public abstract class VerbenaBlockResolver extends IndexShuffleBlockResolver implements ShuffleFiles {
    private final Supplier<ShuffleEngine> engine;

    /**
     * Makes the resolver of one environment.
     *
     * @param stock the resolver of the superclass, whose table of stock map outputs is shared
     * @param engine gives the engine, or null while there is none
     */
    protected VerbenaBlockResolver(SparkConf conf, IndexShuffleBlockResolver stock, Supplier<ShuffleEngine> engine) {
        super(conf, null, stock.taskIdMapsForShuffle());
        this.engine = engine;
    }

    private static IOException failure(Throwable cause) {
        return cause instanceof IOException io ? io : new IOException(cause);
    }

    /** In Spark's files, or with the executor that has the block, when this one cannot see its memory. */
    private ManagedBuffer notMapped(BlockId block, Option<String[]> directories) throws IOException {
        try {
            return super.getBlockData(block, directories);
        } catch (Exception e) { // NoSuchFileException too, which Scala does not declare
            ShuffleEngine current = directories.isDefined() ? engine.get() : null;
            ManagedBuffer sent = current == null ? null : current.fetchFromOwner(directories.get()[0], block.name());
            if (sent == null) {
                throw failure(e);
            }
            return sent;
        }
    }

    @Override
    public ManagedBuffer getBlockData(BlockId block, Option<String[]> directories) {
        try {
            ManagedBuffer found = BlockSource.find(engine.get(), block, directories,
                () -> notMapped(block, directories));
            return found != null ? found : notMapped(block, directories);
        } catch (IOException e) {
            throw Failures.sneak(e);
        }
    }

    @Override
    public void removeDataByMap(int shuffleId, long mapId) {
        SlabStore store = store();
        if (store != null) {
            store.remove(shuffleId, mapId);
        }
        super.removeDataByMap(shuffleId, mapId);
    }

    private SlabStore store() {
        ShuffleEngine current = engine.get();
        return current == null ? null : current.existingStore();
    }

    /** When the executor is decommissioned: what is in slabs becomes files, which Spark then migrates. */
    protected final void everythingToFiles() {
        SlabStore store = store();
        if (store != null) {
            store.spillAll();
        }
    }

    @Override
    public File temporary(int shuffleId, long mapId) {
        return createTempFile(getDataFile(shuffleId, mapId));
    }

    @Override
    public void commit(int shuffleId, long mapId, long[] lengths, File data) {
        writeMetadataFileAndCommit(shuffleId, mapId, lengths, new long[0], data);
    }

    @Override
    public void delete(int shuffleId, long mapId) {
        super.removeDataByMap(shuffleId, mapId);
    }

    /** Spark's resolver throws IOException without declaring it, as Scala may; so must we. */
    private static final class Failures {
        @SuppressWarnings("unchecked")
        static <E extends Throwable> RuntimeException sneak(Throwable e) throws E {
            throw (E) e;
        }
    }
}
