// SPDX-License-Identifier: Apache-2.0
// The executors that blocks are fetched from, and the connections to them.
package org.verbena.spark.read;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.LastUse;
import org.verbena.core.plugin.Remotes;
import org.verbena.spark.metrics.Traffic;

/** Connections are made on demand, and end when neither side has used them for a while. Thread safe. */
final class Links implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Links.class);
    private static final int MAX_ADDRESS = 1024;
    /** A connection that neither side used for so long is closed. */
    static final long IDLE = TimeUnit.SECONDS.toNanos(60);

    private final VbnEngine engine;
    private final BlockTransferService inner;
    private final Requests requests;
    private final SparksTransport fallBack;
    private final FetchThreads threads;
    private final Remotes<String, Link> links;

    /** At most so many executors are known at a time. */
    Links(VbnEngine engine, BlockTransferService inner, int most, Requests requests, SparksTransport fallBack,
            FetchThreads threads) {
        this.engine = engine;
        this.inner = inner;
        this.links = new Remotes<>(most, Link::remote);
        this.requests = requests;
        this.fallBack = fallBack;
        this.threads = threads;
    }

    /** Null when there are as many as may be. */
    Link to(String host, int port, String executor) {
        return links.of(executor + '@' + host + ':' + port, key -> new Link(host, port, executor));
    }

    /** Connects for later fetches, unless that is under way or has failed lately. */
    void connect(Link link) {
        if (link.mayConnect()) {
            threads.run(() -> askForAddress(link));
        }
    }

    /** By the reserved block, through Spark's transport and its authentication. */
    private void askForAddress(Link link) {
        inner.fetchBlocks(link.host(), link.port(), link.executor(), new String[] {BlockSource.ADDRESS_BLOCK},
            new BlockFetchingListener() {
                @Override
                public void onBlockFetchSuccess(String block, ManagedBuffer data) {
                    try {
                        byte[] address = bytes(data);
                        threads.run(() -> established(link, address));
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

    private static byte[] bytes(ManagedBuffer data) throws IOException {
        if (data.size() > MAX_ADDRESS) {
            throw new IOException("an address of " + data.size() + " bytes");
        }
        byte[] address = new byte[(int) data.size()];
        data.nioByteBuffer().get(address);
        return address;
    }

    private void established(Link link, byte[] address) {
        try {
            VbnPeer peer = engine.connect(address, (lost, cause) -> lost(link, lost, cause));
            link.up(peer, Traffic.Path.ofTransport(peer.transport()));
            if (peer.isLost()) { // before it was up
                link.ended(peer, peer.lossCause(), false);
            }
            if (LOG.isDebugEnabled()) {
                LOG.debug("connected to {}: {}", link, peer.explain());
            }
        } catch (VbnException e) {
            link.down(e.getMessage());
        }
    }

    private void lost(Link link, VbnPeer peer, VbnException cause) {
        List<FetchRequest> waiting = requests.of(link);
        // the other side may not need it, or its executor ends, for example with the application
        link.ended(peer, cause, waiting.stream().noneMatch(FetchRequest::isAfterRest) && !waiting.isEmpty());
        waiting.forEach(request -> fallBack.takeOver(request, cause));
    }

    /** Ends the connections that neither side has used for {@link #IDLE} at a time of System.nanoTime. */
    void closeUnused(long now) {
        links.forEach(link -> {
            VbnPeer peer = link.peer();
            if (peer != null && LastUse.since(peer, now) > IDLE && requests.of(link).isEmpty()) {
                link.release(peer);
            }
        });
    }

    private List<VbnPeer> peers() {
        List<VbnPeer> peers = new ArrayList<>();
        links.forEach(link -> {
            VbnPeer peer = link.peer();
            if (peer != null) {
                peers.add(peer);
            }
        });
        return peers;
    }

    /** What is known of each connection, in words. */
    String explain() {
        return peers().stream().map(VbnPeer::explain).collect(Collectors.joining("; "));
    }

    /** How many connections there are now. */
    int connections() {
        return peers().size();
    }

    @Override
    public void close() {
        links.close();
    }
}
