// SPDX-License-Identifier: Apache-2.0
// What Spark is told when it asks whether memory or the network damaged a block.
package org.verbena.spark.read;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.zip.Checksum;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.spark.store.FileChecksum;
import org.verbena.spark.store.MapIndex;
import org.verbena.spark.store.MapOutput;

/**
 * Spark's diagnosis compares three sums of a partition, by an algorithm that the reader names: the one in the map task's
 * file of checksums, one of the bytes as they are now, and the reader's. For a map output in slabs there is no such file,
 * so it is made when Spark asks for it: the sum of the bytes as they are, or another one when our own checksum says that
 * they are not the map task's. Then Spark asks, on the same thread, for the block, which is given even if it is damaged.
 * Thread safe.
 */
final class Diagnosis {
    private static final Logger LOG = LoggerFactory.getLogger(Diagnosis.class);
    private final ThreadLocal<ShuffleBlockId> asked = new ThreadLocal<>(); // the reduce id says nothing

    /**
     * Writes the sums of a map output.
     *
     * @param file where Spark looks for them
     */
    void write(MapOutput output, String algorithm, File file) {
        Checksum sum = FileChecksum.of(algorithm);
        if (!output.pin()) {
            return;
        }
        try {
            if (!output.index().hasSums()) {
                LOG.warn("a block of map output {} of shuffle {} arrived damaged; memory and network cannot be told apart, "
                    + "because map outputs in memory have no checksums; set spark.shuffle.checksum.enabled=true",
                    output.mapId(), output.shuffleId());
            } else if (sum != null) {
                File temporary = new File(file.getPath() + "." + Thread.currentThread().getId());
                Files.write(temporary.toPath(), sums(output.index(), sum).array());
                Files.move(temporary.toPath(), file.toPath(), StandardCopyOption.ATOMIC_MOVE);
                asked.set(new ShuffleBlockId(output.shuffleId(), output.mapId(), 0));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            output.unpin();
        }
    }

    /** Whether the block is the one that this thread's diagnosis is about, once; then it is given as it is. */
    boolean takes(BlockId block) {
        ShuffleBlockId about = asked.get();
        if (about == null) {
            return false;
        }
        asked.remove();
        return block instanceof ShuffleBlockId one && one.shuffleId() == about.shuffleId() && one.mapId() == about.mapId();
    }

    /** As Spark's file holds them: a long in network order for each partition. */
    private static ByteBuffer sums(MapIndex index, Checksum sum) throws IOException {
        ByteBuffer sums = ByteBuffer.allocate(Math.multiplyExact(Long.BYTES, index.partitions()));
        for (int p = 0; p < index.partitions(); p++) {
            sum.reset();
            for (ByteBuffer piece : index.pieces(p, p + 1)) {
                sum.update(piece);
            }
            sums.putLong(intact(index, p) ? sum.getValue() : ~sum.getValue());
        }
        return sums;
    }

    private static boolean intact(MapIndex index, int partition) throws IOException {
        try {
            index.verify(partition, partition + 1);
            return true;
        } catch (MapIndex.Damaged e) {
            return false;
        }
    }
}
