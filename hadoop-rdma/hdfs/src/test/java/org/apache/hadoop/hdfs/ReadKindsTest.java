// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import static org.apache.hadoop.hdfs.WriteCluster.path;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Small reads of all kinds of files, and what is counted of them. */
class ReadKindsTest {
    private static final int NODES = 3;
    private static final String STOCK = "verbena.hdfs.reader=stock";
    private static final int DISTANCES = 5;

    @TempDir
    private static Path work;

    private static WriteCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        WriteCluster.endHedgedReads(); // of another class
        cluster = new WriteCluster(work, NODES, Map.of("dfs.replication", Integer.toString(NODES)));
    }

    @AfterAll
    static void stop() throws IOException {
        cluster.close();
    }

    private static byte[] append(DistributedFileSystem files, String name, byte[] content) throws IOException {
        byte[] more = WriteCluster.content(Readings.SIZE / 2);
        try (FSDataOutputStream out = files.append(path(name))) {
            out.write(more);
        }
        byte[] all = Arrays.copyOf(content, content.length + more.length);
        System.arraycopy(more, 0, all, content.length, more.length);
        return all;
    }

    private static void assertReadByUs(long least, long before) {
        long answers = ReadConnection.ANSWERS.sum() - before;
        assertTrue(answers >= least, "answers: " + answers);
    }

    @Test
    void a_snapshot_gives_what_has_been_appended_to_and_deleted_since() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            files.mkdirs(path("kept"));
            byte[] content = Readings.write(files, path("kept/file"));
            Readings.write(files, path("kept/deleted"));
            files.allowSnapshot(path("kept"));
            files.createSnapshot(path("kept"), "before");
            byte[] longer = append(files, "kept/file", content);
            files.delete(path("kept/deleted"), false);
            long before = ReadConnection.ANSWERS.sum();
            Readings.check(files, path("kept/.snapshot/before/file"), content);
            Readings.check(files, path("kept/.snapshot/before/deleted"), content);
            Readings.check(files, path("kept/file"), longer);
            assertReadByUs(3 * Readings.SMALL, before);
        }
    }

    @Test
    void files_that_are_erasure_coded_are_hadoops() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            files.mkdirs(path("coded"));
            files.enableErasureCodingPolicy("XOR-2-1-1024k");
            files.setErasureCodingPolicy(path("coded"), "XOR-2-1-1024k");
            byte[] content = Readings.write(files, path("coded/file"));
            long before = ReadConnection.ANSWERS.sum();
            try (FSDataInputStream in = files.open(path("coded/file"))) {
                assertInstanceOf(DFSStripedInputStream.class, in.getWrappedStream());
                Readings.positioned(in, content);
                Readings.vectored(in, content);
                Readings.sequential(in, content);
            }
            assertEquals(before, ReadConnection.ANSWERS.sum());
        }
    }

    @Test
    void an_open_stream_reads_what_it_knows_of_a_file_that_is_appended_to_and_cut_off() throws Exception {
        try (DistributedFileSystem files = cluster.client(); DistributedFileSystem others = cluster.client()) {
            byte[] content = Readings.write(files, path("grows"));
            try (FSDataInputStream in = files.open(path("grows"))) {
                Readings.check(in, content);
                byte[] longer = append(others, "grows", content);
                long before = ReadConnection.ANSWERS.sum();
                Readings.check(in, content);
                Readings.check(files, path("grows"), longer);
                assertReadByUs(2 * Readings.SMALL, before);
            }
            boolean done = others.truncate(path("grows"), Readings.SIZE - 333);
            WriteCluster.until("the file is cut", () -> done || isClosed(others, "grows"));
            Readings.check(files, path("grows"), Arrays.copyOf(content, Readings.SIZE - 333));
        }
    }

    private static boolean isClosed(DistributedFileSystem files, String name) {
        try {
            return files.isFileClosed(path(name));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** What all reads of a file are counted as, by the file system's statistics and the stream's. */
    private static List<Long> counted(DistributedFileSystem files, String name, byte[] content) throws Exception {
        Field field = DFSClient.class.getDeclaredField("stats");
        field.setAccessible(true);
        FileSystem.Statistics all = (FileSystem.Statistics) field.get(files.getClient());
        List<Long> before = statistics(all);
        List<Long> stream = new ArrayList<>();
        try (FSDataInputStream in = files.open(path(name))) {
            Readings.check(in, content);
            ReadStatistics read = ((HdfsDataInputStream) in).getReadStatistics();
            stream.addAll(List.of(read.getTotalBytesRead(), read.getTotalLocalBytesRead(), read.getTotalShortCircuitBytesRead(),
                read.getTotalZeroCopyBytesRead(), read.getRemoteBytesRead()));
        }
        List<Long> after = statistics(all);
        for (int i = 0; i < after.size(); i++) {
            stream.add(after.get(i) - before.get(i));
        }
        return stream;
    }

    private static List<Long> statistics(FileSystem.Statistics all) {
        List<Long> numbers = new ArrayList<>(List.of(all.getBytesRead(), (long) all.getReadOps(), (long) all.getLargeReadOps()));
        for (int distance = 0; distance < DISTANCES; distance++) {
            numbers.add(all.getBytesReadByDistance(distance));
        }
        return numbers;
    }

    @Test
    void statistics_are_those_of_hadoops_reader() throws Exception {
        try (DistributedFileSystem ours = cluster.client(); DistributedFileSystem stock = cluster.client(STOCK)) {
            byte[] content = Readings.write(ours, path("counted"));
            List<Long> expected = counted(stock, "counted", content);
            assertTrue(expected.get(0) > Readings.SMALL * 4096, expected.toString());
            long before = ReadConnection.ANSWERS.sum();
            assertEquals(expected, counted(ours, "counted", content));
            assertReadByUs(Readings.SMALL, before);
        }
    }
}
