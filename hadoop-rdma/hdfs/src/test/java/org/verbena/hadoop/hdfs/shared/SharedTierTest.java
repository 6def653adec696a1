// SPDX-License-Identifier: Apache-2.0
// When a DataNode owns which volumes of the shared path.
package org.verbena.hadoop.hdfs.shared;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.settings.SharedConf;

class SharedTierTest {
    private static final long LEASE = 6000; // ms
    private static final long HEARTBEAT = 500;

    @TempDir
    Path place;
    private long now;
    private final Map<String, String> heartbeats = new HashMap<>();
    private boolean nameNodeTells = true;

    /** What a DataNode serves. */
    private final class Node implements VolumeUser {
        final SharedTier tier = new SharedTier(new SharedConf(place.toString(), 0, LEASE, 1), () -> now);
        final List<Path> served = new ArrayList<>();
        boolean able = true;
        boolean waits;
        int reports;

        Node(String name) throws IOException {
            Path locks = Files.createDirectories(place.resolve("locks"));
            assertTrue(tier.open(name, "CID-1", locks, HEARTBEAT, this, () -> {
                if (!nameNodeTells) {
                    throw new IOException("Access denied");
                }
                return heartbeats;
            }));
        }

        @Override
        public void serve(Path data) throws IOException {
            if (!able) {
                throw new IOException("it cannot be read");
            }
            served.add(data);
        }

        @Override
        public boolean report() {
            reports++;
            return true;
        }

        @Override
        public boolean catchUp() {
            boolean some = waits;
            waits = false;
            return some;
        }

        @Override
        public void lost(Path data) {
            assertTrue(served.remove(data));
        }
    }

    private void pass(long millis, Node... alive) {
        for (long left = millis; left > 0; left -= LEASE / SharedTier.BEATS) {
            now += TimeUnit.MILLISECONDS.toNanos(LEASE / SharedTier.BEATS);
            for (Node node : alive) {
                node.tier.beat();
                node.tier.acquire();
            }
        }
    }

    private Node begun(String name) throws IOException {
        Node node = new Node(name);
        node.tier.acquire();
        return node;
    }

    @Test
    void a_data_node_makes_one_volume_and_finds_it_again() throws Exception {
        Node node = begun("a");
        pass(3 * LEASE, node);
        assertEquals(1, node.served.size());
        Files.writeString(node.served.get(0).resolve("block"), "bytes");
        node.tier.leave();
        Node again = begun("a");
        assertEquals("bytes", Files.readString(again.served.get(0).resolve("block")));
        assertNotEquals(node.served, again.served, "a former process finds no path");
    }

    @Test
    void a_volume_that_a_process_of_the_same_data_node_holds_is_taken_when_that_one_is_silent() throws Exception {
        Node running = begun("a");
        Node second = begun("a");
        pass(3 * LEASE, running, second);
        assertEquals(1, running.served.size());
        assertEquals(0, second.served.size());
        pass(LEASE + LEASE / 2, second);
        assertEquals(1, second.served.size());
        running.tier.beat();
        running.tier.drop();
        assertEquals(0, running.served.size());
    }

    @Test
    void the_volume_of_a_data_node_that_neither_the_path_nor_the_name_node_hears_of_is_adopted_once() throws Exception {
        Node dead = begun("dead");
        Node one = begun("one");
        Node other = begun("other");
        pass(2 * LEASE, dead, one, other);
        heartbeats.put("dead", "1"); // the last one
        pass(2 * LEASE, one, other);
        assertEquals(3, one.served.size() + other.served.size());
        pass(LEASE, one, other);
        assertEquals(3 * 3, one.reports + other.reports, "thrice each: two that were made, one that was adopted");
        one.waits = true;
        pass(2 * LEASE, one, other);
        assertEquals(4 * 3, one.reports + other.reports, "and thrice what came while the path was away");
        assertFalse(Files.exists(dead.served.get(0)));
        dead.tier.beat();
        dead.tier.drop();
        assertEquals(0, dead.served.size());
        dead.tier.acquire();
        assertEquals(1, dead.served.size(), "a new one");
    }

