// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.rpc.node;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;

/** A stream where Hadoop wants a connected socket: addresses, the two byte streams if there are any, close. No options. */
public final class StreamSocket extends Socket {
    private final InetSocketAddress local;
    private final InetSocketAddress remote;
    private final InputStream in;
    private final OutputStream out;
    private final Closeable end;
    private volatile boolean closed;

    /** Takes the parts; end is called by each close. in and out: null where a channel reads and writes. */
    StreamSocket(InetSocketAddress local, InetSocketAddress remote, InputStream in, OutputStream out, Closeable end)
            throws SocketException {
        super((SocketImpl) null); // every method that Hadoop calls is overridden
        this.local = local;
        this.remote = remote;
        this.in = in;
        this.out = out;
        this.end = end;
    }

    @Override
    public InputStream getInputStream() {
        return in;
    }

    @Override
    public OutputStream getOutputStream() {
        return out;
    }

    @Override
    public void close() throws IOException {
        closed = true;
        end.close();
    }

    @Override
    public void shutdownOutput() {
        // what was written is delivered before the end; close follows
    }

    @Override
    public boolean isConnected() {
        return true;
    }

    @Override
    public boolean isBound() {
        return true;
    }

    @Override
    public boolean isClosed() {
        return closed;
    }

    @Override
    public InetAddress getInetAddress() {
        return remote.getAddress();
    }

    @Override
    public InetAddress getLocalAddress() {
        return local.getAddress();
    }

    @Override
    public int getPort() {
        return remote.getPort();
    }

    @Override
    public int getLocalPort() {
        return local.getPort();
    }

    @Override
    public SocketAddress getRemoteSocketAddress() {
        return remote;
    }

    @Override
    public SocketAddress getLocalSocketAddress() {
        return local;
    }

    @Override
    public void setSoTimeout(int millis) {
        // who waits for the stream has limits of its own
    }

    @Override
    public void setSendBufferSize(int bytes) {
        // the window of a stream is the core's
    }

    @Override
    public String toString() {
        return "stream of the core, local=" + local + " remote=" + remote;
    }
}
