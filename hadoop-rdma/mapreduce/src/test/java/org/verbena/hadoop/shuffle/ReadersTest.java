// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnPeer;

/** Map outputs lie in several local folders, on disks of their own. */
class ReadersTest {
    private static final int BYTES = 1000;
    private static final int MAPS = 6;
    private static final int LARGE = 3 << 19; // not whole pieces: what a request has so far shares one with what it waits for
    private static final int MANY = 12; // more than a reducer's share of the node's memory

    @TempDir
    Path place;

    private List<File> folders() {
        return List.of(place.resolve("one").toFile(), place.resolve("two").toFile(), place.resolve("three").toFile());
    }

    @Test
    void one_request_takes_segments_of_all_folders_in_its_order() throws Exception {
        try (TestNode node = new TestNode(folders(), MAPS, 2, BYTES);
                CoreClient client = new CoreClient(node.conf, TestNode.secret())) {
            Link link = node.link(client);
            VbnPeer peer = link.peer(1);
            assertNotNull(peer, () -> "by HTTP: " + link.reason());
            List<Integer> maps = List.of(3, 0, 1, 5, 2, 4, 0);
            ByteBuffer all = TestNode.fetch(client, link, peer, 1, maps);
            assertEquals(maps.size() * (BYTES + 4), all.limit());
            for (int i = 0; i < maps.size(); i++) {
                assertEquals((int) maps.get(i), all.get(i * (BYTES + 4)));
                assertEquals((int) maps.get(i), all.get(i * (BYTES + 4) + BYTES - 1));
            }
        }
    }

    @Test
    void a_disk_that_stands_still_keeps_nobody_waiting_who_reads_another_one() throws Exception {
        try (TestNode node = new TestNode(folders(), MAPS, 2, BYTES);
                CoreClient client = new CoreClient(node.conf, TestNode.secret())) {
            Link link = node.link(client);
            VbnPeer peer = link.peer(0);
            assertNotNull(peer, () -> "by HTTP: " + link.reason());
            TestNode.fetch(client, link, peer, 0, List.of(0)); // its place is known from now on
            File stands = stand(node.output(0));
            Exchange waits = client.send(peer, Wire.LOAD, 0, List.of(new Wire.Range(TestNode.attempt(0), 0, BYTES)),
                ByteBuffer.allocateDirect(BYTES));
            try {
                assertEquals(2 * (BYTES + 4), TestNode.fetch(client, link, peer, 0, List.of(1, 2)).limit());
            } finally {
                goOn(stands);
                client.end(waits);
            }
        }
    }

    /** Puts a FIFO in a file's place: who opens it waits for a writer. */
    private static File stand(File file) throws Exception {
        Files.delete(file.toPath());
        assertEquals(0, new ProcessBuilder("mkfifo", file.getPath()).start().waitFor());
        return file;
    }

    private static void goOn(File stands) throws IOException {
        new FileOutputStream(stands).close();
    }

    @Test
    void an_index_on_a_disk_that_stands_still_keeps_no_question_waiting_for_another_disk() throws Exception {
        try (TestNode node = new TestNode(folders(), MAPS, 2, BYTES);
                CoreClient client = new CoreClient(node.conf, TestNode.secret())) {
            Link link = node.link(client);
            VbnPeer peer = link.peer(0);
            assertNotNull(peer, () -> "by HTTP: " + link.reason());
            File stands = stand(new File(node.output(0).getPath() + ".index"));
            Exchange waits = client.send(peer, Wire.LOOKUP, 0, List.of(new Wire.Range(TestNode.attempt(0), 0, 0)), null);
            try {
                assertEquals(2 * (BYTES + 4), TestNode.fetch(client, link, peer, 0, List.of(1, 2)).limit());
            } finally {
                goOn(stands);
                client.end(waits);
            }
        }
    }

    @Test
    void requests_that_wait_for_a_disk_which_stands_still_leave_memory_to_those_for_others() throws Exception {
        try (TestNode node = new TestNode(folders(), 3, 1, LARGE);
                CoreClient client = new CoreClient(node.conf, TestNode.secret())) {
            Link link = node.link(client);
            VbnPeer peer = link.peer(0);
            assertNotNull(peer, () -> "by HTTP: " + link.reason());
            TestNode.fetch(client, link, peer, 0, List.of(0));
            File stands = stand(node.output(0));
            List<Exchange> waiting = new ArrayList<>();
            List<Wire.Range> both = List.of(new Wire.Range(TestNode.attempt(1), 0, LARGE),
                new Wire.Range(TestNode.attempt(0), 0, LARGE));
            try {
                for (int i = 0; i < MANY; i++) {
                    Exchange next = client.send(peer, Wire.LOAD, 0, both, ByteBuffer.allocateDirect(2 * LARGE));
                    waiting.add(next);
                    next.awaitBytes(i < 2 ? 1 : LARGE, TestNode.LIMIT);
                }
                assertEquals(LARGE + 4, TestNode.fetch(client, link, peer, 0, List.of(2)).limit());
            } finally {
                goOn(stands);
                waiting.forEach(client::end);
            }
        }
    }

    @Test
    void the_end_does_not_wait_for_a_disk_and_what_that_may_write_to_outlives_it() throws Exception {
        CountDownLatch disk = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        Readers readers = new Readers(List.of("one", "two"), MAPS, (task, error) -> { });
        readers.offer("one", () -> await(disk));
        readers.offer("two", () -> { });
        readers.close(ended::countDown);
        assertFalse(readers.offer("two", () -> { }), "it is closed");
        assertEquals(1, ended.getCount(), "a task runs");
        disk.countDown();
        await(ended);
    }

    @Test
    void without_any_task_the_end_comes_at_once() {
        CountDownLatch ended = new CountDownLatch(1);
        Readers readers = new Readers(List.of("one"), MAPS, (task, error) -> { });
        readers.close(ended::countDown);
        assertEquals(0, ended.getCount());
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
