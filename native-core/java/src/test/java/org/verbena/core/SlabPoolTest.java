// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class SlabPoolTest {
    private static final int SLAB = 1 << 20;

    @TempDir
    Path temporary;

    private Path privateDirectory() throws IOException {
        Path directory = Files.createDirectory(temporary.resolve("slabs"));
        return Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
    }

    @Test
    void a_budget_that_is_lowered_keeps_slabs_and_stops_growth_until_it_is_raised() throws Exception {
        try (VbnContext context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
                SlabPool pool = SlabPool.anonymous(context, 4096, 4 * 4096)) {
            SlabPool.Chunk first = pool.allocate(4096);
            SlabPool.Chunk second = pool.allocate(4096);
            pool.setBudgetBytes(4096);
            assertNull(pool.allocate(4096));
            second.release();
            second = pool.allocate(4096);
            assertEquals(2 * 4096, pool.reservedBytes());
            pool.setBudgetBytes(3 * 4096);
            SlabPool.Chunk third = pool.allocate(4096);
            assertEquals(3 * 4096, pool.reservedBytes());
            for (SlabPool.Chunk chunk : new SlabPool.Chunk[] {first, second, third}) {
                chunk.release();
            }
        }
    }

    @Test
    void the_end_that_a_chunk_gives_back_is_another_chunk_and_what_it_keeps_stays() throws Exception {
        try (VbnContext context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
                SlabPool pool = SlabPool.anonymous(context, 4096, 4096)) {
            SlabPool.Chunk first = pool.allocate(4096);
            first.buffer().putInt(60, 42);
            assertNull(pool.allocate(64));
            first.shrink(100);
            assertEquals(128, first.capacity());
            assertEquals(128, pool.usedBytes());
            SlabPool.Chunk second = pool.allocate(4096 - 128);
            assertEquals(128, second.offset());
            second.shrink(8192);
            assertEquals(4096 - 128, second.capacity(), "more than it has changes nothing");
            second.buffer().put(new byte[4096 - 128]);
            assertEquals(42, first.buffer().getInt(60));
            second.release();
            first.shrink(0);
            assertEquals(64, pool.usedBytes());
            first.release();
            assertThrows(IllegalStateException.class, () -> first.shrink(64));
            assertEquals(0, pool.usedBytes());
            pool.allocate(4096).release(); // in one piece again
        }
    }

    @Test
    void a_slab_without_chunks_goes_back_to_the_system_and_its_number_is_not_used_again() throws Exception {
        Path directory = Files.createTempDirectory(Path.of("/dev/shm"), "verbena-trim");
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context("self");
            SlabPool pool = SlabPool.files(context, directory, SLAB, 2L * SLAB);
            SlabPool.Chunk kept = pool.allocate(SLAB);
            SlabPool.Chunk freed = pool.allocate(SLAB);
            VbnMemory neighbour = context.openFile(directory.resolve("slab-1"));
            ByteBuffer view = neighbour.buffer();
            freed.buffer().putLong(8, 42);
            kept.buffer().putLong(8, 43);
            assertEquals(42, view.getLong(8));
            assertEquals(List.of(), pool.trim(0), "both have a chunk");
            freed.release();
            assertEquals(List.of(), pool.trim(TimeUnit.HOURS.toNanos(1)), "it was used just now");
            assertEquals(List.of(1), pool.trim(0));
            assertFalse(Files.exists(directory.resolve("slab-1")));
            assertEquals(0, view.getLong(8), "its pages are gone, also where others have it mapped");
            assertEquals(SLAB, pool.reservedBytes());
            assertEquals(43, kept.buffer().getLong(8));
            SlabPool.Chunk next = pool.allocate(SLAB);
            assertEquals(2, next.slab(), "a number that neighbours do not know");
            assertTrue(Files.exists(directory.resolve("slab-2")));
            assertNull(pool.allocate(64), "the budget is used up");
            next.release();
            kept.release();
            assertEquals(List.of(0, 2), pool.trim(0));
            assertEquals(0, pool.reservedBytes());
            SlabPool.Chunk last = pool.allocate(64);
            assertEquals(3, last.slab());
            last.release();
            neighbour.close();
            pool.close();
            assertEquals(List.of(), pool.trim(0));
        } finally {
            Files.delete(directory);
        }
    }

    @Test
    void chunks_come_from_slabs_until_the_budget_is_used_up_and_return() throws Exception {
        Path directory = privateDirectory();
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context("self");
            SlabPool pool = SlabPool.files(context, directory, SLAB, 3L * SLAB + 5000);
            List<SlabPool.Chunk> chunks = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                SlabPool.Chunk chunk = pool.allocate(SLAB / 4 - 10);
                assertNotNull(chunk, "chunk " + i);
                assertEquals(SLAB / 4, chunk.capacity());
                chunk.buffer().putInt(0, i);
                chunks.add(chunk);
            }
            assertNull(pool.allocate(64));
            assertEquals(3, pool.slabs());
            assertEquals(3L * SLAB, pool.reservedBytes());
            assertEquals(3L * SLAB, pool.usedBytes());
            assertTrue(Files.exists(directory.resolve("slab-2")));
            for (int i = 0; i < 12; i++) {
                assertEquals(i, chunks.get(i).buffer().getInt(0));
                assertEquals(i, chunks.get(i).memory().buffer().getInt(chunks.get(i).offset()));
            }
            chunks.forEach(SlabPool.Chunk::release);
            assertEquals(0, pool.usedBytes());
            SlabPool.Chunk whole = pool.allocate(SLAB);
            assertEquals(SLAB, whole.capacity());
            whole.release();
            pool.close();
            pool.close();
            assertNull(pool.allocate(1));
            assertFalse(Files.exists(directory.resolve("slab-0")));
            assertFalse(fixture.log.stream().anyMatch(line -> line.contains("leak")), fixture.log.toString());
        }
    }

    @Test
    void references_are_counted_and_misuse_is_refused() throws Exception {
        try (Fixture fixture = new Fixture()) {
            SlabPool pool = SlabPool.anonymous(fixture.context("self"), SLAB, SLAB);
            SlabPool.Chunk chunk = pool.allocate(100);
            chunk.retain();
            chunk.release();
            chunk.buffer().put(0, (byte) 1);
            assertEquals(128, pool.usedBytes());
            chunk.release();
            assertEquals(0, pool.usedBytes());
            assertThrows(IllegalStateException.class, chunk::release);
            assertThrows(IllegalStateException.class, chunk::retain);
            assertThrows(IllegalStateException.class, chunk::buffer);
            assertThrows(IllegalArgumentException.class, () -> pool.allocate(SLAB + 1));
            assertThrows(IllegalArgumentException.class, () -> pool.allocate(0));
            assertThrows(IllegalArgumentException.class, () -> SlabPool.anonymous(fixture.first(), 100, 1000));
            SlabPool.Chunk left = pool.allocate(100);
            ByteBuffer view = left.buffer();
            pool.close();
            assertTrue(fixture.log.stream().anyMatch(line -> line.contains("1 chunks still in use")));
            view.put(0, (byte) 2);
            assertThrows(IllegalStateException.class, left::buffer);
            left.release();
        }
    }

    @Test
    void a_full_tmpfs_is_no_memory_and_is_logged_once() throws Exception {
        Path mount = Files.createDirectory(temporary.resolve("tiny"));
        assumeTrue(run("mount", "-t", "tmpfs", "-o", "size=3m,mode=0700", "tmpfs", mount.toString()) == 0,
            "needs the right to mount a tmpfs");
        try (Fixture fixture = new Fixture()) {
            SlabPool pool = SlabPool.files(fixture.context("self"), mount, SLAB, 100L * SLAB);
            List<SlabPool.Chunk> chunks = new ArrayList<>();
            for (SlabPool.Chunk chunk = pool.allocate(SLAB); chunk != null; chunk = pool.allocate(SLAB)) {
                ByteBuffer buffer = chunk.buffer();
                for (int at = 0; at < SLAB; at += 4096) {
                    buffer.put(at, (byte) 1); // all pages are there: no SIGBUS
                }
                chunks.add(chunk);
            }
            assertEquals(2, chunks.size());
            assertNull(pool.allocate(SLAB));
            assertEquals(1, fixture.log.stream().filter(line -> line.contains("slab pool cannot grow")).count());
            chunks.get(0).release();
            assertNotNull(pool.allocate(SLAB));
            chunks.get(1).release();
            pool.close();
        } finally {
            run("umount", "-l", mount.toString());
        }
    }

    private static int run(String... command) throws Exception {
        Process process = new ProcessBuilder(command).redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        return process.exitValue();
    }

    @Test
    void threads_never_get_overlapping_chunks() throws Exception {
        try (Fixture fixture = new Fixture()) {
            SlabPool pool = SlabPool.anonymous(fixture.context("self"), SLAB, 8L * SLAB);
            ConcurrentHashMap<String, Throwable> failures = new ConcurrentHashMap<>();
            List<Thread> threads = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                int seed = t;
                Thread thread = new Thread(() -> allocateAndCheck(pool, seed));
                thread.setUncaughtExceptionHandler((failed, e) -> failures.put(failed.getName(), e));
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertTrue(failures.isEmpty(), failures.toString());
            assertEquals(0, pool.usedBytes());
            pool.close();
        }
    }

    private static void allocateAndCheck(SlabPool pool, int seed) {
        Random random = new Random(seed);
        List<SlabPool.Chunk> held = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            if (held.size() < 10 && random.nextBoolean()) {
                SlabPool.Chunk chunk = pool.allocate(1 + random.nextInt(60_000));
                ByteBuffer buffer = chunk.buffer();
                buffer.putInt(0, seed).putInt(chunk.capacity() - 4, seed);
                held.add(chunk);
            } else if (!held.isEmpty()) {
                SlabPool.Chunk chunk = held.remove(random.nextInt(held.size()));
                assertEquals(seed, chunk.buffer().getInt(0));
                assertEquals(seed, chunk.buffer().getInt(chunk.capacity() - 4));
                chunk.release();
            }
        }
        held.forEach(SlabPool.Chunk::release);
    }

    @Test
    void the_free_list_agrees_with_a_byte_map() {
        Random random = new Random(4711);
        int bytes = 4096;
        boolean[] used = new boolean[bytes];
        FreeList list = new FreeList(bytes);
        List<int[]> held = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            if (random.nextInt(5) < 3) {
                int wanted = 1 + random.nextInt(300);
                int offset = list.take(wanted);
                assertEquals(fits(used, wanted), offset >= 0);
                for (int at = offset; offset >= 0 && at < offset + wanted; at++) {
                    assertFalse(used[at]);
                    used[at] = true;
                }
                if (offset >= 0) {
                    held.add(new int[] {offset, wanted});
                }
            } else if (!held.isEmpty()) {
                int[] range = held.remove(random.nextInt(held.size()));
                list.give(range[0], range[1]);
                java.util.Arrays.fill(used, range[0], range[0] + range[1], false);
            }
        }
        held.forEach(range -> list.give(range[0], range[1]));
        assertEquals(0, list.take(bytes));
    }

    private static boolean fits(boolean[] used, int wanted) {
        int run = 0;
        for (boolean taken : used) {
            run = taken ? 0 : run + 1;
            if (run == wanted) {
                return true;
            }
        }
        return false;
    }
}
