// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;
import org.verbena.core.stream.StreamChannel;
import org.verbena.core.stream.VbnStream;

/**
 * A stream as a connected socket channel, for {@code SocketInputStream} and {@code SocketOutputStream} of Hadoop, which keep
 * the time-outs. Non-blocking use only, which is theirs. One thread reads and one writes at a time.
 */
public final class CoreSocketChannel extends StreamChannel {
    private final Runnable whenClosed;
    private final Set<CoreSelector> watching = ConcurrentHashMap.newKeySet();
    /** Of a DataNode's end, else null. */
    private volatile ReadAnswers answers;

    /**
     * Takes a stream that is accepted, whose listener it becomes; close ends it.
     *
     * @param stream the stream
     * @param local what stands for this side in log lines
     * @param remote what stands for the other side
     * @param whenClosed run once, at the end
     */
    public CoreSocketChannel(VbnStream stream, InetSocketAddress local, InetSocketAddress remote, Runnable whenClosed) {
        super(CoreSelectorProvider.INSTANCE, stream, local, remote);
        this.whenClosed = whenClosed;
        stream.onChange(changed -> watching.forEach(CoreSelector::changed));
    }

    /** This is the end of a DataNode: it coalesces small pieces of its answers to reads. */
    void gatherAnswers() {
        answers = new ReadAnswers(stream);
    }

    /** No reads of blocks are answered here. */
    void gatherNothing() {
        answers = null;
    }

    private void sendAnswers() throws VbnException {
        ReadAnswers kept = answers;
        if (kept != null) {
            kept.send();
        }
    }

    /** Returns the engine that moves the stream's bytes. */
    public VbnEngine engine() {
        return stream.engine();
    }

    void watch(CoreSelector selector) {
        watching.add(selector);
    }

    void unwatch(CoreSelector selector) {
        watching.remove(selector);
    }

    /**
     * A reader has got nothing for its whole time-out. If a writer waits as well, the other side stands still, and the
     * writer's wait
     * ends: Hadoop lets a writer wait for eight minutes, because what its clients have in flight fits into the buffers of a TCP
     * connection, so that only the reader of acknowledgements waits. A stream's window is smaller.
     */
    void readInVain(long millis) {
        for (CoreSelector selector : watching) {
            if (selector.waitsToWrite(this)) {
                stream.reset("the other side stands still: nothing came for " + millis + " ms, and it takes nothing");
                return;
            }
        }
    }

    /** True when a read gives bytes, the end or a failure; nothing is done for that to come true. */
    public boolean hasInput() {
        return stream.isReadable();
    }

    /** What would not have to wait now. */
    int readyOps() {
        if (!isOpen()) {
            return SelectionKey.OP_READ | SelectionKey.OP_WRITE;
        }
        return (stream.isReadable() ? SelectionKey.OP_READ : 0) | (stream.isWritable() ? SelectionKey.OP_WRITE : 0);
    }

    private void checkOpen() throws IOException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
        if (isBlocking()) {
            throw new IllegalBlockingModeException();
        }
    }

    /** Hadoop knows the end of a connection by the beginning of this text, and does not suspect the disk then. */
    private static IOException reset(VbnException cause) {
        return new IOException("Connection reset: " + cause.getMessage(), cause);
    }

    @Override
    public int read(ByteBuffer destination) throws IOException {
        checkOpen();
        try {
            sendAnswers();
            int from = destination.position();
            int count = stream.read(destination);
            if (count == 0) {
                engine().help();
                count = stream.read(destination);
            }
            if (answers != null && count > 0) {
                answers.received(destination, from, count);
            }
            if (count < 0) {
                checkOpen(); // the end of a stream that was closed here is none
            }
            return count;
        } catch (VbnException e) {
            if (e.kind() == VbnStatus.PEER_LOST) {
                return -1; // as of a socket whose process has ended; Hadoop knows by its own frames whether that is early
            }
            throw reset(e);
        }
    }

    /**
     * Bytes that are there where they lie; {@link #skip} is to follow before anything else is read.
     *
     * @param ahead how many bytes to pass over, all of which were looked at before
     * @return as {@link VbnStream#look(int)}; null when nothing is there, and where {@link #read} tells more
     */
    public ByteBuffer look(int ahead) {
        ByteBuffer bytes = stream.look(ahead);
        if (bytes == null) {
            engine().help();
            bytes = stream.look(ahead);
        }
        return bytes;
    }

    /**
     * The first bytes of what {@link #look} gave since the last call are read.
     *
     * @param count how many
     */
    public void skip(int count) {
        stream.skip(count);
    }

    @Override
    public long read(ByteBuffer[] destinations, int offset, int length) throws IOException {
        long total = 0;
        for (int i = offset; i < offset + length; i++) {
            int count = destinations[i].hasRemaining() ? read(destinations[i]) : 0;
            if (count < 0) {
                return total == 0 ? -1 : total;
            }
            total += count;
            if (destinations[i].hasRemaining()) {
                break;
            }
        }
        return total;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        checkOpen();
        try {
            int length = source.remaining();
            if (answers != null && answers.keep(source)) {
                return length;
            }
            sendAnswers();
            return stream.write(source);
        } catch (VbnException e) {
            throw reset(e);
        }
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        long total = 0;
        for (int i = offset; i < offset + length; i++) {
            total += write(sources[i]);
            if (sources[i].hasRemaining()) {
                break;
            }
        }
        return total;
    }

    /**
     * Writes bytes of a file, without a copy between file and message.
     *
     * @param file the file
     * @param position the first byte
     * @param count most bytes, more than 0
     * @return bytes written, 0 when it would have to wait
     * @throws IOException when the connection has ended, or the file cannot be read or is shorter
     */
    public int transferFrom(FileChannel file, long position, int count) throws IOException {
        checkOpen();
        try {
            sendAnswers();
            return stream.transferFrom(file, position, count);
        } catch (VbnException e) {
            throw reset(e);
        }
    }

    @Override
    public SocketChannel shutdownOutput() throws IOException {
        try {
            sendAnswers();
        } catch (VbnException e) {
            throw reset(e);
        }
        stream.endOutput();
        return this;
    }

    @Override
    public Socket socket() {
        throw new UnsupportedOperationException("a stream has no socket of its own: " + this);
    }

    @Override
    protected void implCloseSelectableChannel() {
        try {
            sendAnswers();
        } catch (VbnException e) {
            // nobody is there any more to have them
        }
        stream.close();
        engine().attend(); // this thread waits here no more, and the next stream may be opened soon
        whenClosed.run();
    }

    @Override
    protected void implConfigureBlocking(boolean block) {
        // read and write refuse the blocking mode
    }
}
