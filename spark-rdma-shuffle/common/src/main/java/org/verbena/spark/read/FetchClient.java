// SPDX-License-Identifier: Apache-2.0
// Fetches blocks from other executors over the native core; what fails goes to Spark's own transport.
package org.verbena.spark.read;

import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.core.plugin.LastUse;
import org.verbena.spark.metrics.Traffic;
import org.verbena.spark.settings.VerbenaConf;

/**
 * The first fetches from an executor go by Spark's transport, which also brings its address. Every block of every
 * request is answered: by a reply, by the loss of the peer, or by the time-out; the last two mean Spark's transport,
 * unless spark.verbena.fallback=forbid. Thread safe.
 */
public final class FetchClient implements AutoCloseable {
    private final VbnEngine engine;
    private final BlockTransferService inner;
    private final long timeoutNanos;
    private final Traffic traffic;
    private final BoundedPool lists;
    private final FetchThreads threads = new FetchThreads();
    private final Requests requests = new Requests();
    private final SparksTransport fallBack;
    private final Links links;
    private final Replies replies;
    private volatile int servicePort = -1;
    private volatile boolean closed;

    /**
     * Starts on an engine that stays the caller's.
     *
     * @param inner Spark's own transport
     * @param timeoutSeconds most seconds between two replies to a request
     * @param memory direct memory that blocks and lists may have
     */
    public FetchClient(VbnEngine engine, BlockTransferService inner, VerbenaConf settings, long timeoutSeconds,
            Traffic traffic, DirectMemory memory) {
        this.engine = engine;
        this.inner = inner;
        this.timeoutNanos = TimeUnit.SECONDS.toNanos(timeoutSeconds);
        this.traffic = traffic;
        this.lists = memory.forLists();
        this.fallBack = new SparksTransport(inner, settings.fallbackAllowed(), requests, threads, traffic);
        this.links = new Links(engine, inner, settings.maxPeers(), requests, fallBack, threads);
        this.replies = new Replies(engine, requests, fallBack, threads, traffic, memory);
        threads.eachSecond(this::expire);
    }

    /**
     * Fetches blocks: by the core if the executor is connected, else by Spark's transport, while the connection is made
     * for later fetches.
     *
     * @param files not null when Spark wants the blocks on disk, because they are too large for memory
     */
    void fetch(String host, int port, String executor, String[] blocks, BlockFetchingListener listener,
            DownloadFileManager files) {
        Link link = port == servicePort ? null : links.to(host, port, executor);
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
        if (suits && link != null) {
            links.connect(link);
        }
    }

    /** Says at which port of every host Spark's external shuffle service answers instead of executors. */
    public void leaveToSpark(int port) {
        servicePort = port;
    }

    private void fetch(Link link, VbnPeer peer, String[] blocks, ByteBuffer list, BlockFetchingListener listener) {
        boolean afterRest = LastUse.since(peer, System.nanoTime()) > Links.IDLE / 2;
        LastUse.note(peer);
        FetchRequest request = new FetchRequest(requests.newId(), link, peer.uid(), blocks.clone(), afterRest, listener);
        Wire.blocks(blocks, list);
        requests.granted(() -> start(request, peer, list));
    }

    /** A request that waited for its grant may find its peer lost; then sending fails and Spark's transport takes over. */
    private void start(FetchRequest request, VbnPeer peer, ByteBuffer list) {
        request.started(System.nanoTime(), timeoutNanos);
        requests.add(request);
        if (closed) {
            lists.give(list);
            fallBack.takeOver(request, stopping());
            return;
        }
        engine.send(peer, Wire.REQUEST, Wire.requestHeader(request.id()), new ByteBuffer[] {list}, (error, length) -> {
            lists.give(list);
            if (error != null) {
                fallBack.takeOver(request, error);
            }
        });
    }

    private static VbnException stopping() {
        return new VbnException(VbnStatus.CLOSED, "the executor is stopping");
    }

    private void expire() {
        long now = System.nanoTime();
        links.closeUnused(now);
        for (FetchRequest request : requests.all()) {
            if (request.isExpired(now)) {
                request.link().down("no reply in time");
                traffic.fetches().timedOut();
                fallBack.takeOver(request, new VbnException(VbnStatus.TIMEOUT, "no reply from " + request.link()));
            } else if (request.isQuiet(now)) {
                requests.giveGrantBack(request);
            }
        }
    }

    /** Direct memory of blocks and lists that is in use now, also by tasks that have not read theirs. */
    public long directBytes() {
        return replies.bytes() + lists.used();
    }

    /** What is known of each connection, in words. */
    String explain() {
        return links.explain();
    }

    /** Other executors to which there is a connection now. */
    int connections() {
        return links.connections();
    }

    /** Ends the connections that neither side has used for {@link Links#IDLE} at a time of System.nanoTime. */
    void closeUnused(long now) {
        links.closeUnused(now);
    }

    /** What is pending goes to Spark's transport or fails; the engine stays. */
    @Override
    public void close() {
        closed = true;
        requests.close();
        for (FetchRequest request : requests.all()) {
            fallBack.takeOver(request, stopping());
        }
        replies.close();
        lists.close();
        threads.close();
        links.close();
    }
}
