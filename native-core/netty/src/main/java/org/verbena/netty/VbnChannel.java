// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.AbstractChannel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.FileRegion;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.channel.socket.DuplexChannel;
import io.netty.util.internal.StringUtil;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.RejectedExecutionException;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.stream.VbnStream;

/**
 * A channel on the native core: one stream of bytes, over shared memory, RDMA or TCP as the core chooses. Connects to a
 * {@link VbnAddress}, or to the TCP address that a {@link VbnServerChannel} is bound to. Behaves as a socket channel does: half
 * closure, water marks, auto-read. What is written is copied; what the other side does not read stays here, above a window.
 */
public final class VbnChannel extends AbstractChannel implements DuplexChannel {
    /** What a pipeline is told beside its channel's states. */
    public enum Event {
        /** The TCP address that the channel connects to is asked for a connection or, over that, for a greeting. */
        ASKED,
        /** The TCP address that the channel connects to has answered with a greeting; its engine has yet to accept. */
        GREETED
    }

    private static final ChannelMetadata METADATA = new ChannelMetadata(false, 16);
    private static final int WRITE_BUFFERS = 1024;
    private static final long WRITE_BYTES = 1 << 20;

    private final VbnChannelConfig config = new VbnChannelConfig(this);
    private final VbnEventLoop home;
    private volatile VbnStream stream;
    private volatile SocketAddress local;
    private volatile SocketAddress remote;
    private volatile boolean active;
    private volatile boolean closed;
    private volatile boolean inputShutdown;
    private volatile boolean outputShutdown;
    // Event loop's thread:
    private ConnectAttempt attempt;
    private Peers.Use use;
    private boolean queued;
    private boolean readWanted;
    private boolean inputEnded;
    private boolean writeBlocked;
    private long bytesRead;

    /** Makes a channel to be connected. */
    public VbnChannel() {
        super(null);
        home = null;
    }

    /** A channel that a server has accepted. */
    VbnChannel(VbnServerChannel parent, VbnEventLoop home, VbnStream stream, SocketAddress local, SocketAddress remote) {
        super(parent);
        this.home = home;
        this.stream = stream;
        this.local = local;
        this.remote = remote;
        active = true;
    }

    /** The loop whose engine has accepted the stream; null for a client. */
    VbnEventLoop home() {
        return home;
    }

    /** Returns the other side's worker, which says how it is reached; null before the channel is connected. */
    public VbnPeer peer() {
        VbnStream used = stream;
        return used == null ? null : used.peer();
    }

    @Override
    public VbnChannelConfig config() {
        return config;
    }

    @Override
    public ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public VbnServerChannel parent() {
        return (VbnServerChannel) super.parent();
    }

    @Override
    public boolean isOpen() {
        return !closed;
    }

    @Override
    public boolean isActive() {
        return active;
    }

    @Override
    protected boolean isCompatible(EventLoop loop) {
        return loop instanceof VbnEventLoop && (home == null || home == loop);
    }

    @Override
    protected SocketAddress localAddress0() {
        return local;
    }

    @Override
    protected SocketAddress remoteAddress0() {
        return remote;
    }

    @Override
    protected AbstractUnsafe newUnsafe() {
        return new VbnUnsafe();
    }

    private VbnEventLoop loop() {
        return (VbnEventLoop) eventLoop();
    }

    // ------------------------------------------------------------------------------------------------ life

    @Override
    protected void doRegister() {
        loop().add(this);
        if (stream != null) {
            stream.onChange(changed -> wanted());
        }
    }

    @Override
    protected void doDeregister() {
        loop().remove(this);
    }

    @Override
    protected void doBind(SocketAddress address) {
        throw new UnsupportedOperationException("a client channel is not bound: give the local address to connect");
    }

    @Override
    protected void doDisconnect() {
        doClose();
    }

    @Override
    protected void doClose() {
        closed = true;
        active = false;
        if (attempt != null) {
            attempt.end();
            attempt = null;
        }
        if (stream != null) {
            if (config.resetsOnClose()) {
                stream.reset();
            } else {
                stream.close();
            }
        }
        if (use != null) {
            loop().peers().release(use);
            use = null;
        }
    }

    /** The stream has changed, or someone wants to read: looked at after this turn of the loop. Any thread. */
    private void wanted() {
        if (closed) {
            return;
        }
        VbnEventLoop loop = loop();
        if (!loop.inEventLoop()) {
            try {
                loop.execute(this::wanted);
            } catch (RejectedExecutionException e) {
                return; // the loop has closed this channel
            }
        } else if (!queued) {
            queued = true;
            loop.later(this);
        }
    }

