// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Set;

/**
 * What all streams have in common that stand for a connected socket channel in a system which knows nothing else: two ends and
 * no options. Reading, writing, closing and what waits for a stream is the system's own affair.
 */
public abstract class StreamChannel extends SocketChannel {
    /** The stream, which the channel owns. */
    protected final VbnStream stream;
    private final InetSocketAddress local;
    private final InetSocketAddress remote;

    /**
     * Makes the channel of a stream that is connected.
     *
     * @param provider whose selectors watch it; null: none can
     * @param stream the stream, which the channel owns from now on
     * @param local what stands for this side
     * @param remote what stands for the other side
     */
    protected StreamChannel(SelectorProvider provider, VbnStream stream, InetSocketAddress local, InetSocketAddress remote) {
        super(provider);
        this.stream = stream;
        this.local = local;
        this.remote = remote;
    }

    @Override
    public final InetSocketAddress getLocalAddress() {
        return local;
    }

    @Override
    public final InetSocketAddress getRemoteAddress() {
        return remote;
    }

    @Override
    public final boolean isConnected() {
        return true;
    }

    @Override
    public final boolean isConnectionPending() {
        return false;
    }

    @Override
    public final boolean finishConnect() {
        return true;
    }

    @Override
    public final boolean connect(SocketAddress address) {
        throw new AlreadyConnectedException();
    }

    @Override
    public final SocketChannel bind(SocketAddress address) {
        throw new AlreadyConnectedException();
    }

    /** What still comes is bounded by the window, and goes with close. */
    @Override
    public final SocketChannel shutdownInput() {
        return this;
    }

    @Override
    public SocketChannel shutdownOutput() throws IOException {
        stream.endOutput();
        return this;
    }

    @Override
    public final <T> SocketChannel setOption(SocketOption<T> name, T value) {
        throw new UnsupportedOperationException("a stream has no options: " + name);
    }

    @Override
    public final <T> T getOption(SocketOption<T> name) {
        throw new UnsupportedOperationException("a stream has no options: " + name);
    }

    @Override
    public final Set<SocketOption<?>> supportedOptions() {
        return Set.of();
    }

    @Override
    public final String toString() {
        return "stream of the core, local=" + local + " remote=" + remote;
    }
}
