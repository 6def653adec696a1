// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.verbena.memcached.MemcachedClient;
import org.verbena.memcached.MemcachedException;
import org.verbena.memcached.MemcachedException.Kind;
import org.verbena.memcached.Stored;
import org.verbena.memcached.Value;

/** The servers: chunks as pinned items. Each call ends within the time of the client. Any thread. */
final class ChunkStore implements AutoCloseable {
    /** On their way at once. */
    private static final int DELETES = 256;

    private final String servers;
    private MemcachedClient client;

    ChunkStore(String servers) {
        this.servers = servers;
    }

    /** Opened by the first chunk: most commands of Hadoop need none. */
    private synchronized MemcachedClient client() throws IOException {
        if (client == null) {
            if (servers.isEmpty()) {
                throw new IOException("the file is in a burst buffer, and this process knows no servers of it: set "
                    + "verbena.lustre.buffer.servers as the file's writer has it");
            }
            client = MemcachedClient.open(servers);
        }
        return client;
    }

    private static String key(String id, int number) {
        return "vb/" + id + "/" + number;
    }

    /** The bytes are copied. */
    Future<Stored> put(String id, Chunk chunk, ByteBuffer bytes) throws IOException {
        return client().async().setPinned(key(id, chunk.number()), bytes, 0, 0);
    }

    Future<Value> get(String id, Chunk chunk) throws IOException {
        return client().async().get(key(id, chunk.number()));
    }

    /** Deletes items, pinned or not, as far as their servers answer. */
    void delete(String id, int from, int to) throws IOException {
        for (int first = from; first < to; first += DELETES) {
            List<CompletableFuture<Boolean>> some = new ArrayList<>();
            for (int number = first; number < Math.min(to, first + DELETES); number++) {
                some.add(client().async().delete(key(id, number)));
            }
            for (CompletableFuture<Boolean> one : some) {
                try {
                    wait(one);
                } catch (MemcachedException e) {
                    continue; // a server that is gone has nothing to be deleted
                }
            }
        }
    }

    /**
     * Waits for a call.
     *
     * @throws MemcachedException when the call failed
     */
    static <T> T wait(Future<T> call) throws IOException {
        try {
            return call.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof MemcachedException failure) {
                throw failure;
            }
            throw new IOException(e.getCause());
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static IOException interrupted(InterruptedException cause) {
        Thread.currentThread().interrupt();
        IOException failure = new java.io.InterruptedIOException("the thread was interrupted while it waited for the burst buffer");
        failure.initCause(cause);
        return failure;
    }

    /** Whether the failure is one of the settings, which going on would hide. */
    static boolean isWrong(IOException failure) {
        return !(failure instanceof MemcachedException known) || known.kind() == Kind.NO_PINS;
    }

    @Override
    public synchronized void close() {
        if (client != null) {
            client.close();
            client = null;
        }
    }
}
