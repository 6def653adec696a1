// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.ReadableByteChannel;
import org.apache.hadoop.hdfs.net.Peer;
import org.apache.hadoop.net.SocketInputStream;
import org.apache.hadoop.net.unix.DomainSocket;

/** The DataNode's end of a stream. */
public final class CorePeer implements Peer {
    private static final int WINDOW = 1 << 20;

    private final CoreSocketChannel channel;
    private final SocketInputStream in;
    private final PeekedInput peeked;
    /** What Hadoop's server reads. */
    private InputStream input;
    private final CoreOutputStream out;

    /**
     * Takes a channel, closed with the peer.
     *
     * @param channel the channel
     * @throws IOException when it is closed already
     */
    public CorePeer(CoreSocketChannel channel) throws IOException {
        this.channel = channel;
        channel.gatherAnswers();
        this.in = new SocketInputStream(channel, 0);
        this.peeked = new PeekedInput(in);
        this.input = peeked;
        this.out = new CoreOutputStream(channel);
    }

    @Override
    public ReadableByteChannel getInputStreamChannel() {
        return in;
    }

    @Override
    public void setReadTimeout(int millis) {
        in.setTimeout(millis);
    }

    @Override
    public int getReceiveBufferSize() {
        return WINDOW;
    }

    @Override
    public boolean getTcpNoDelay() {
        return true;
    }

    @Override
    public void setWriteTimeout(int millis) {
        out.setTimeout(millis);
    }

    @Override
    public boolean isClosed() {
        return !channel.isOpen();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    @Override
    public String getRemoteAddressString() {
        return channel.getRemoteAddress().toString();
    }

    @Override
    public String getLocalAddressString() {
        return channel.getLocalAddress().toString();
    }

    @Override
    public InputStream getInputStream() {
        return input;
    }

    /** Returns all that comes, of which the next bytes can be seen before they are read. */
    public PeekedInput peeked() {
        return peeked;
    }

    /**
     * Sets what Hadoop's server reads, before it begins.
     *
     * @param input reads what comes, and gives the server's part of it
     */
    public void serveBy(InputStream input) {
        this.input = input;
    }

    /** Returns the stream. */
    public CoreSocketChannel channel() {
        return channel;
    }

    /** Returns the channel of a stream by which a block is written: small pieces leave at once. What was seen is not in it. */
    public CoreSocketChannel writersChannel() {
        channel.gatherNothing();
        return channel;
    }

    @Override
    public OutputStream getOutputStream() {
        return out;
    }

    @Override
    public boolean isLocal() {
        return channel.getRemoteAddress().getAddress().equals(channel.getLocalAddress().getAddress());
    }

    @Override
    public DomainSocket getDomainSocket() {
        return null;
    }

    /** False: Hadoop's own encryption and authentication of data transfer work inside the stream as in a socket. */
    @Override
    public boolean hasSecureChannel() {
        return false;
    }

    @Override
    public String toString() {
        return "CorePeer(" + channel + ")";
    }
}
