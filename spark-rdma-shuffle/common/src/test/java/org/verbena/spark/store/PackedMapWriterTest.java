// SPDX-License-Identifier: Apache-2.0
// Spark's map writers into packed files: order, empty partitions, checksums, ends.
package org.verbena.spark.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext$;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.spark.settings.VerbenaConf;

class PackedMapWriterTest {
    private static final int PARTITIONS = 6;
    private static final int BYTES = 50_000;

    @TempDir
    Path disk;
    private final Packing packing = Packing.of(new SparkConf(false).set(VerbenaConf.PACK_FILES, "true"));
    private DiskFiles files;
    private PackedMapWriter writer;

    @BeforeEach
    void open() {
        TaskContext$.MODULE$.unset();
        files = new DiskFiles(disk, true) {
            @Override
            public Packing packing() {
                return packing;
            }

            @Override
            public void commit(int shuffleId, long mapId, long[] sizes, long[] checksums, java.io.File data) {
                super.commit(shuffleId, mapId, sizes, checksums, data);
                ByteBuffer offsets = ByteBuffer.allocate(Long.BYTES * (sizes.length + 1)).putLong(0);
                long at = 0;
                for (long size : sizes) {
                    offsets.putLong(at += size);
                }
                try {
                    Files.write(disk.resolve("index"), offsets.array());
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            }
        };
        writer = new PackedMapWriter(files, 1, 2, PARTITIONS);
    }

    private static byte[] bytes(int partition) {
        byte[] bytes = new byte[BYTES];
        Arrays.fill(bytes, (byte) partition);
        return bytes;
    }

    private void write(int partition) throws IOException {
        try (OutputStream out = writer.getPartitionWriter(partition).openStream()) {
            out.write(partition);
            out.write(bytes(partition), 1, BYTES - 1);
        }
    }

    private byte[] read(int start, int end) throws IOException {
        return PackedFile.find(packing, disk.resolve("index").toFile(), disk.resolve("1-2").toFile(), start, end)
            .createInputStream().readAllBytes();
    }

    private static long sum(byte[] bytes) {
        CRC32 sum = new CRC32();
        sum.update(bytes);
        return sum.getValue();
    }

    @Test
    void partitionsComeBackAsTheyWereAndTheFileIsSmall() throws IOException {
        for (int partition : new int[] {1, 2, 4}) {
            write(partition);
        }
        writer.getPartitionWriter(5).openStream().close();
        assertArrayEquals(new long[] {0, BYTES, BYTES, 0, BYTES, 0},
            writer.commitAllPartitions(new long[0]).getPartitionLengths());
        assertTrue(Files.size(disk.resolve("1-2")) < BYTES);
        for (int partition = 0; partition < PARTITIONS; partition++) {
            boolean empty = partition % 5 == 0 || partition == 3;
            byte[] wanted = empty ? new byte[0] : bytes(partition);
            assertArrayEquals(wanted, read(partition, partition + 1));
            assertEquals(sum(wanted), files.sums(1, 2)[partition]);
        }
        assertEquals(3 * BYTES, read(0, PARTITIONS).length);
    }

    @Test
    void anOutputWithoutRecordsIsAPairOfFilesToo() throws IOException {
        writer.commitAllPartitions(new long[0]);
        assertEquals(0, read(0, PARTITIONS).length);
    }

    @Test
    void whatIsGivenUpLeavesNoFile() throws IOException {
        write(1);
        assertEquals(1, disk.toFile().list().length);
        writer.abort(new IOException("the disk is full"));
        writer.close();
        assertEquals(0, disk.toFile().list().length);
    }

    @Test
    void aCommittedFileStaysWhenTheTaskEnds() throws IOException {
        write(1);
        writer.commitAllPartitions(new long[0]);
        writer.close();
        assertEquals(BYTES, read(1, 2).length);
    }

    @Test
    void anEarlierPartitionIsRefused() throws IOException {
        OutputStream late = writer.getPartitionWriter(1).openStream();
        write(3);
        assertThrows(IllegalArgumentException.class, () -> writer.getPartitionWriter(2));
        assertThrows(IOException.class, () -> late.write(1));
    }
}
