// SPDX-License-Identifier: Apache-2.0
// A fetcher that can read map outputs from the shared file system, and what it does when they are not right there.
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapred.TaskStatus;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.task.reduce.MapHost;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleClientMetrics;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleSchedulerImpl;
import org.apache.hadoop.util.Progress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(300)
class SharedFetchTest {
    private static final int MAPS = 3;
    private static final int BYTES = 10_000;
    private static final int PART = BYTES + 4; // with the checksum
    private static final String FOLDER = "nodes/one";

    /** Of a reducer that nobody asks. */
    private static final class Status extends TaskStatus {
        @Override
        public boolean getIsMap() {
            return false;
        }

        @Override
        public void addFetchFailedMap(org.apache.hadoop.mapred.TaskAttemptID map) {
            throw new IllegalStateException(map + " failed");
        }
    }

    @TempDir
    Path place;

    private final Counters counters = new Counters();
    private Path root;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        root = place.resolve("root");
        Path local = Files.createDirectories(root.resolve(FOLDER));
        Configuration site = new Configuration();
        site.set("verbena.lustre.root", root.toString());
        node = new TestNode(List.of(local.toFile()), MAPS, 1, BYTES, site);
    }

    @AfterEach
    void stop() {
        node.close();
    }

    /** Another root, in which the node's folder has its mark and its map outputs, as a reducer might see them that are damaged. */
    private Path copy() throws IOException {
        Path other = place.resolve("other");
        for (int map = 0; map < MAPS; map++) {
            Path file = copied(other, map);
            Files.createDirectories(file.getParent());
            Files.copy(node.output(map).toPath(), file);
        }
        Files.copy(root.resolve(FOLDER).resolve(SharedFolders.FILE), other.resolve(FOLDER).resolve(SharedFolders.FILE));
        return other;
    }

    private Path copied(Path other, int map) {
        return other.resolve(root.relativize(node.output(map).toPath()));
    }

    private long count(String name) {
        return counters.findCounter(ShuffleCounters.GROUP, name).getCounter();
    }

    /** All map outputs, as one fetcher of a reducer gets them. */
    private void fetch(Path seen, String source) throws Exception {
        JobConf job = new JobConf(false);
        job.setNumMapTasks(MAPS);
        job.set("verbena.shuffle.source", source);
        TestNode.bePatient(job);
        ShuffleConf conf = new ShuffleConf(job);
        Reporter reporter = (Reporter) Proxy.newProxyInstance(Reporter.class.getClassLoader(), new Class<?>[] {Reporter.class},
            (proxy, method, words) -> counters.findCounter((String) words[0], (String) words[1]));
        TaskAttemptID reduce = new TaskAttemptID("1", 1, TaskType.REDUCE, 0, 0);
        ShuffleConsumerPlugin.Context<Text, Text> context = new ShuffleConsumerPlugin.Context<>(
            new org.apache.hadoop.mapred.TaskAttemptID("1", 1, TaskType.REDUCE, 0, 0), job, null, null, null, Reporter.NULL, null,
            null, null, null, null, null, null, null, null, null, null, null, null, null, null);
        ShuffleCounters told = new ShuffleCounters(reporter);
        MemoryMerge<Text, Text> merge = new MemoryMerge<>(context, null, MemoryBudget.of(1 << 20), told);
        ShuffleSchedulerImpl<Text, Text> scheduler = new ShuffleSchedulerImpl<>(job, new Status(), reduce,
            Throwable::printStackTrace, new Progress(), new Counters.Counter(), new Counters.Counter(), new Counters.Counter());
        for (int map = 0; map < MAPS; map++) {
            scheduler.addKnownMapOutput("node", node.url() + "&reduce=0&map=", TaskAttemptID.forName(TestNode.attempt(map)));
        }
        long kept = count("Bytes kept in memory");
        MapHost host = scheduler.getHost();
        try (CoreClient client = new CoreClient(conf, TestNode.secret())) {
            FetchShare<Text, Text> share = new FetchShare<>(TestNode.JOB, TestNode.secret(), client, merge, told, conf,
                new SharedFiles(seen, null, System::nanoTime), 120_000);
            new CoreFetcher<>(job, reduce, scheduler, Reporter.NULL, ShuffleClientMetrics.create(reduce, job),
                Throwable::printStackTrace, share).copyFromHost(host);
        }
        assertTrue(scheduler.waitUntilDone(0), "all map outputs are here: " + counters);
        scheduler.close();
        assertEquals((long) MAPS * PART, count("Bytes kept in memory") - kept);
    }

    @Test
    void map_outputs_are_read_from_the_files_where_the_folder_is_the_same() throws Exception {
        fetch(root, "shared");
        assertEquals((long) MAPS * PART, count("Bytes by shared files"));
        assertEquals(MAPS, count("Segments by shared files"));
        assertEquals(0, count("Segments by the core"));
    }

    @Test
    void the_root_may_have_another_name_on_the_reducers_host() throws Exception {
        fetch(Files.createSymbolicLink(place.resolve("elsewhere"), root), "shared");
        assertEquals(MAPS, count("Segments by shared files"));
    }

    @Test
    void the_core_brings_them_when_a_setting_says_so_or_the_reducer_has_no_root() throws Exception {
        fetch(root, "core");
        assertEquals(MAPS, count("Segments by the core"));
        fetch(null, "shared");
        assertEquals(2 * MAPS, count("Segments by the core"));
    }

    @Test
    void a_folder_of_the_same_name_and_another_mark_is_not_read() throws Exception {
        Path other = copy();
        Files.writeString(other.resolve(FOLDER).resolve(SharedFolders.FILE), "0123456789abcdef0123456789abcdef");
        fetch(other, "shared");
        assertEquals(MAPS, count("Segments by the core"));
        assertEquals(0, count("Shared files that could not be used"));
    }

    @Test
    void files_that_have_vanished_come_by_the_core() throws Exception {
        Path other = copy();
        Files.delete(copied(other, 1));
        fetch(other, "shared");
        assertEquals(MAPS, count("Segments by the core"));
        assertEquals(1, count("Shared files that could not be used"));
    }

    @Test
    void a_file_that_is_too_short_comes_by_the_core() throws Exception {
        Path other = copy();
        Files.write(copied(other, 2), new byte[BYTES / 2]);
        fetch(other, "shared");
        assertEquals(MAPS, count("Segments by the core"));
        assertEquals(1, count("Shared files that could not be used"));
    }

    @Test
    void damaged_bytes_are_seen_by_their_checksum_and_come_by_the_core() throws Exception {
        Path other = copy();
        byte[] bytes = Files.readAllBytes(copied(other, 1));
        bytes[BYTES / 3] ^= 4;
        Files.write(copied(other, 1), bytes);
        fetch(other, "shared");
        assertEquals(1, count("Segments by shared files"), "the one before it");
        assertEquals(MAPS - 1, count("Segments by the core"));
        assertEquals(1, count("Shared files that could not be used"));
    }

    @Test
    void a_folder_is_used_again_after_a_pause_and_no_path_leads_out_of_it() throws Exception {
        SharedFolders folders = new SharedFolders(site(root), List.of(root.resolve(FOLDER).toString()));
        AtomicLong now = new AtomicLong(Long.MAX_VALUE - 5); // a clock that overflows
        SharedFiles files = new SharedFiles(root, null, now::get);
        Wire.Place found = folders.place(node.output(1), 0);
        assertTrue(files.offers(found));
        ByteBuffer room = ByteBuffer.allocate(BYTES);
        files.read(found, room);
        assertEquals(1, room.get(BYTES / 2));
        assertEquals(PART, files.open(found, PART).readAllBytes().length);
        files.refuse(found, new IOException("a test"));
        assertFalse(files.offers(found));
        now.addAndGet(31_000_000_000L);
        assertTrue(files.offers(found));
        Files.writeString(root.resolve("secret"), "secret");
        assertThrows(IOException.class,
            () -> files.read(new Wire.Place(found.folder(), "../../secret", 0), ByteBuffer.allocate(6)));
    }

    private static Configuration site(Path root) {
        Configuration site = new Configuration(false);
        site.set("verbena.lustre.root", root.toString());
        return site;
    }

    @Test
    void a_folder_that_another_host_has_used_is_noticed() throws IOException {
        Path folder = Files.createDirectories(root.resolve("nodes/two"));
        assertNull(SharedFolders.takeOver(folder, "one"));
        assertNull(SharedFolders.takeOver(folder, "one"), "a restart");
        assertEquals("one", SharedFolders.takeOver(folder, "two"));
        assertEquals("two", SharedFolders.takeOver(folder, "one"));
        assertNull(SharedFolders.takeOver(folder, "One.example"), "the same with its domain");
    }

    @Test
    void folders_outside_of_the_root_are_not_announced_and_a_mark_stays() throws IOException {
        Path local = Files.createDirectories(place.resolve("local"));
        List<String> both = List.of(local.toString(), root.resolve(FOLDER).toString());
        SharedFolders first = new SharedFolders(site(root), both);
        SharedFolders second = new SharedFolders(site(root), both);
        assertEquals(1, first.announced().size());
        assertEquals(FOLDER, first.announced().get(0).name());
        assertEquals(first.announced(), second.announced());
        assertFalse(Files.exists(local.resolve(SharedFolders.FILE)));
        assertNull(first.place(local.resolve("file.out").toFile(), 0));
        assertEquals(List.of(), new SharedFolders(new Configuration(false), both).announced());
        assertEquals(List.of(), new SharedFolders(site(place.resolve("missing")), both).announced());
    }
}
