// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;
import java.net.ProtocolException;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;

/** A socket to a server: bytes to be sent, and what has come. The loop's thread. */
final class Link implements Loop.Ready {
    private static final int START = 64 << 10;
    private static final int LARGE = 1 << 20;
    /** Bytes of one read: the JDK keeps a direct buffer as large as the largest. */
    private static final int READ_MOST = 256 << 10;
    private static final int LINE_MOST = 4096;
    private static final int GATHER = 64;
    private static final byte[] END = {'\r', '\n'};

    /** Told what happens. */
    interface User {
        void connected();

        /** Bytes have come. */
        void received() throws ProtocolException;

        /** The connection has ended; nothing else is told. */
        void ended(String why);
    }

    /** Bytes to be sent, and the call whose value they are. */
    private record Piece(ByteBuffer bytes, Call call) {
    }

    private final Loop loop;
    private final SocketChannel channel;
    private final ArrayDeque<Piece> out = new ArrayDeque<>();
    private SelectionKey key;
    private User user;
    private byte[] in = new byte[START];
    private int start;
    private int end;
    /** No end of a line before. */
    private int scanned;
    private boolean flushing;
    private boolean closed;
    private volatile long heard = Loop.now();

    private Link(Loop loop, SocketChannel channel, User user) {
        this.loop = loop;
        this.channel = channel;
        this.user = user;
    }

    /** Begins to connect. */
    static Link open(Loop loop, SocketAddress address, User user) throws IOException {
        SocketChannel channel = address instanceof java.net.UnixDomainSocketAddress
            ? SocketChannel.open(java.net.StandardProtocolFamily.UNIX) : SocketChannel.open();
        Link link = new Link(loop, channel, user);
        try {
            channel.configureBlocking(false);
            boolean connected = channel.connect(address);
            link.key = loop.register(channel, connected ? SelectionKey.OP_READ : SelectionKey.OP_CONNECT, link);
            if (connected) {
                loop.execute(link::connected);
            }
            return link;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e instanceof IOException io ? io : new IOException(e.getMessage() == null ? e.toString() : e.getMessage(), e);
        }
    }

    void setUser(User other) {
        user = other;
    }

    /** When bytes came last, or could be sent after they had to wait. Any thread. */
    long heard() {
        return heard;
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    public void ready(SelectionKey ready) {
        try {
            if (!closed && ready.isConnectable()) {
                channel.finishConnect();
                ready.interestOps(SelectionKey.OP_READ);
                connected();
            }
            if (!closed && ready.isWritable()) {
                heard = Loop.now();
                flush();
            }
            if (!closed && ready.isReadable()) {
                fill();
            }
        } catch (IOException e) {
            fail(e.getMessage() == null ? e.toString() : e.getMessage());
        }
    }

    private void connected() {
        if (closed) {
            return;
        }
        try {
            if (channel.supportedOptions().contains(StandardSocketOptions.TCP_NODELAY)) {
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            }
        } catch (IOException e) {
            fail(e.getMessage());
            return;
        }
        user.connected();
    }

    private void fail(String why) {
        if (!closed) {
            close();
            user.ended(why);
        }
    }

    /** Ends the connection; the user is told nothing. */
    void close() {
        closed = true;
        try {
            channel.close();
        } catch (IOException e) {
            closed = true; // nothing of it is used again
        }
        out.forEach(piece -> release(piece));
        out.clear();
    }

    private static void release(Piece piece) {
        if (piece.call() != null) {
            piece.call().releaseValue();
        }
    }

    // ----------------------------------------------------------------------------------------- sending

    /** Sends lines at the end of this turn. */
    void write(byte[] lines) {
        add(new Piece(ByteBuffer.wrap(lines), null));
    }

    /** Sends a call's value, and the end of a line. */
    void writeValue(Call call, ByteBuffer value) {
        add(new Piece(value.duplicate(), call));
        write(END);
    }

    private void add(Piece piece) {
        out.add(piece);
        if (!flushing) {
            flushing = true;
            loop.executeLast(() -> {
                try {
                    flush();
                } catch (IOException e) {
                    fail(e.getMessage() == null ? e.toString() : e.getMessage());
                }
            });
        }
    }

    private void flush() throws IOException {
        flushing = false;
        boolean all = true;
        while (!closed && all && !out.isEmpty()) {
            ByteBuffer[] some = out.stream().limit(GATHER).map(Piece::bytes).toArray(ByteBuffer[]::new);
            channel.write(some);
            all = !some[some.length - 1].hasRemaining();
            while (!out.isEmpty() && !out.peek().bytes().hasRemaining()) {
                release(out.poll());
            }
        }
        if (!closed) {
            key.interestOps(out.isEmpty() ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        }
    }

    // --------------------------------------------------------------------------------------- receiving

    private void fill() throws IOException {
        reserve();
        int got = channel.read(ByteBuffer.wrap(in, end, Math.min(in.length - end, READ_MOST)));
        if (got < 0) {
            fail("the server has closed the connection");
            return;
        }
        end += got;
        heard = Loop.now();
        user.received();
    }

    /** Room for more; not more memory than twice the bytes that have come. */
    private void reserve() throws ProtocolException {
        if (start == end) {
            start = 0;
            end = 0;
            scanned = 0;
            in = in.length > LARGE ? new byte[START] : in;
        }
        if (end < in.length) {
            return;
        }
        if (start > in.length / 2) {
            System.arraycopy(in, start, in, 0, end - start);
        } else if (in.length < Integer.MAX_VALUE - 8) {
            byte[] larger = new byte[(int) Math.min(2L * in.length, Integer.MAX_VALUE - 8)];
            System.arraycopy(in, start, larger, 0, end - start);
            in = larger;
        } else {
            throw new ProtocolException("a value of more bytes than this JVM's arrays can have");
        }
        end -= start;
        scanned = Math.max(0, scanned - start);
        start = 0;
    }

    /** Takes a line off, without its end; null: there is no whole one. */
    String line() throws ProtocolException {
        for (int i = Math.max(start, scanned); i < end; i++) {
            if (in[i] == '\n') {
                int length = i - start - (i > start && in[i - 1] == '\r' ? 1 : 0);
                String text = new String(in, start, length, StandardCharsets.ISO_8859_1);
                start = i + 1;
                scanned = start;
                return text;
            }
        }
        scanned = end;
        if (end - start > LINE_MOST) {
            throw new ProtocolException("no answer of a memcached server: a line of more than " + LINE_MOST + " bytes");
        }
        return null;
    }

    /** Takes a value and the end of its line off; valid until the user returns; null: it is not whole. */
    ByteBuffer value(int bytes) throws ProtocolException {
        if (end - start < bytes + 2L) {
            return null;
        }
        ByteBuffer value = ByteBuffer.wrap(in, start, bytes).slice();
        start += bytes;
        if (!Arrays.equals(in, start, start + 2, END, 0, 2)) {
            throw new ProtocolException("no answer of a memcached server: a value of another length than announced");
        }
        start += 2;
        scanned = start;
        return value;
    }
}