    @Test
    void a_data_node_whose_heartbeats_the_name_node_has_keeps_its_volume_however_long_it_is_silent() throws Exception {
        Node silent = begun("silent");
        Node one = begun("one");
        for (int beat = 0; beat < 30; beat++) {
            heartbeats.put("silent", "beat " + beat);
            pass(LEASE / SharedTier.BEATS, one);
        }
        assertEquals(1, one.served.size());
        assertTrue(Files.exists(silent.served.get(0)));
    }

    @Test
    void nothing_is_adopted_while_the_name_node_does_not_tell() throws Exception {
        Node dead = begun("dead");
        Node one = begun("one");
        nameNodeTells = false;
        pass(5 * LEASE, one);
        assertTrue(Files.exists(dead.served.get(0)));
        nameNodeTells = true;
        pass(LEASE, one);
        assertEquals(2, one.served.size());
    }

    @Test
    void a_data_node_that_is_not_dead_for_the_name_node_before_its_heartbeats_were_watched_for_long_keeps_its_volume()
            throws Exception {
        Node silent = begun("silent");
        Node one = begun("one");
        heartbeats.put("silent", "1");
        pass(LEASE / 2, one); // begins to watch its heartbeats
        assertEquals(1, one.served.size());
        heartbeats.put("silent", "2");
        pass(LEASE / 2, one);
        assertEquals(1, one.served.size(), "the second one was just now");
        assertTrue(Files.exists(silent.served.get(0)));
        pass(LEASE, one);
        assertEquals(2, one.served.size());
    }

    @Test
    void a_volume_that_cannot_be_served_is_left_and_tried_again_and_none_is_made_in_its_place() throws Exception {
        Node node = new Node("a");
        node.able = false;
        node.tier.acquire();
        pass(2 * LEASE, node);
        assertEquals(1, VolumeFolder.all(place.resolve("CID-1")).size());
        node.able = true;
        now += Trouble.PAUSE_NANOS;
        node.tier.acquire();
        assertEquals(1, node.served.size());
        assertEquals(1, VolumeFolder.all(place.resolve("CID-1")).size());
    }

    @Test
    void a_path_that_fails_or_does_not_answer_gets_no_replicas() throws Exception {
        Node node = begun("a");
        assertTrue(node.tier.takesReplicas());
        now += TimeUnit.MILLISECONDS.toNanos(LEASE);
        assertFalse(node.tier.takesReplicas(), "no beat came back");
        node.tier.beat();
        assertTrue(node.tier.takesReplicas());
        node.tier.failed(new IOException("Disk quota exceeded"));
        assertFalse(node.tier.takesReplicas());
        now += Trouble.PAUSE_NANOS;
        node.tier.beat();
        assertTrue(node.tier.takesReplicas());
    }

    @Test
    void a_path_that_is_not_mounted_any_more_gets_no_replicas_and_its_volume_is_not_given_up() throws Exception {
        Node node = begun("a");
        Path away = place.resolveSibling(place.getFileName() + "-away");
        Files.move(place, away);
        try {
            node.tier.beat();
            assertFalse(node.tier.takesReplicas());
            assertEquals(1, node.served.size());
        } finally {
            Files.move(away, place);
        }
        now += Trouble.PAUSE_NANOS;
        node.tier.beat();
        assertTrue(node.tier.takesReplicas());
    }

    @Test
    void what_is_to_be_deleted_while_the_path_is_away_is_reported_when_it_is_back() throws Exception {
        Node node = begun("a");
        pass(2 * LEASE, node);
        assertEquals(3, node.reports, "of the new volume");
        Path away = place.resolveSibling(place.getFileName() + "-away");
        Files.move(place, away);
        try {
            node.tier.missed();
            pass(2 * LEASE, node);
            assertEquals(3, node.reports);
        } finally {
            Files.move(away, place);
        }
        pass(2 * LEASE, node);
        assertEquals(2 * 3, node.reports);
    }

    @Test
    void each_volume_may_fill_its_part_of_the_file_system() throws Exception {
        Node one = begun("one");
        begun("two");
        one.tier.acquire();
        assertEquals(500, one.tier.share(1000));
        SharedTier set = new SharedTier(new SharedConf(place.toString(), 300, LEASE, 1));
        assertEquals(300, set.share(1000));
        assertEquals(200, set.share(200));
    }
}
