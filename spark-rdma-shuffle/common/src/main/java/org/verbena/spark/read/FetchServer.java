// SPDX-License-Identifier: Apache-2.0
// Serves blocks to other executors: slab blocks from the engine's thread, everything else from a worker thread.
package org.verbena.spark.read;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.Message;
import org.verbena.core.RemoteData;
import org.verbena.core.Stage;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.core.plugin.LastUse;
import org.verbena.spark.metrics.Traffic;
import org.verbena.spark.store.MapOutput;
import org.verbena.spark.store.SlabStore;

/** One per executor. Peers have proved the job key; their requests are checked all the same. */
public final class FetchServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FetchServer.class);
    private static final int QUEUE = 1024;

    private final VbnEngine engine;
    private final Supplier<SlabStore> store;
    private final BlockDataManager blocks;
    private final Traffic traffic;
    private final long timeoutNanos;
    private final BoundedPool pool;
    private final BoundedPool lists;
    private final Stage<Job> slow;

    /** What has to wait: for Spark's blocks, for memory, for checksums. Whatever goes wrong, the request is answered. */
    private record Job(Runnable work, Runnable refuse) {
    }

    /**
     * Starts serving on an engine that stays the caller's.
     *
     * @param store the slab store, or null while there is none
     * @param blocks Spark's block manager, for broadcast pieces, cached and spilled blocks
     * @param timeoutSeconds after which a client that has heard nothing gives a request up
     * @param memory direct memory that replies and lists may have
     */
    public FetchServer(VbnEngine engine, Supplier<SlabStore> store, BlockDataManager blocks, Traffic traffic,
            long timeoutSeconds, DirectMemory memory) {
        this.engine = engine;
        this.store = store;
        this.blocks = blocks;
        this.traffic = traffic;
        this.pool = memory.forReplies();
        this.lists = memory.forLists();
        this.timeoutNanos = TimeUnit.SECONDS.toNanos(timeoutSeconds);
        this.slow = new Stage<>("verbena-serve", QUEUE, job -> job.work().run(), (job, error) -> {
            LOG.warn("a fetch request could not be served, its blocks come by Spark's transport", error);
            job.refuse().run();
        });
        engine.onMessage(Wire.REQUEST, this::receive);
    }

    /** Transports by which others can be reached, such as "shm,tcp". */
    public String transports() {
        return engine.transports().stream().filter(name -> !name.equals("self")).collect(Collectors.joining(","));
    }

    /** What others connect to. */
    public byte[] address() {
        return engine.address();
    }

    /** Direct memory of replies and lists that is in use now. */
    public long directBytes() {
        return pool.used() + lists.used();
    }

    /** Requests that wait for Spark's blocks, for memory or for checksums. */
    public int waiting() {
        return slow.waiting();
    }

    /** Engine thread. */
    private void receive(Message message) {
        VbnPeer peer = message.peer();
        LastUse.note(peer);
        try {
            long request = Wire.request(message.header());
            if (message.remote() == null) {
                serve(peer, request, message.data() == null ? new String[0] : Wire.blocks(message.data()));
            } else if (message.length() > Wire.MAX_REQUEST_BYTES) {
                engine.drop(message.remote());
            } else {
                pullList(peer, request, message.remote());
            }
        } catch (VbnException e) {
            if (message.remote() != null) {
                engine.drop(message.remote());
            }
            LOG.warn("{} from {}", e.getMessage(), peer);
        }
    }

    /** Engine thread. */
    private void pullList(VbnPeer peer, long request, RemoteData remote) {
        ByteBuffer ready = lists.ready((int) remote.length());
        if (ready != null) {
            pullList(peer, request, remote, ready);
            return;
        }
        Runnable refuse = () -> {
            engine.drop(remote);
            sender(peer, request).refuse();
        };
        later(new Job(() -> {
            ByteBuffer list = lists.take((int) remote.length());
            if (list == null) {
                refuse.run();
            } else {
                pullList(peer, request, remote, list);
            }
        }, refuse));
    }

    private void pullList(VbnPeer peer, long request, RemoteData remote, ByteBuffer list) {
        engine.pull(remote, list, (error, length) -> {
            try {
                if (error == null) {
                    serve(peer, request, Wire.blocks(list));
                }
            } catch (VbnException e) {
                LOG.warn("{} from {}", e.getMessage(), peer);
            } finally {
                lists.give(list);
            }
        });
    }

    /** Engine thread: serves at once when everything is in slabs and nothing has to be computed. */
    private void serve(VbnPeer peer, long request, String[] names) {
        SlabStore slabs = store.get();
        boolean atOnce = slabs == null || !slabs.checksums();
        long asked = System.nanoTime();
        if (!atOnce || !serveSlabs(peer, request, names, pool::ready)) {
            later(new Job(() -> {
                if (atOnce || !serveSlabs(peer, request, names, pool::take)) {
                    serveSlow(peer, request, names, asked);
                }
            }, sender(peer, request)::refuse));
        }
    }

    /** False when the blocks are not all in slabs. */
    private boolean serveSlabs(VbnPeer peer, long request, String[] names, IntFunction<ByteBuffer> buffers) {
        List<MapOutput> pinned = new ArrayList<>();
        ByteBuffer[][] pieces = pinned(names, pinned);
        ReplySender sender = new ReplySender(engine, pool, peer, request, traffic, ReplySender.COPY_SMALL,
            () -> pinned.forEach(MapOutput::unpin));
        if (pieces == null) {
            sender.finished();
            return false;
        }
        int sent = 0;
        try {
            sent = sender.sendAll(pieces, 0, buffers);
        } catch (RuntimeException | OutOfMemoryError e) {
            LOG.warn("blocks for {} come by Spark's transport", peer, e);
            refuseRest(sender);
            return true;
        }
        int next = sent;
        if (next == pieces.length) {
            sender.finished();
        } else {
            later(new Job(() -> {
                if (sender.sendAll(pieces, next, pool::take) < pieces.length) {
                    sender.refuse();
                }
                sender.finished();
            }, () -> refuseRest(sender)));
        }
        return true;
    }

    private static void refuseRest(ReplySender sender) {
        sender.refuse();
        sender.finished();
    }

    /** The pieces of all blocks, whose outputs are added to `pinned`; null when one is not in slabs, or damaged there. */
    private ByteBuffer[][] pinned(String[] names, List<MapOutput> pinned) {
        SlabStore slabs = store.get();
        ByteBuffer[][] pieces = new ByteBuffer[names.length][];
        try {
            for (int i = 0; i < names.length; i++) {
                BlockRange range = BlockRange.parse(names[i]);
                MapOutput output = range == null || slabs == null ? null : slabs.find(range.shuffle(), range.map());
                if (output == null || !output.pin(range.start(), range.end(), true)) {
                    return null;
                }
                pinned.add(output);
                pieces[i] = output.index().pieces(range.start(), range.end());
            }
            return pieces;
        } catch (IOException e) {
            LOG.debug("blocks are asked for at Spark's block manager: {}", e.toString());
            return null;
        }
    }

    private void later(Job job) {
        try {
            if (slow.offer(job, 0, TimeUnit.MILLISECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        job.refuse().run(); // too much waits already
    }

    private ReplySender sender(VbnPeer peer, long request) {
        return new ReplySender(engine, pool, peer, request, traffic, ReplySender.COPY_ALL, () -> { });
    }

    /** Worker thread: asks Spark for the blocks, a few at a time, while somebody waits for them. */
    private void serveSlow(VbnPeer peer, long request, String[] names, long asked) {
        long heard = asked;
        ReplySender sender = sender(peer, request);
        ByteBuffer[][] pieces = new ByteBuffer[names.length][];
        int next = 0;
        while (next < pieces.length) {
            boolean givenUp = peer.isLost() || System.nanoTime() - heard >= timeoutNanos;
            int end = givenUp ? next : serveBatch(names, next, pieces, sender);
            if (end == next) {
                sender.refuse();
                return;
            }
            next = end;
            heard = System.nanoTime();
        }
    }

    /** Sends blocks from `first` on as one reply; gives the index behind them, or `first` when there is no memory. */
    private int serveBatch(String[] names, int first, ByteBuffer[][] pieces, ReplySender sender) {
        List<ManagedBuffer> held = new ArrayList<>();
        try {
            int end = first;
            for (long bytes = 0; end < names.length && bytes < ReplySender.BATCH; end++) {
                ByteBuffer block = read(names[end], held);
                if (block != null) {
                    pieces[end] = new ByteBuffer[] {block};
                    bytes += block.remaining();
                }
            }
            boolean sent = sender.send(pieces, first, end, pool::take);
            Arrays.fill(pieces, first, end, null);
            return sent ? end : first;
        } finally {
            held.forEach(ManagedBuffer::release);
        }
    }

    /** The block's bytes, valid until what is added to `held` is released; null when Spark cannot give them. */
    private ByteBuffer read(String name, List<ManagedBuffer> held) {
        try {
            ManagedBuffer buffer = blocks.getLocalBlockData(BlockId.apply(name));
            held.add(buffer);
            return buffer.size() > Wire.MAX_BLOCK_BYTES ? null : buffer.nioByteBuffer();
        } catch (Exception e) {
            LOG.debug("block {} cannot be served: {}", name, e.toString());
            return null;
        }
    }

    /** Ends the worker thread; the engine stays. */
    @Override
    public void close() {
        pool.close();
        lists.close();
        slow.close();
    }
}
