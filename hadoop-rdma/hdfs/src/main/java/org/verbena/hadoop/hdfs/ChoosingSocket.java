// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.nio.channels.SocketChannel;
import java.util.Set;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.net.SocketInputStream;
import org.apache.hadoop.net.SocketOutputStream;
import org.verbena.hadoop.net.CompanionSocket;
import org.verbena.hadoop.net.CoreSocketChannel;

/**
 * A socket that becomes a stream of the core, or the socket that Hadoop would have made, when it is connected. Its channel is
 * null before: otherwise Hadoop would connect the channel and not the socket. Options of TCP are kept for TCP, and mean
 * nothing for a stream.
 */
final class ChoosingSocket extends Socket implements CompanionSocket {
    /** Answers for a socket that has not been made. */
    private static final Socket UNMADE = new Socket();

    private volatile DataNodes dataNodes;
    /** Made when it is needed first: mostly never. Guarded by this. */
    private Socket tcp;
    private volatile CoreSocketChannel core;
    private volatile boolean connected;
    /** Before it was either. */
    private volatile boolean closed;

    ChoosingSocket(DataNodes dataNodes) throws IOException {
        super((SocketImpl) null); // every method that would use it is overridden
        this.dataNodes = dataNodes;
    }

    private synchronized Socket tcp() throws SocketException {
        if (tcp == null) {
            if (closed) {
                throw new SocketException("Socket is closed");
            }
            try {
                tcp = SocketChannel.open().socket();
            } catch (IOException e) {
                throw (SocketException) new SocketException(e.getMessage()).initCause(e);
            }
        }
        return tcp;
    }

    private synchronized Socket made() {
        return tcp == null ? UNMADE : tcp;
    }

    private synchronized void closeTcp() throws IOException {
        closed = true;
        if (tcp != null) {
            tcp.close();
        }
    }

    @Override
    public void accompany(CoreSocketChannel other) {
        dataNodes = dataNodes.by(other.engine());
    }

    @Override
    public void connect(SocketAddress endpoint) throws IOException {
        connect(endpoint, 0);
    }

    @Override
    public void connect(SocketAddress endpoint, int timeoutMillis) throws IOException {
        CoreSocketChannel stream = endpoint instanceof InetSocketAddress address ? dataNodes.open(address) : null;
        if (stream == null) {
            NetUtils.connect(tcp(), endpoint, timeoutMillis);
        } else {
            core = stream;
            closeTcp();
        }
        connected = true;
    }

    @Override
    public SocketChannel getChannel() {
        return !connected ? null : core == null ? made().getChannel() : core;
    }

    @Override
    public InputStream getInputStream() throws IOException {
        return core == null ? tcp().getInputStream() : new SocketInputStream(core, getSoTimeout());
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
        return core == null ? tcp().getOutputStream() : new SocketOutputStream(core, 0);
    }

    @Override
    public void close() throws IOException {
        if (core == null) {
            closeTcp();
        } else {
            core.close();
        }
    }

    @Override
    public void shutdownInput() throws IOException {
        if (core == null) {
            tcp().shutdownInput();
        } else {
            core.shutdownInput();
        }
    }

    @Override
    public void shutdownOutput() throws IOException {
        if (core == null) {
            tcp().shutdownOutput();
        } else {
            core.shutdownOutput();
        }
    }

    @Override
    public void bind(SocketAddress address) throws IOException {
        tcp().bind(address);
    }

    @Override
    public boolean isConnected() {
        return connected;
    }

    @Override
    public boolean isBound() {
        return core != null || made().isBound();
    }

    @Override
    public boolean isClosed() {
        return core == null ? closed || made().isClosed() : !core.isOpen();
    }

    @Override
    public boolean isInputShutdown() {
        return core == null && made().isInputShutdown();
    }

    @Override
    public boolean isOutputShutdown() {
        return core == null && made().isOutputShutdown();
    }

    @Override
    public InetAddress getInetAddress() {
        return core == null ? made().getInetAddress() : core.getRemoteAddress().getAddress();
    }

    @Override
    public InetAddress getLocalAddress() {
        return core == null ? made().getLocalAddress() : core.getLocalAddress().getAddress();
    }

    @Override
    public int getPort() {
        return core == null ? made().getPort() : core.getRemoteAddress().getPort();
    }

