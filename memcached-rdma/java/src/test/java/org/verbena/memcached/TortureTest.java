// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * One-sided gets beside everything that changes, moves and removes items: a value is whole, it is that of its key, and it is not
 * older than the one that was there when the get began.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TortureTest {
    private static final boolean FULL = System.getenv("VERBENA_TEST_FULL") != null;
    private static final int KEYS = 400;
    private static final int READERS = 2;
    private static final int GETS = FULL ? 300_000 : 20_000;
    private static final int HEAD = 16;
    /** Of a server of 16 MiB: items are evicted all the time. */
    private static final int FILL_BYTES = 30_000;

    @TempDir
    Path folder;

    /** Of each key: the youngest version that is stored for certain. */
    private final AtomicLongArray stored = new AtomicLongArray(KEYS);

    private static ByteBuffer value(int key, long version, int size) {
        ByteBuffer value = ByteBuffer.allocate(size).putInt(key).putInt(size).putLong(version);
        while (value.hasRemaining()) {
            value.put((byte) (key * 31 + version * 7 + value.position()));
        }
        return value.flip();
    }

    private void check(int key, byte[] bytes, long least) {
        ByteBuffer value = ByteBuffer.wrap(bytes);
        assertTrue(bytes.length >= HEAD && value.getInt(0) == key && value.getInt(4) == bytes.length, "a value of k" + key);
        long version = value.getLong(8);
        assertTrue(version >= least, () -> "version " + version + " of k" + key + " after " + least);
        assertTrue(value.equals(value(key, version, bytes.length)), () -> "the bytes of version " + version + " of k" + key);
    }

    /** The only one that writes keys of its part. */
    private void write(MemcachedClient client, int part, CompletableFuture<Void> end, long seed) {
        Random random = new Random(seed);
        try {
            for (long version = 1; !end.isDone(); version++) {
                int key = random.nextInt(KEYS / 2) * 2 + part;
                int size = HEAD + (random.nextInt(8) == 0 ? random.nextInt(60_000) : random.nextInt(2000));
                switch (random.nextInt(8)) {
                    case 0 -> client.delete("k" + key);
                    case 1 -> client.touch("k" + key, 1000);
                    case 2 -> client.set("fill" + random.nextInt(2000), ByteBuffer.allocate(FILL_BYTES), 0, 0);
                    default -> {
                        client.set("k" + key, value(key, version, size), random.nextInt(3) * 1000, 0);
                        stored.set(key, version);
                    }
                }
            }
        } catch (MemcachedException e) {
            throw new AssertionError(e);
        }
    }

    private void read(MemcachedClient client, long seed) {
        Random random = new Random(seed);
        ByteBuffer to = ByteBuffer.allocateDirect(64 << 10);
        try {
            for (int i = 0; i < GETS; i++) {
                int key = random.nextInt(KEYS);
                long least = stored.get(key);
                if (i % 2 == 0) {
                    Value value = client.get("k" + key);
                    if (value != null) {
                        check(key, value.bytes(), least);
                    }
                } else {
                    Received received = client.get("k" + key, to);
                    if (received != null) {
                        byte[] bytes = new byte[received.length()];
                        to.get(0, bytes);
                        check(key, bytes, least);
                    }
                }
            }
        } catch (MemcachedException e) {
            throw new AssertionError(e);
        }
    }

    private static CompletableFuture<Void> run(Runnable task) {
        return CompletableFuture.runAsync(task, started -> new Thread(started).start());
    }

    @Test
    void no_value_is_wrong_beside_writers() throws Exception {
        try (ServerProcess server = ServerProcess.verbena(folder, "-m", "16");
            MemcachedClient writer = MemcachedClient.open(server.patient() + ";key=" + server.keyFile());
            MemcachedClient other = MemcachedClient.open(server.patient() + ";carrier=sockets");
            MemcachedClient reader = MemcachedClient.open(server.patient() + ";key=" + server.keyFile())) {
            CompletableFuture<Void> end = new CompletableFuture<>();
            List<CompletableFuture<Void>> writers = List.of(run(() -> write(writer, 0, end, 1)),
                run(() -> write(other, 1, end, 2)));
            List<CompletableFuture<Void>> readers = new ArrayList<>();
            for (int i = 0; i < READERS; i++) {
                int seed = 10 + i;
                readers.add(run(() -> read(reader, seed)));
            }
            try {
                for (CompletableFuture<Void> one : readers) {
                    one.get(500, TimeUnit.SECONDS);
                }
            } finally {
                end.complete(null);
            }
            for (CompletableFuture<Void> one : writers) {
                one.get(60, TimeUnit.SECONDS);
            }
            assertTrue(reader.cluster().counters.onesided.sum() > 0, "no get was one-sided");
        }
    }
}
