// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;

/** Gives Hadoop's pool of selectors those that wait for streams. One object: the pool keeps its selectors by provider. */
final class CoreSelectorProvider extends SelectorProvider {
    static final CoreSelectorProvider INSTANCE = new CoreSelectorProvider();

    private CoreSelectorProvider() {
    }

    private static UnsupportedOperationException none(String what) {
        return new UnsupportedOperationException(what + " of streams does not exist: use SelectorProvider.provider()");
    }

    @Override
    public AbstractSelector openSelector() {
        return new CoreSelector(this);
    }

    @Override
    public DatagramChannel openDatagramChannel() {
        throw none("a datagram channel");
    }

    @Override
    public DatagramChannel openDatagramChannel(ProtocolFamily family) {
        throw none("a datagram channel");
    }

    @Override
    public Pipe openPipe() {
        throw none("a pipe");
    }

    @Override
    public ServerSocketChannel openServerSocketChannel() {
        throw none("a server socket");
    }

    @Override
    public SocketChannel openSocketChannel() {
        throw none("an unconnected channel");
    }
}
