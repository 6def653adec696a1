// SPDX-License-Identifier: Apache-2.0
// Which blocks leave memory, come into it and get copies; the clock is the test's.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;
import org.verbena.hadoop.hdfs.settings.MoveConf;
import org.verbena.hadoop.hdfs.settings.MoveConf.Persist;

class TierManagerTest {
    private static final int BLOCKS = 10; // that fit
    private static final long OLD = 60_000; // ms

    @TempDir
    static Path work;
    private static TierCluster cluster;

    private final Map<String, ExtendedBlock> blocks = new LinkedHashMap<>();
    private long now = 1_000_000;
    private TierManager manager;

    @BeforeAll
    static void start() throws Exception {
        cluster = new TierCluster(work, MemoryLedger.OWN + BLOCKS * TierCluster.WHOLE,
            Map.of("verbena.hdfs.memory.high", "100", "verbena.hdfs.memory.promote", "0"));
    }

    @AfterAll
    static void stop() throws Exception {
        cluster.close();
    }

    @BeforeEach
    void begin() {
        manage(Persist.OFF, 75, 55);
    }

    @AfterEach
    void end() throws Exception {
        for (String name : blocks.keySet()) {
            cluster.files().delete(TierCluster.path(name), false);
        }
        for (ExtendedBlock block : blocks.values()) {
            cluster.untilGone(block);
        }
    }

    private void manage(Persist persist, int high, int low) {
        manager = new TierManager(new MoveConf(persist, high, low, 3), cluster.dataset().ledger(), cluster.dataset().moves(),
            cluster.dataset().copies(), () -> now);
    }

    /** A block in memory, one second after the last one. */
    private void write(String name) throws IOException {
        ExtendedBlock block = cluster.write(name, TierCluster.BLOCK);
        assertEquals(StorageType.NVDIMM, cluster.kept(block), name);
        blocks.put(name, block);
        manager.finished(block.getBlockPoolId(), block.getBlockId());
        now += 1000;
    }

    private void read(String name, int times) {
        for (int i = 0; i < times; i++) {
            manager.read(blocks.get(name).getBlockPoolId(), cluster.replica(blocks.get(name)));
        }
    }

    /** The blocks in memory, one letter each. */
    private String inMemory() {
        TreeSet<String> found = new TreeSet<>();
        blocks.forEach((name, block) -> {
            if (cluster.kept(block) == StorageType.NVDIMM) {
                found.add(name);
            }
        });
        return String.join("", found);
    }

    @Test
    void blocks_leave_above_the_high_mark_alone_the_least_used_first_and_down_to_the_low_mark() throws Exception {
        for (String name : List.of("a", "b", "c", "d", "e", "f", "g")) {
            write(name);
        }
        now += OLD;
        manager.round();
        assertEquals("abcdefg", inMemory(), "70 % of memory is not above 75 %");
        write("h");
        now += OLD;
        read("a", 2);
        read("c", 1);
        manager.round();
        assertEquals("acfgh", inMemory(), "b, d and e are the oldest of those with one use");
        assertEquals(3, manager.evictions());
        manager.round();
        assertEquals(3, manager.evictions());
        for (String name : List.of("b", "d", "e")) {
            assertArrayEquals(TierCluster.content(name, TierCluster.BLOCK), cluster.read(name));
        }
    }

    @Test
    void a_block_that_has_just_been_written_stays() throws Exception {
        for (String name : List.of("a", "b", "c", "d", "e", "f", "g", "h")) {
            write(name);
        }
        now += 4000;
        manager.round();
        assertEquals("defgh", inMemory(), "those that are younger than ten seconds; a, b and c suffice");
        now -= 4000;
    }

    @Test
    void uses_fade_with_time() throws Exception {
        for (String name : List.of("a", "b", "c", "d", "e", "f", "g")) {
            write(name);
        }
        read("a", 3);
        now += 3_600_000; // six half-lives
        read("b", 1);
        write("h");
        now += OLD;
        manager.round();
        assertTrue(inMemory().contains("b") && inMemory().contains("h"), inMemory());
        assertEquals(5, inMemory().length(), inMemory());
    }

    @Test
    void a_block_that_is_read_often_comes_into_memory_and_less_used_ones_make_room() throws Exception {
        for (String name : List.of("a", "b", "c", "d", "e", "f", "g", "h")) {
            write(name);
        }
        now += OLD;
        manager.round();
        assertEquals("defgh", inMemory());
        read("a", 1);
        manager.round();
        assertEquals("defgh", inMemory(), "two uses are less than three");
        read("a", 1);
        manager.round();
        assertEquals("adefgh", inMemory());
        assertEquals(1, manager.promotions());
        write("i");
        now += OLD;
        read("b", 2);
        manager.round();
        assertEquals("abefghi", inMemory(), "d is the oldest with less than half of b's uses");
        cluster.untilTold("b", StorageType.NVDIMM);
        cluster.untilTold("d", StorageType.SSD);
    }

    @Test
    void a_block_that_is_read_often_stays_below_where_all_others_are_read_as_often() throws Exception {
        for (String name : List.of("a", "b", "c", "d", "e", "f", "g", "h")) {
            write(name);
        }
        now += OLD;
        manager.round();
        write("i");
        write("j");
        now += OLD;
        assertEquals("defghij", inMemory());
        for (String name : List.of("a", "d", "e", "f", "g", "h", "i", "j")) {
            read(name, 3);
        }
        manager.round();
        assertEquals("defghij", inMemory());
        assertEquals(0, manager.promotions());
    }

    @Test
    void no_block_leaves_memory_while_nothing_below_has_room_and_each_leaves_later() throws Exception {
        for (String name : List.of("a", "b", "c", "d", "e", "f", "g", "h")) {
            write(name);
        }
        now += OLD;
        List<FsVolumeImpl> full = new ArrayList<>();
        for (StorageType type : List.of(StorageType.SSD, StorageType.DISK)) {
            cluster.volume(type).reserveSpaceForReplica(Long.MAX_VALUE / 4);
            full.add(cluster.volume(type));
        }
        try {
            manager.round();
            assertEquals("abcdefgh", inMemory());
            assertTrue(manager.failures() > 0);
        } finally {
            full.forEach(volume -> volume.releaseReservedSpace(Long.MAX_VALUE / 4));
        }
        manager.round();
        assertEquals("defgh", inMemory());
    }

    @Test
    void blocks_get_copies_soon_if_the_setting_says_so_and_leave_memory_without_another_one() throws Exception {
        manage(Persist.ASYNC, 75, 55);
        for (String name : List.of("a", "b", "c", "d", "e", "f", "g")) {
            write(name);
        }
        manager.round();
        assertEquals("abcdefg", inMemory());
        for (ExtendedBlock block : blocks.values()) {
            assertTrue(cluster.dataset().copies().has(MoveGuard.name(block.getBlockPoolId(), block.getBlockId())));
        }
        write("h");
        now += OLD;
        manager.round();
        assertEquals("defgh", inMemory());
    }
}
