// SPDX-License-Identifier: Apache-2.0
// Fetches blocks from other executors over the native core; what fails goes to Spark's own transport.
package org.verbena.spark.read;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.Message;
import org.verbena.core.RemoteData;
import org.verbena.core.Stage;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.core.plugin.Grants;
import org.verbena.core.plugin.LastUse;
import org.verbena.core.plugin.PullQueue;
import org.verbena.spark.VerbenaConf;
import org.verbena.spark.metrics.Traffic;

/**
 * Connections are made on demand: the first fetches from an executor go by Spark's transport, which also brings its
 * address. Every block of every request is answered: by a reply, by the loss of the peer, or by the time-out; the last
 * two mean Spark's transport, unless spark.verbena.fallback=forbid. Thread safe.
 */
public final class FetchClient implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FetchClient.class);
    private static final int MAX_ADDRESS = 1024;
    /** Requests ask for a fifth of spark.reducer.maxSizeInFlight each; more of them bring no more bandwidth. */
    private static final int MAX_OUTSTANDING = 8;
    private static final int MAX_WAITING = 4096;
    /** A connection that neither side used for so long is closed. */
    static final long IDLE = TimeUnit.SECONDS.toNanos(60);

    private final VbnEngine engine;
    private final BlockTransferService inner;
    private final boolean fallbackAllowed;
    private final int maxPeers;
    private final long timeoutNanos;
    private final Traffic traffic;
    private final BoundedPool pool = DirectMemory.forBlocks();
    private final BoundedPool lists = DirectMemory.forLists();
    private final Map<String, Link> links = new ConcurrentHashMap<>();
    private final Grants grants = new Grants(MAX_OUTSTANDING);
    private final Map<Long, FetchRequest> pending = new ConcurrentHashMap<>();
    private final AtomicLong nextRequest = new AtomicLong(1);
    private final ScheduledExecutorService worker;
    /** Replies that wait for memory. */
    private final Stage<Waiting> room;
    private final AtomicBoolean saidNoRoom = new AtomicBoolean();
    private volatile int servicePort = -1;
    private volatile boolean closed;

    /** A reply whose data is with the other side. */
    private record Waiting(VbnPeer peer, RemoteData remote, FetchRequest request, Wire.Reply reply) {
        int bytes() {
            return (int) remote.length();
        }
    }

    /**
     * Starts on an engine that stays the caller's.
     *
     * @param inner Spark's own transport
     * @param timeoutSeconds most seconds between two replies to a request
     */
    public FetchClient(VbnEngine engine, BlockTransferService inner, VerbenaConf settings, long timeoutSeconds,
            Traffic traffic) {
        this.engine = engine;
        this.inner = inner;
        this.fallbackAllowed = settings.fallbackAllowed();
        this.maxPeers = settings.maxPeers();
        this.timeoutNanos = TimeUnit.SECONDS.toNanos(timeoutSeconds);
        this.traffic = traffic;
        this.worker = Executors.newScheduledThreadPool(2, task -> {
            Thread thread = new Thread(task, "verbena-fetch");
            thread.setDaemon(true);
            return thread;
        });
        this.room = new Stage<>("verbena-room", MAX_WAITING, this::waitForRoom,
            (reply, error) -> fail(reply.request(), noRoom(reply.bytes())));
        engine.onMessage(Wire.REPLY, this::receive);
        worker.scheduleWithFixedDelay(this::expire, 1, 1, TimeUnit.SECONDS);
    }

    /**
     * Fetches blocks: by the core if the executor is connected, else by Spark's transport, while the connection is made
     * for later fetches.
     *
     * @param files not null when Spark wants the blocks on disk, because they are too large for memory
     */
    void fetch(String host, int port, String executor, String[] blocks, BlockFetchingListener listener,
            DownloadFileManager files) {
        Link link = port == servicePort ? null : link(host, port, executor);
        VbnPeer peer = link == null ? null : link.peer();
        boolean suits = files == null && !closed && blocks.length > 0 && blocks.length <= Wire.MAX_BLOCKS;
        ByteBuffer list = peer != null && suits ? lists.tryTake(Wire.bytes(blocks)) : null;
        if (list != null) {
            fetch(link, peer, blocks, list, listener);
            return;
        }
        traffic.countFallback(files != null ? Traffic.Reason.TO_DISK : peer != null ? Traffic.Reason.NO_MEMORY
            : port == servicePort ? Traffic.Reason.SERVICE : link == null ? Traffic.Reason.PEERS : link.reason(), blocks.length);
        inner.fetchBlocks(host, port, executor, blocks, new CountedListener(listener, traffic), files);
        if (suits && link != null && link.mayConnect()) {
            later(() -> connect(link));
        }
    }

    /** Says at which port of every host Spark's external shuffle service answers instead of executors. */
    public void leaveToSpark(int port) {
        servicePort = port;
    }

    private void fetch(Link link, VbnPeer peer, String[] blocks, ByteBuffer list, BlockFetchingListener listener) {
        long id = nextRequest.getAndIncrement();
        boolean afterRest = LastUse.since(peer, System.nanoTime()) > IDLE / 2;
        LastUse.note(peer);
        FetchRequest request = new FetchRequest(id, link, peer.uid(), blocks.clone(), afterRest, listener);
        Wire.blocks(blocks, list);
        grants.acquire(() -> start(request, peer, list));
    }

    /** A request that waited for its grant may find its peer lost; then sending fails and Spark's transport takes over. */
    private void start(FetchRequest request, VbnPeer peer, ByteBuffer list) {
        request.started(System.nanoTime(), timeoutNanos);
        pending.put(request.id(), request);
        if (closed) {
            lists.give(list);
            fail(request, new VbnException(VbnStatus.CLOSED, "the executor is stopping"));
            return;
        }
        engine.send(peer, Wire.REQUEST, Wire.requestHeader(request.id()),
            new ByteBuffer[] {list},
            (error, length) -> {
                lists.give(list);
                if (error != null) {
                    fail(request, error);
                }
            });
    }

    private Link link(String host, int port, String executor) {
        String key = executor + '@' + host + ':' + port;
        Link link = links.get(key);
        if (link == null && links.size() < maxPeers) {
            link = links.computeIfAbsent(key, k -> new Link(host, port, executor));
        }
        return link;
    }

    /** Asks the executor for its address by the reserved block, through Spark's transport and its authentication. */
    private void connect(Link link) {
        inner.fetchBlocks(link.host(), link.port(), link.executor(), new String[] {BlockSource.ADDRESS_BLOCK},
            new BlockFetchingListener() {
                @Override
                public void onBlockFetchSuccess(String block, ManagedBuffer data) {
                    try {
                        if (data.size() > MAX_ADDRESS) {
                            throw new IOException("an address of " + data.size() + " bytes");
                        }
                        byte[] address = new byte[(int) data.size()];
                        data.nioByteBuffer().get(address);
                        later(() -> established(link, address));
                    } catch (IOException e) {
                        link.refused(e.toString());
                    }
                }

                @Override
                public void onBlockFetchFailure(String block, Throwable error) {
                    link.refused(error.toString().lines().findFirst().orElse(""));
                }
            }, null);
    }

    private void established(Link link, byte[] address) {
        try {
            VbnPeer peer = engine.connect(address, (lost, cause) -> lost(link, lost, cause));
            link.up(peer, Traffic.Path.ofTransport(peer.transport()));
            if (peer.isLost()) { // before it was up
                link.release(peer);
            }
            if (LOG.isDebugEnabled()) {
                LOG.debug("connected to {}: {}", link, peer.explain());
            }
        } catch (VbnException e) {
            link.down(e.getMessage());
        }
    }

    private void lost(Link link, VbnPeer peer, VbnException cause) {
        List<FetchRequest> waiting = pending.values().stream().filter(request -> request.link() == link).toList();
        boolean unused = waiting.isEmpty() || waiting.stream().anyMatch(FetchRequest::isAfterRest);
        if (unused && cause.kind() == VbnStatus.PEER_LOST) {
            link.release(peer); // the other side does not need it, or its executor ends, for example with the application
        } else {
            link.down(cause.getMessage());
        }
        waiting.forEach(request -> fail(request, cause));
    }

    /** Engine thread. */
    private void receive(Message message) {
        try {
            Wire.Reply reply = Wire.reply(message.header());
            FetchRequest request = pending.get(reply.request());
            boolean ours = request != null && request.peerUid() == message.peer().uid();
            if (ours && reply.count() == 0) {
                fail(request, new VbnException(VbnStatus.NO_MEMORY, request.link() + " has no memory for its replies now"));
                return;
            }
            boolean expected = ours && reply.count() > 0 && reply.first() >= 0
                && reply.first() <= request.count() - reply.count()
                && message.length() >= 4L * reply.count() && message.length() <= Integer.MAX_VALUE;
            if (!expected) {
                // A late reply to a request that was given up, or nonsense: either way nobody waits for it.
                if (message.remote() != null) {
                    engine.drop(message.remote());
                }
                return;
            }
            VbnPeer peer = message.peer();
            if (message.remote() == null) {
                handOut(peer, request, reply, copied(message));
            } else {
                RemoteData remote = message.remote();
                request.heard(System.nanoTime());
                request.link().pulls().add(remote.length(), () -> pull(peer, remote, request, reply));
            }
        } catch (VbnException e) {
            LOG.warn("{} from {}", e.getMessage(), message.peer());
        }
    }

    /** A small message's data, which goes with the callback. */
    private ByteBuffer copied(Message message) {
        ByteBuffer ready = pool.ready((int) message.length());
        return (ready == null ? ByteBuffer.allocate((int) message.length()) : ready).put(message.data()).flip();
    }

    /** Engine thread: the reply's turn has come. */
    private void pull(VbnPeer peer, RemoteData remote, FetchRequest request, Wire.Reply reply) {
        Waiting waiting = new Waiting(peer, remote, request, reply);
        if (!isPending(request)) { // given up while the reply waited
            drop(waiting);
            return;
        }
        ByteBuffer ready = pool.ready(waiting.bytes());
        if (ready != null) {
            pull(waiting, ready);
        } else if (!offered(waiting)) {
            drop(waiting);
            fail(request, noRoom(waiting.bytes()));
        }
    }

    private boolean isPending(FetchRequest request) {
        return pending.get(request.id()) == request;
    }

    private boolean offered(Waiting waiting) {
        try {
            return room.offer(waiting, 0, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Room thread: memory is allocated, or comes back from tasks that have read what they fetched. */
    private void waitForRoom(Waiting waiting) {
        ByteBuffer buffer = isPending(waiting.request()) ? pool.take(waiting.bytes()) : null;
        if (buffer != null) {
            pull(waiting, buffer);
            return;
        }
        boolean wanted = isPending(waiting.request());
        try {
            engine.execute(() -> drop(waiting));
        } catch (RejectedExecutionException e) {
            LOG.debug("stopping");
        }
        if (wanted) {
            fail(waiting.request(), noRoom(waiting.bytes()));
        }
    }

    /** Engine thread. */
    private void drop(Waiting waiting) {
        engine.drop(waiting.remote());
        waiting.request().link().pulls().ended(waiting.bytes());
    }

    private void pull(Waiting waiting, ByteBuffer buffer) {
        engine.pull(waiting.remote(), buffer, (error, length) -> {
            // The next one is under way while these blocks are handed out.
            waiting.request().link().pulls().ended(waiting.bytes());
            if (error != null) {
                pool.give(buffer);
                fail(waiting.request(), error);
            } else {
                handOut(waiting.peer(), waiting.request(), waiting.reply(), buffer);
            }
        });
    }

    /** Said once. */
    private VbnException noRoom(long bytes) {
        VbnException cause = new VbnException(VbnStatus.NO_MEMORY, "no direct memory for " + bytes
            + " bytes of blocks: raise -XX:MaxDirectMemorySize or spark.executor.memory");
        if (saidNoRoom.compareAndSet(false, true)) {
            LOG.warn("blocks come by Spark's transport for now: {}; {} of {} MiB for blocks are in use", cause.getMessage(),
                pool.used() >> 20, pool.bound() >> 20);
        }
        return cause;
    }

    /** Engine thread. Who waits for a broadcast or a cached block copies it in the callback, for which others must not wait. */
    private void handOut(VbnPeer peer, FetchRequest request, Wire.Reply reply, ByteBuffer buffer) {
        if (request.name(0).startsWith("shuffle_")) {
            deliver(peer, request, reply, buffer);
            return;
        }
        try {
            worker.execute(() -> deliver(peer, request, reply, buffer));
        } catch (RejectedExecutionException e) {
            deliver(peer, request, reply, buffer); // stopping
        }
    }

    /** Hands the blocks of a reply out. */
    private void deliver(VbnPeer peer, FetchRequest request, Wire.Reply reply, ByteBuffer buffer) {
        ByteBuffer in = buffer.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        ReceivedBuffer.Owner owner = new ReceivedBuffer.Owner(buffer, pool);
        int at = 4 * reply.count();
        for (int i = 0; i < reply.count(); i++) {
            int length = in.getInt(4 * i);
            if (length > in.limit() - at || length < -1) {
                fail(request, new VbnException(VbnStatus.PROTOCOL, "malformed fetch reply"));
                break;
            }
            int block = reply.first() + i;
            if (request.take(block)) {
                if (length < 0) {
                    refetch(request, new String[] {request.name(block)}, null);
                } else {
                    traffic.count(request.link().path(), length);
                    ReceivedBuffer slice = owner.slice(at, length);
                    request.listener().onBlockFetchSuccess(request.name(block), slice);
                    slice.release();
                }
            }
            at += Math.max(0, length);
        }
        owner.release();
        LastUse.note(peer);
        request.heard(System.nanoTime());
        if (request.isComplete() && ended(request)) {
            traffic.fetches().completed(System.nanoTime() - request.sentAt());
        }
    }

    /** False when it had ended before. */
    private boolean ended(FetchRequest request) {
        boolean first = pending.remove(request.id(), request);
        giveGrantBack(request);
        return first;
    }

    private void giveGrantBack(FetchRequest request) {
        if (request.takeGrant()) {
            grants.release();
        }
    }

    /** Any thread: what is left of a request goes to Spark's transport. */
    private void fail(FetchRequest request, VbnException cause) {
        ended(request);
        String[] left = request.takeRest();
        if (left.length > 0) {
            refetch(request, left, cause);
        }
    }

    private void refetch(FetchRequest request, String[] blocks, VbnException cause) {
        BlockFetchingListener listener = new CountedListener(request.listener(), traffic);
        Link link = request.link();
        traffic.countFallback(cause == null ? Traffic.Reason.NOT_SERVED
            : cause.kind() == VbnStatus.NO_MEMORY ? Traffic.Reason.NO_MEMORY : Traffic.Reason.DOWN, blocks.length);
        if (cause != null && !fallbackAllowed) {
            for (String block : blocks) {
                listener.onBlockFetchFailure(block, cause);
            }
            return;
        }
        try {
            worker.execute(() -> inner.fetchBlocks(link.host(), link.port(), link.executor(), blocks, listener, null));
        } catch (RejectedExecutionException e) {
            for (String block : blocks) {
                listener.onBlockFetchFailure(block, new IOException("the executor is stopping", cause));
            }
        }
    }

    private void later(Runnable task) {
        try {
            worker.execute(task);
        } catch (RejectedExecutionException e) {
            LOG.debug("stopping");
        }
    }

    private void expire() {
        long now = System.nanoTime();
        closeUnused(now);
        if (links.size() >= maxPeers) {
            links.values().removeIf(link -> link.retire(now)); // room for executors that came later
        }
        for (FetchRequest request : pending.values()) {
            if (request.isExpired(now)) {
                request.link().down("no reply in time");
                traffic.fetches().timedOut();
                fail(request, new VbnException(VbnStatus.TIMEOUT, "no reply from " + request.link()));
            } else if (request.isQuiet(now)) {
                giveGrantBack(request); // an executor that hangs sends nothing, and must not hold up the others
            }
        }
    }

    /** Direct memory of blocks and lists that is in use now, also by tasks that have not read theirs. */
    public long directBytes() {
        return pool.used() + lists.used();
    }

    /** What is known of each connection, in words. */
    String explain() {
        return links.values().stream().map(Link::peer).filter(Objects::nonNull).map(VbnPeer::explain)
            .collect(Collectors.joining("; "));
    }

    /** Other executors to which there is a connection now. */
    int connections() {
        return (int) links.values().stream().filter(link -> link.peer() != null).count();
    }

    /** Ends the connections that neither side has used for {@link #IDLE} at a time of System.nanoTime. */
    void closeUnused(long now) {
        for (Link link : links.values()) {
            VbnPeer peer = link.peer();
            if (peer != null && LastUse.since(peer, now) > IDLE
                    && pending.values().stream().noneMatch(request -> request.link() == link)) {
                link.release(peer);
            }
        }
    }

    /** What is pending goes to Spark's transport or fails; the engine stays. */
    @Override
    public void close() {
        closed = true;
        grants.lift();
        for (FetchRequest request : pending.values()) {
            fail(request, new VbnException(VbnStatus.CLOSED, "the executor is stopping"));
        }
        pool.close();
        lists.close();
        room.close();
        worker.shutdown();
        links.values().forEach(Link::ended);
    }
}