    /** Event loop: does what has become possible. */
    void ready() {
        queued = false;
        if (closed || stream == null) {
            return;
        }
        if (attempt != null) {
            attempt.look(stream);
            if (!active) {
                return;
            }
        }
        if (writeBlocked && stream.isWritable()) {
            ((VbnUnsafe) unsafe()).flushBlocked();
        }
        if (closed) {
            return;
        }
        VbnException failure = stream.failure();
        // reading tells whether the end came before the failure
        boolean allRead = failure != null && bytesRead == stream.received();
        if (failure != null && inputEnded) {
            fail(failure);
        } else if (!inputEnded && (readWanted || inputShutdown || allRead) && stream.isReadable()) {
            read0();
        }
    }

    private void fail(Throwable cause) {
        pipeline().fireExceptionCaught(cause);
        unsafe().close(voidPromise());
    }

    // --------------------------------------------------------------------------------------------- connect

    /** For the attempt: opens the stream to a server. */
    void open(VbnAddress address, byte[] hello) throws VbnException {
        use = loop().peers().acquire(address.engine());
        stream = loop().streams().open(use.peer(), address.service(), hello);
        stream.onChange(changed -> wanted());
    }

    /** For the attempt: the server has accepted. */
    void connected(SocketAddress localEnd, SocketAddress remoteEnd, ChannelPromise promise) {
        attempt = null;
        local = localEnd;
        remote = remoteEnd;
        active = true;
        boolean told = promise.trySuccess();
        pipeline().fireChannelActive();
        if (!told) {
            unsafe().close(voidPromise());
        }
    }

    /** For the attempt: it has failed. */
    void notConnected(Throwable cause, ChannelPromise promise) {
        promise.tryFailure(cause);
        unsafe().close(voidPromise());
    }

    // ------------------------------------------------------------------------------------------------ read

    @Override
    protected void doBeginRead() {
        readWanted = true;
        if (!inputEnded) {
            wanted();
        }
    }

    /** Auto-read was switched off: what has not been read stays in the stream. Any thread. */
    void stopReading() {
        if (!isRegistered()) {
            readWanted = false;
        } else if (eventLoop().inEventLoop()) {
            readWanted = false;
        } else {
            eventLoop().execute(() -> readWanted = config.isAutoRead());
        }
    }

    @SuppressWarnings("deprecation") // Netty's own signatures name the handle's type
    private void read0() {
        if (inputShutdown) {
            discard();
            return;
        }
        RecvByteBufAllocator.Handle handle = unsafe().recvBufAllocHandle();
        handle.reset(config);
        boolean any = false;
        boolean ended = false;
        Throwable failure = null;
        try {
            do {
                int count = readOnce(handle);
                ended = count < 0;
                any |= count > 0;
            } while (handle.lastBytesRead() > 0 && !closed && !inputShutdown && handle.continueReading());
        } catch (VbnException | RuntimeException | OutOfMemoryError e) { // of the allocator: as Netty's own channels do
            failure = e;
        }
        if (any) {
            handle.readComplete();
            pipeline().fireChannelReadComplete();
        }
        if (closed) {
            return;
        }
        if (failure != null) {
            fail(failure);
        } else if (ended) {
            inputEnded();
        } else if (readWanted && stream.isReadable()) {
            wanted();
        }
    }

    /** Reads into one buffer and hands it to the pipeline; bytes, 0 or -1. */
    @SuppressWarnings("deprecation")
    private int readOnce(RecvByteBufAllocator.Handle handle) throws VbnException {
        ByteBuf buffer = handle.allocate(config.getAllocator());
        boolean passed = false;
        try {
            ByteBuffer space = buffer.internalNioBuffer(buffer.writerIndex(), buffer.writableBytes());
            handle.attemptedBytesRead(space.remaining());
            int count = stream.read(space);
            handle.lastBytesRead(count);
            if (count > 0) {
                bytesRead += count;
                buffer.writerIndex(buffer.writerIndex() + count);
                handle.incMessagesRead(1);
                readWanted = false;
                passed = true;
                pipeline().fireChannelRead(buffer);
            }
            return count;
        } finally {
            if (!passed) {
                buffer.release();
            }
        }
    }

