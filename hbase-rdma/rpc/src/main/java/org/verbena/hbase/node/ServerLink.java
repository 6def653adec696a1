// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.hbase.thirdparty.io.netty.bootstrap.Bootstrap;
import org.apache.hbase.thirdparty.io.netty.channel.Channel;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelFuture;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelHandlerContext;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelInboundHandlerAdapter;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelOption;
import org.apache.hbase.thirdparty.io.netty.channel.ConnectTimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;
import org.verbena.core.plugin.Attempt;
import org.verbena.core.plugin.LocalAddress;
import org.verbena.core.plugin.Remote;
import org.verbena.hbase.netty.VbnChannel;
import org.verbena.hbase.netty.VbnEventLoopGroup;

/**
 * One server that this process calls, and whether it is reached by the core. While it is, one channel stands that carries
 * nothing: it proves that the core works, and its end tells at once that the server is gone. Thread safe.
 */
public final class ServerLink {
    private static final Logger LOG = LoggerFactory.getLogger(ServerLink.class);
    private static final String DOWN = "Verbena: calls to {} go by TCP for a while: {}";
    private static final int CONNECT_MILLIS = 10_000;
    private static final long IDLE_SECONDS = 120;
    /** Calls that began longer ago have been answered, or have failed by their own time-outs. */
    private static final long UNUSED = TimeUnit.SECONDS.toNanos(60);

    private final CoreNode node;
    private final InetSocketAddress address;
    private final Remote<Channel> remote = new Remote<>(Channel::close);
    private volatile long lastUse = System.nanoTime();

    ServerLink(CoreNode node, InetSocketAddress address) {
        this.node = node;
        this.address = address;
    }

    Remote<Channel> remote() {
        return remote;
    }

    /**
     * Decides for one call; begins to connect when nobody has.
     *
     * @return null: the server is reached by the core; else why the call goes by TCP
     */
    public Reason use() {
        return use(System.nanoTime());
    }

    Reason use(long now) {
        lastUse = now;
        if (remote.peer() != null) {
            return null;
        }
        begin();
        return switch (remote.state()) {
            case UP -> null;
            case REFUSED -> Reason.NOT_ANSWERED;
            case DOWN -> Reason.AFTER_FAILURES;
            case UNCONNECTED, CONNECTING -> remote.isSilent() ? Reason.NOT_ANSWERED : Reason.WHILE_CONNECTING;
        };
    }

    /**
     * Returns when the call may ask again: when the connection that is being made stands or has failed, or is not worth waiting
     * for ({@link Attempt}).
     *
     * @param callMillis the call's own time-out, of which half is left for the call; 0: none
     */
    public CompletableFuture<Void> decided(long callMillis) {
        Attempt last = remote.attempt();
        CompletableFuture<Void> decided = last == null ? CompletableFuture.completedFuture(null) : last.decided();
        return callMillis > 0 ? decided.completeOnTimeout(null, callMillis / 2, TimeUnit.MILLISECONDS) : decided;
    }

    private void begin() {
        Attempt begun = remote.begin(node.conf().connectWaitMillis());
        if (begun == null) {
            return;
        }
        Thread thread = new Thread(() -> connect(begun), "verbena-connect");
        thread.setDaemon(true);
        thread.start();
    }

    private void connect(Attempt begun) {
        try {
            VbnEventLoopGroup group = node.start(LocalAddress.towards(address));
            new Bootstrap().group(group).channel(VbnChannel.class).handler(new Proof(begun))
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS).connect(address)
                .addListener((ChannelFuture done) -> connected(done, begun));
        } catch (IOException | RuntimeException | LinkageError e) {
            down(words(e));
            begun.end();
        }
    }

    /** The channel's loop. */
    private void connected(ChannelFuture done, Attempt begun) {
        try {
            if (done.isSuccess()) {
                up((VbnChannel) done.channel());
            } else if (done.cause() instanceof ConnectTimeoutException || done.cause().getCause() instanceof VbnException) {
                down(words(done.cause()));
            } else if (remote.refused()) {
                LOG.info("Verbena: calls to {} go by TCP: {}", address, words(done.cause()));
            }
        } finally {
            begun.end();
        }
    }

    private String words(Throwable cause) {
        return node.conf().key().words(cause);
    }

    private void up(VbnChannel proof) {
        remote.up(proof);
        LOG.info("Verbena: calls to {} go by the core: {}", address, proof.peer().explain());
        proof.closeFuture().addListener(closed -> ended(proof));
        proof.eventLoop().schedule(() -> endIfIdle(proof), IDLE_SECONDS, TimeUnit.SECONDS);
    }

    private void ended(VbnChannel proof) {
        VbnPeer server = proof.peer();
        VbnException cause = server.lossCause() != null || server.isLost() ? server.lossCause()
            : new VbnException(VbnStatus.PEER_LOST, "the server has closed the connection");
        switch (remote.ended(proof, cause, System.nanoTime() - lastUse < UNUSED)) {
            case UNUSED -> LOG.debug("Verbena: {} has ended the connection, which nobody used: {}", address, words(cause));
            case FAILED -> LOG.warn(DOWN, address, words(cause));
            case FAILED_AGAIN -> LOG.debug(DOWN, address, words(cause));
            case NOT_THIS -> { }
        }
    }

    private void endIfIdle(Channel proof) {
        long left = TimeUnit.SECONDS.toNanos(IDLE_SECONDS) - (System.nanoTime() - lastUse);
        if (remote.peer() != proof) {
            return;
        }
        if (left > 0) {
            proof.eventLoop().schedule(() -> endIfIdle(proof), left, TimeUnit.NANOSECONDS);
        } else {
            remote.release(proof);
        }
    }

    /**
     * The core does not reach the server: calls go by TCP for a while.
     *
     * @param cause for the log
     */
    public void down(String cause) {
        if (remote.down()) {
            LOG.warn(DOWN, address, cause);
        } else {
            LOG.debug(DOWN, address, cause);
        }
    }

    /** Nothing comes on the channel that proves the connection: that the server has answered, and its end, is all it tells. */
    private static final class Proof extends ChannelInboundHandlerAdapter {
        private final Attempt begun;

        Proof(Attempt begun) {
            this.begun = begun;
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (event == VbnChannel.Event.ASKED) {
                begun.asks();
            } else if (event == VbnChannel.Event.GREETED) {
                begun.answered();
            }
            context.fireUserEventTriggered(event);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }
}
