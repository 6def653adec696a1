// SPDX-License-Identifier: Apache-2.0
// Spark's files below one directory.
package org.verbena.spark.store;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.CRC32;
import java.util.zip.Checksum;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/** Plays Spark's resolver: data files named by shuffle and map, lengths kept in memory. */
public class DiskFiles implements ShuffleFiles {
    private final Path disk;
    private final Map<String, long[]> lengths = new ConcurrentHashMap<>();
    private final Map<String, long[]> sums = new ConcurrentHashMap<>();
    private final boolean summed;
    private int next;

    /** Files go to a directory that exists. */
    public DiskFiles(Path disk) {
        this(disk, false);
    }

    /** Files with checksums, or without. */
    DiskFiles(Path disk, boolean summed) {
        this.disk = disk;
        this.summed = summed;
    }

    @Override
    public Packing packing() {
        return null;
    }

    @Override
    public Checksum checksum() {
        return summed ? new CRC32() : null;
    }

    /** The checksums that an output was committed with. */
    long[] sums(int shuffle, long map) {
        return sums.get(shuffle + "-" + map);
    }

    @Override
    public synchronized File temporary(int shuffleId, long mapId) {
        return disk.resolve("temporary-" + next++).toFile();
    }

    @Override
    public void commit(int shuffleId, long mapId, long[] sizes, long[] checksums, File data) {
        try {
            Files.move(data.toPath(), disk.resolve(shuffleId + "-" + mapId));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        lengths.put(shuffleId + "-" + mapId, sizes);
        sums.put(shuffleId + "-" + mapId, checksums);
    }

    @Override
    public void delete(int shuffleId, long mapId) {
        assertTrue(disk.resolve(shuffleId + "-" + mapId).toFile().delete());
    }

    /** Opens partitions start (inclusive) to end (exclusive) of an output. */
    public ManagedBuffer open(int shuffle, long map, int start, int end) {
        long[] sizes = lengths.get(shuffle + "-" + map);
        long from = Arrays.stream(sizes, 0, start).sum();
        return new FileSegmentManagedBuffer(new TransportConf("shuffle", MapConfigProvider.EMPTY),
            disk.resolve(shuffle + "-" + map).toFile(), from, Arrays.stream(sizes, start, end).sum());
    }
}
