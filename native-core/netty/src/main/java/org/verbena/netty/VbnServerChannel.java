// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.channel.AbstractServerChannel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.ArrayDeque;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.verbena.core.stream.VbnStream;

/**
 * Accepts {@link VbnChannel}s on all loops of its event loop group. Bound to a TCP address, it greets clients there and accepts
 * those that come by a greeting; bound to a {@link VbnAddress#local}, it accepts everybody who has the job key, or those
 * that were invited on a TCP port of another protocol ({@link VbnInvitations}).
 */
public final class VbnServerChannel extends AbstractServerChannel {
    private final VbnServerChannelConfig config = new VbnServerChannelConfig(this);
    private final AtomicInteger waiting = new AtomicInteger();
    private final AtomicInteger nextLoop = new AtomicInteger();
    private volatile SocketAddress local;
    private volatile VbnInvitations invitations;
    private volatile boolean closed;
    // Event loop's thread:
    private final ArrayDeque<VbnChannel> accepted = new ArrayDeque<>();
    private int service;
    private GreetingServer greetings;
    private boolean readWanted;

    /** Makes a channel to be bound. */
    public VbnServerChannel() {
        // to be registered and bound
    }

    /**
     * Makes a channel to be bound to a {@link VbnAddress#local}, which accepts those alone that came by a greeting of the
     * invitations' detectors.
     *
     * @param invitations used for this channel alone
     */
    public VbnServerChannel(VbnInvitations invitations) {
        this.invitations = invitations;
    }

    @Override
    public ChannelConfig config() {
        return config;
    }

    @Override
    public boolean isOpen() {
        return !closed;
    }

    @Override
    public boolean isActive() {
        return local != null && !closed;
    }

    @Override
    protected boolean isCompatible(EventLoop loop) {
        return loop instanceof VbnEventLoop;
    }

    @Override
    protected SocketAddress localAddress0() {
        return local;
    }

    private VbnEventLoop loop() {
        return (VbnEventLoop) eventLoop();
    }

    @Override
    protected void doRegister() {
        loop().add(this);
    }

    @Override
    protected void doDeregister() {
        loop().remove(this);
    }

    @Override
    protected void doBind(SocketAddress address) throws IOException {
        VbnEventLoopGroup group = loop().group();
        if (address instanceof VbnAddress wanted) {
            service = group.serve(wanted.service(), this);
            if (invitations != null) {
                invitations.open(service, this::nextEngine);
            }
            local = new VbnAddress(loop().engine().address(), service);
        } else if (address instanceof InetSocketAddress tcp) {
            service = group.serve(0, this);
            try {
                VbnInvitations own = new VbnInvitations();
                own.open(service, this::nextEngine);
                greetings = GreetingServer.start(group.greeters(), tcp, config.backlog(), own);
                invitations = own;
            } catch (IOException | RuntimeException e) {
                group.unserve(service, this);
                BindException shown = new BindException("bind to " + tcp + " failed: " + e.getMessage()
                    + "; bind to another port, or end the program that listens there");
                shown.initCause(e);
                throw shown;
            }
            local = greetings.address();
        } else {
            throw new UnsupportedAddressTypeException();
        }
    }

    /** Spreads clients over the loops. */
    private byte[] nextEngine() {
        VbnEventLoopGroup group = loop().group();
        int chosen = Math.floorMod(nextLoop.getAndIncrement(), group.executorCount());
        for (EventExecutor loop : group) {
            if (chosen-- == 0) {
                return ((VbnEventLoop) loop).engine().address();
            }
        }
        return loop().engine().address();
    }

    /** A loop's thread: a peer has opened a stream. */
    boolean accept(VbnEventLoop on, VbnStream stream, ByteBuffer hello) {
        if (!isActive() || waiting.get() >= config.backlog()) {
            return false;
        }
        VbnInvitations asked = invitations;
        VbnInvitations.Ends ends = asked != null ? asked.claim(hello.duplicate()) : hello.hasRemaining() ? null
            : new VbnInvitations.Ends(local, new VbnPeerAddress(stream.peer().uid()));
        if (ends == null) {
            return false;
        }
        VbnChannel child = new VbnChannel(this, on, stream, ends.local(), ends.remote());
        waiting.incrementAndGet();
        try {
            eventLoop().execute(() -> offer(child));
            return true;
        } catch (RejectedExecutionException e) {
            waiting.decrementAndGet();
            return false;
        }
    }

    private void offer(VbnChannel child) {
        if (closed) {
            waiting.decrementAndGet();
            child.unsafe().closeForcibly();
            return;
        }
        accepted.add(child);
        if (readWanted) {
            deliver();
        }
    }

    @Override
    protected void doBeginRead() {
        readWanted = true;
        if (!accepted.isEmpty()) {
            eventLoop().execute(this::deliver);
        }
    }

    private void deliver() {
        if (accepted.isEmpty() || !readWanted) {
            return;
        }
        readWanted = false;
        for (VbnChannel child = accepted.poll(); child != null; child = accepted.poll()) {
            waiting.decrementAndGet();
            pipeline().fireChannelRead(child);
        }
        pipeline().fireChannelReadComplete();
    }

    @Override
    protected void doClose() {
        boolean bound = isActive();
        closed = true;
        if (greetings != null) {
            greetings.close();
        }
        if (invitations != null) {
            invitations.close();
        }
        if (bound) {
            loop().group().unserve(service, this);
        }
        for (VbnChannel child = accepted.poll(); child != null; child = accepted.poll()) {
            waiting.decrementAndGet();
            child.unsafe().closeForcibly();
        }
    }
}
