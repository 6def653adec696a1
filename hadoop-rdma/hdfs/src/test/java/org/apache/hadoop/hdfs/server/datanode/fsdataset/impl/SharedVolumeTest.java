// SPDX-License-Identifier: Apache-2.0
// File systems that lose bytes, or say no.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.BlockMetadataHeader;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.util.DataChecksum;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.settings.TierConf;
import org.verbena.hadoop.hdfs.shared.SharedTier;

class SharedVolumeTest {
    private static final int CHUNK = 512;
    private static final int LENGTH = 3 * CHUNK + 1;
    private static final int SUMS = 7 + 4 * 4; // of four chunks
    private static final int LIMIT = 1 << 20; // bytes of a file
    private static final int WITHIN = LIMIT - LIMIT / 4;

    @TempDir
    Path place;

    /** A replica of LENGTH bytes whose files have these lengths. */
    private ReplicaInfo replica(int data, int sums) throws IOException {
        Files.write(place.resolve("blk_5"), new byte[data]);
        Path meta = place.resolve("blk_5_1001.meta");
        try (DataOutputStream out = new DataOutputStream(Files.newOutputStream(meta))) {
            BlockMetadataHeader.writeHeader(out, DataChecksum.newDataChecksum(DataChecksum.Type.CRC32C, CHUNK));
            out.write(new byte[sums - BlockMetadataHeader.getHeaderSize()]);
        }
        return new FinalizedReplica(5, LENGTH, 1001, null, place.toFile());
    }

    @Test
    void a_replica_whose_files_are_as_long_as_they_have_to_be_is_whole() throws Exception {
        SharedVolume.checkLength(replica(LENGTH, SUMS));
    }

    @Test
    void bytes_that_a_file_system_has_lost_without_a_word_are_told_by_number() throws Exception {
        assertEquals("the file system keeps 0 of the 1537 bytes of block 5 although no write has failed",
            assertThrows(IOException.class, () -> SharedVolume.checkLength(replica(0, SUMS))).getMessage());
        assertEquals("the file system keeps 15 of the 23 bytes of the checksums of block 5 although no write has failed",
            assertThrows(IOException.class, () -> SharedVolume.checkLength(replica(LENGTH, SUMS - 8))).getMessage());
    }

    @Test
    void a_write_that_fails_keeps_further_replicas_away_from_the_path() throws Exception {
        Configuration conf = new Configuration(false);
        SharedTier tier = new SharedTier(TierConf.of(conf).shared());
        SharedFiles files = new SharedFiles(conf, null, tier);
        try (RandomAccessFile good = new RandomAccessFile(place.resolve("good").toFile(), "rw");
                FileOutputStream out = files.getFileOutputStream(null, good.getFD())) {
            out.write(new byte[CHUNK]);
        }
        assertEquals(CHUNK, Files.size(place.resolve("good")));
        assertTrue(tier.takesReplicas());
        try (RandomAccessFile full = new RandomAccessFile("/dev/full", "rw");
                FileOutputStream out = files.getFileOutputStream(null, full.getFD())) {
            assertTrue(assertThrows(IOException.class, () -> out.write(new byte[CHUNK])).getMessage().contains("No space left"));
        }
        assertFalse(tier.takesReplicas());
    }

    /** As Hadoop's streams do, which finish the packet. */
    @Test
    void a_writer_that_is_stopped_finishes_its_write() throws Exception {
        Path file = place.resolve("stopped");
        Configuration conf = new Configuration(false);
        SharedFiles files = new SharedFiles(conf, null, new SharedTier(TierConf.of(conf).shared()));
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw");
                FileOutputStream out = files.getFileOutputStream(null, open.getFD())) {
            Thread.currentThread().interrupt();
            try {
                out.write(new byte[CHUNK]);
                out.write(new byte[CHUNK]);
            } finally {
                assertTrue(Thread.interrupted());
            }
            out.write(new byte[CHUNK]);
        }
        assertEquals(3 * CHUNK, Files.size(file));
    }

    /** The program of a process whose files have a limit: it writes within it, and then beyond. */
    static final class Limited {
        public static void main(String[] files) throws IOException {
            Configuration conf = new Configuration(false);
            SharedFiles hadoops = new SharedFiles(conf, null, new SharedTier(TierConf.of(conf).shared()));
            try (RandomAccessFile file = new RandomAccessFile(files[0], "rw");
                    FileOutputStream out = hadoops.getFileOutputStream(null, file.getFD())) {
                out.write(new byte[WITHIN]);
                assertThrows(IOException.class, () -> out.write(new byte[WITHIN]));
            }
        }
    }

    @Test
    void a_write_that_fails_half_way_leaves_nothing_of_it() throws Exception {
        Path file = place.resolve("limited");
        Process process = new ProcessBuilder("sh", "-c", "ulimit -f " + LIMIT / CHUNK + "; exec \"$@\"", "sh",
            System.getProperty("java.home") + "/bin/java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp",
            System.getProperty("java.class.path"), Limited.class.getName(), file.toString()).inheritIO().start();
        assertEquals(0, process.waitFor());
        assertEquals(WITHIN, Files.size(file));
    }
}