    @Override
    public int getLocalPort() {
        return core == null ? made().getLocalPort() : core.getLocalAddress().getPort();
    }

    @Override
    public SocketAddress getRemoteSocketAddress() {
        return core == null ? made().getRemoteSocketAddress() : core.getRemoteAddress();
    }

    @Override
    public SocketAddress getLocalSocketAddress() {
        return core == null ? made().getLocalSocketAddress() : core.getLocalAddress();
    }

    @Override
    public String toString() {
        return core == null ? made().toString() : core.toString();
    }

    // ------------------------------------------------------------------------------- options, which TCP keeps

    /** What sets or reads an option of TCP. */
    @FunctionalInterface
    private interface Option<T> {
        T use(Socket socket) throws SocketException;
    }

    private <T> T option(Option<T> option, T ofStream) throws SocketException {
        return core == null ? option.use(tcp()) : ofStream;
    }

    /** Sets an option of TCP. */
    @FunctionalInterface
    private interface Setter {
        void set(Socket socket) throws SocketException;
    }

    private void set(Setter setter) throws SocketException {
        if (core == null) {
            setter.set(tcp());
        }
    }

    private volatile int soTimeout;

    @Override
    public void setSoTimeout(int millis) throws SocketException {
        soTimeout = millis;
        set(socket -> socket.setSoTimeout(millis));
    }

    @Override
    public int getSoTimeout() throws SocketException {
        return option(Socket::getSoTimeout, soTimeout);
    }

    @Override
    public void setTcpNoDelay(boolean on) throws SocketException {
        set(socket -> socket.setTcpNoDelay(on));
    }

    @Override
    public boolean getTcpNoDelay() throws SocketException {
        return option(Socket::getTcpNoDelay, true);
    }

    @Override
    public void setSoLinger(boolean on, int seconds) throws SocketException {
        set(socket -> socket.setSoLinger(on, seconds));
    }

    @Override
    public int getSoLinger() throws SocketException {
        return option(Socket::getSoLinger, -1);
    }

    @Override
    public void sendUrgentData(int data) throws IOException {
        throw new SocketException("Hadoop sends no urgent data");
    }

    @Override
    public void setOOBInline(boolean on) throws SocketException {
        set(socket -> socket.setOOBInline(on));
    }

    @Override
    public boolean getOOBInline() throws SocketException {
        return option(Socket::getOOBInline, false);
    }

    @Override
    public void setSendBufferSize(int bytes) throws SocketException {
        set(socket -> socket.setSendBufferSize(bytes));
    }

    @Override
    public int getSendBufferSize() throws SocketException {
        return option(Socket::getSendBufferSize, 1 << 20);
    }

    @Override
    public void setReceiveBufferSize(int bytes) throws SocketException {
        set(socket -> socket.setReceiveBufferSize(bytes));
    }

    @Override
    public int getReceiveBufferSize() throws SocketException {
        return option(Socket::getReceiveBufferSize, 1 << 20);
    }

    @Override
    public void setKeepAlive(boolean on) throws SocketException {
        set(socket -> socket.setKeepAlive(on));
    }

    @Override
    public boolean getKeepAlive() throws SocketException {
        return option(Socket::getKeepAlive, true);
    }

    @Override
    public void setTrafficClass(int value) throws SocketException {
        set(socket -> socket.setTrafficClass(value));
    }

    @Override
    public int getTrafficClass() throws SocketException {
        return option(Socket::getTrafficClass, 0);
    }

    @Override
    public void setReuseAddress(boolean on) throws SocketException {
        set(socket -> socket.setReuseAddress(on));
    }

    @Override
    public boolean getReuseAddress() throws SocketException {
        return option(Socket::getReuseAddress, false);
    }

    @Override
    public void setPerformancePreferences(int connectionTime, int latency, int bandwidth) {
        made().setPerformancePreferences(connectionTime, latency, bandwidth);
    }

    @Override
    public <T> Socket setOption(SocketOption<T> name, T value) throws IOException {
        if (core == null) {
            tcp().setOption(name, value);
        }
        return this;
    }

    @Override
    public <T> T getOption(SocketOption<T> name) throws IOException {
        return core == null ? tcp().getOption(name) : core.getOption(name);
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return core == null ? made().supportedOptions() : core.supportedOptions();
    }
}