    /** The input was shut down here: what still comes goes nowhere, so that the other side can go on writing. */
    private void discard() {
        ByteBuf buffer = null;
        try {
            buffer = alloc().directBuffer(1 << 16);
            ByteBuffer space = buffer.internalNioBuffer(0, buffer.capacity());
            int count;
            do {
                count = stream.read(space.clear());
                bytesRead += Math.max(count, 0);
            } while (count > 0);
            if (count < 0) {
                inputEnded = true;
            }
        } catch (VbnException | OutOfMemoryError e) {
            fail(e);
        } finally {
            if (buffer != null) {
                buffer.release();
            }
        }
    }

    private void inputEnded() {
        inputEnded = true;
        if (!config.isAllowHalfClosure()) {
            unsafe().close(voidPromise());
            return;
        }
        inputShutdown = true;
        ChannelPipeline pipeline = pipeline();
        pipeline.fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
        pipeline.fireUserEventTriggered(ChannelInputShutdownReadComplete.INSTANCE);
    }

    // ----------------------------------------------------------------------------------------------- write

    @Override
    protected Object filterOutboundMessage(Object message) {
        if (message instanceof ByteBuf || message instanceof FileRegion) {
            return message;
        }
        throw new UnsupportedOperationException("unsupported message type: " + StringUtil.simpleClassName(message)
            + " (expected: ByteBuf, FileRegion)");
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer out) throws Exception {
        writeBlocked = false;
        while (!writeBlocked && !out.isEmpty()) {
            if (out.current() instanceof FileRegion region) {
                writeRegion(out, region);
            } else {
                writeBuffers(out);
            }
        }
    }

    /** Many buffers leave together. */
    private void writeBuffers(ChannelOutboundBuffer out) throws VbnException {
        ByteBuffer[] buffers = out.nioBuffers(WRITE_BUFFERS, WRITE_BYTES);
        long size = out.nioBufferSize();
        long written = stream.write(buffers, out.nioBufferCount());
        out.removeBytes(written);
        writeBlocked = written < size;
    }

    private void writeRegion(ChannelOutboundBuffer out, FileRegion region) throws Exception {
        StreamOutput output = new StreamOutput(stream);
        if (region.transferred() < region.count()) {
            long written = region.transferTo(output, region.transferred());
            out.progress(Math.max(written, 0));
            if (written <= 0 && !output.isFull()) {
                throw new java.io.EOFException("the file ends " + (region.count() - region.transferred())
                    + " bytes before its region does: it was truncated");
            }
        }
        if (region.transferred() >= region.count()) {
            out.remove();
        } else {
            writeBlocked = output.isFull();
        }
    }

    // ---------------------------------------------------------------------------------------- half closure

    @Override
    protected void doShutdownOutput() {
        outputShutdown = true;
        if (stream != null) {
            stream.endOutput();
        }
    }

    @Override
    public boolean isInputShutdown() {
        return inputShutdown || closed;
    }

    @Override
    public boolean isOutputShutdown() {
        return outputShutdown || closed;
    }

    @Override
    public boolean isShutdown() {
        return isInputShutdown() && isOutputShutdown();
    }

    @Override
    public ChannelFuture shutdownInput() {
        return shutdownInput(newPromise());
    }

    @Override
    public ChannelFuture shutdownInput(ChannelPromise promise) {
        onLoop(() -> {
            inputShutdown = true;
            promise.trySuccess();
            wanted();
        });
        return promise;
    }

    @Override
    public ChannelFuture shutdownOutput() {
        return shutdownOutput(newPromise());
    }

    @Override
    public ChannelFuture shutdownOutput(ChannelPromise promise) {
        onLoop(() -> ((AbstractUnsafe) unsafe()).shutdownOutput(promise));
        return promise;
    }

    @Override
    public ChannelFuture shutdown() {
        return shutdown(newPromise());
    }

    @Override
    public ChannelFuture shutdown(ChannelPromise promise) {
        shutdownInput();
        return shutdownOutput(promise);
    }

    private void onLoop(Runnable task) {
        if (eventLoop().inEventLoop()) {
            task.run();
        } else {
            eventLoop().execute(task);
        }
    }

    private final class VbnUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remoteAddress, SocketAddress localAddress, ChannelPromise promise) {
            if (!promise.setUncancellable() || !ensureOpen(promise)) {
                return;
            }
            if (active || attempt != null) {
                promise.tryFailure(active ? new java.nio.channels.AlreadyConnectedException()
                    : new java.nio.channels.ConnectionPendingException());
                return;
            }
            attempt = new ConnectAttempt(VbnChannel.this, loop(), remoteAddress, localAddress, promise);
            attempt.begin(config.getConnectTimeoutMillis());
        }

        void flushBlocked() {
            super.flush0();
        }
    }
}
