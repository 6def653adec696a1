// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.verbena.core.Completion;
import org.verbena.core.Message;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;
import org.verbena.core.plugin.BufferBudget;

/**
 * The byte streams of one engine. Both sides use the same message id. Thread safe. To be closed before the engine.
 */
public final class VbnStreams implements AutoCloseable {
    /** Most bytes of a hello. */
    public static final int HELLO_MAX = 1024;
    private static final int SERVICES = 1 << 16;
    /** Most bytes that all peers of this host together are lent, without a budget of the caller's. */
    private static final long LENT_MAX = 64L << 20;

    private final VbnEngine engine;
    private final int messageId;
    private final StreamLimits limits;
    private final BufferBudget memory;
    private final Map<VbnPeer, PeerStreams> peers = new ConcurrentHashMap<>();
    private final Map<Integer, StreamService> services = new ConcurrentHashMap<>();
    private final LongAdder opened = new LongAdder();
    private final LongAdder accepted = new LongAdder();
    private final LongAdder refused = new LongAdder();
    private final LongAdder violations = new LongAdder();
    private final LongAdder sentFrames = new LongAdder();
    private final LongAdder sentMessages = new LongAdder();
    private final LongAdder sentBytes = new LongAdder();
    private final LongAdder receivedBytes = new LongAdder();
    private final LongAdder pulledBytes = new LongAdder();
    private final LongAdder lentBytes = new LongAdder();
    /** Messages whose sends have not completed. */
    private final AtomicLong sending = new AtomicLong();
    private volatile boolean closed;

    /**
     * Starts on an engine that stays the caller's.
     *
     * @param engine the engine
     * @param messageId the id of the streams' messages, 0 to 63, used for nothing else and the same at all peers
     * @param limits the bounds
     * @throws IllegalStateException when the engine is closed
     */
    public VbnStreams(VbnEngine engine, int messageId, StreamLimits limits) {
        this(engine, messageId, limits, new BufferBudget(Long.MAX_VALUE, limits.kept(), LENT_MAX));
    }

    /**
     * As {@link #VbnStreams(VbnEngine, int, StreamLimits)}, with memory that engines share. A stream that has its part waits until
     * its reader reads; each always gets a message and 128 KiB.
     *
     * @param engine the engine
     * @param messageId the id of the streams' messages, 0 to 63, used for nothing else and the same at all peers
     * @param limits the bounds of each stream; how much is kept, the budget says
     * @param memory the budget for bytes that wait to be sent or read, and for what peers of this host are lent
     * @throws IllegalStateException when the engine is closed
     */
    public VbnStreams(VbnEngine engine, int messageId, StreamLimits limits, BufferBudget memory) {
        this.engine = engine;
        this.messageId = messageId;
        this.limits = limits;
        this.memory = memory;
        engine.onMessage(messageId, this::receive);
    }

    /**
     * Offers a service to peers.
     *
     * @param number its number, 0 to 65535
     * @param service takes the streams; null ends the service, streams that stand go on
     */
    public void serve(int number, StreamService service) {
        checkService(number);
        if (service == null) {
            services.remove(number);
        } else {
            services.put(number, service);
        }
    }

    private static void checkService(int number) {
        if (number < 0 || number >= SERVICES) {
            throw new IllegalArgumentException("service " + number + " is not in 0.." + (SERVICES - 1));
        }
    }

    /**
     * Opens a stream. It takes bytes when the other side has accepted it; a refusal is a failure of the stream.
     *
     * @param peer the other side
     * @param service the number of its service
     * @param hello what the service gets with it, at most {@link #HELLO_MAX} bytes; copied
     * @return the stream, to be closed
     */
    public VbnStream open(VbnPeer peer, int service, byte[] hello) {
        return open(of(peer), service, hello, 0);
    }

    /**
     * As {@link #open}, but when the peer has accepted a stream of ours before, the new one takes bytes at once, as many as that
     * one did first. They are on their way while the other side decides; a refusal is a failure of the stream that
     * {@link VbnStream#isRefused} tells from others.
     *
     * @param peer the other side
     * @param service the number of its service
     * @param hello what the service gets with it, at most {@link #HELLO_MAX} bytes; copied
     * @return the stream, to be closed
     */
    public VbnStream openAtOnce(VbnPeer peer, int service, byte[] hello) {
        PeerStreams owner = of(peer);
        return open(owner, service, hello, owner.firstCredit());
    }

    private VbnStream open(PeerStreams owner, int service, byte[] hello, long allowed) {
        checkService(service);
        if (hello.length > HELLO_MAX) {
            throw new IllegalArgumentException("hello of " + hello.length + " bytes, at most " + HELLO_MAX);
        }
        VbnStream stream = owner.open(this, allowed);
        ByteBuffer data = ByteBuffer.allocateDirect(2 + hello.length).order(ByteOrder.LITTLE_ENDIAN)
            .putShort((short) service).put(hello).flip();
        opened.increment();
        int flags = StreamFrame.FLAG_OPENER | (allowed > 0 ? StreamFrame.FLAG_AT_ONCE : 0);
        StreamFrame frame = new StreamFrame(StreamFrame.OPEN, flags, stream.number(), limits.window());
        send(owner.peer(), frame.encode(), data, (error, bytes) -> {
            if (error != null) {
                notOpened(stream, error);
            }
        });
        if (closed) {
            stream.fail(ended());
        }
        return stream;
    }

    /**
     * The message did not go. When the peer is lost, that has a cause, which the message's failure does not tell, and which is
     * known when what has been received with it is handled.
     */
    private void notOpened(VbnStream stream, VbnException error) {
        if (stream.peer().lossCause() != null) {
            stream.fail(stream.peer().lossCause());
            return;
        }
        try {
            engine.execute(() -> stream.fail(stream.peer().lossCause() == null ? error : stream.peer().lossCause()));
        } catch (RejectedExecutionException e) {
            stream.fail(error); // the engine is closed
        }
    }

    private PeerStreams of(VbnPeer peer) {
        PeerStreams known = peers.get(peer);
        if (known != null) {
            return known;
        }
        PeerStreams added = peers.computeIfAbsent(peer, one -> new PeerStreams(this, one));
        peer.onLost((lost, cause) -> {
            PeerStreams gone = peers.remove(lost);
            if (gone != null) {
                gone.fail(cause);
            }
        });
        return added;
    }

    /** Returns the counters by name: streams, frames, those with data, bytes, refusals and violations since the start. */
    public Map<String, Long> counters() {
        Map<String, Long> all = new LinkedHashMap<>();
        all.put("stream.opened", opened.sum());
        all.put("stream.accepted", accepted.sum());
        all.put("stream.refused", refused.sum());
        all.put("stream.violations", violations.sum());
        all.put("stream.open", peers.values().stream().mapToLong(peer -> peer.all().size()).sum());
        all.put("stream.sent_frames", sentFrames.sum());
        all.put("stream.sent_messages", sentMessages.sum());
        all.put("stream.sent_bytes", sentBytes.sum());
        all.put("stream.received_bytes", receivedBytes.sum());
        all.put("stream.pulled_bytes", pulledBytes.sum());
        all.put("stream.lent_bytes", lentBytes.sum());
        return all;
    }

    /** Returns the engine that carries the streams. */
    public VbnEngine engine() {
        return engine;
    }

    /** Returns how many messages are on their way: the core, or the other side, still needs their bytes. */
    public long sending() {
        return sending.get();
    }

    /**
     * Waits for nothing, but says when the peers have received what was sent to them before; a peer that is lost counts as if
     * it had. Of large messages they may have the announcement only, see {@link #sending}.
     *
     * @param done runs once, on the engine's thread or on this one
     */
    public void flush(Runnable done) {
        List<VbnPeer> all = List.copyOf(peers.keySet());
        AtomicInteger left = new AtomicInteger(all.size() + 1);
        Completion one = (error, bytes) -> {
            if (left.decrementAndGet() == 0) {
                done.run();
            }
        };
        all.forEach(peer -> engine.flush(peer, one));
        one.complete(null, 0);
    }

    /** Fails all streams and takes no more; the engine stays. Idempotent. */
    @Override
    public void close() {
        closed = true;
        services.clear();
        peers.values().forEach(peer -> peer.fail(ended()));
    }

    private static VbnException ended() {
        return new VbnException(VbnStatus.CLOSED, "the streams of this process have ended");
    }

    // ------------------------------------------------------------------------------------------ engine's thread

    private void receive(Message message) {
        VbnStream stream = null;
        try {
            StreamFrame frame = StreamFrame.decode(message.header());
            if (frame.type() == StreamFrame.OPEN) {
                accept(frame, message);
                return;
            }
            PeerStreams peer = peers.get(message.peer());
            stream = peer == null ? null : peer.find(frame);
            if (stream != null) {
                stream.handle(frame, message);
                return;
            }
            if (peer != null) {
                withoutStream(peer, frame, message);
            }
        } catch (VbnException e) {
            violations.increment();
            if (stream != null) {
                stream.violated(e);
            }
        } catch (RuntimeException | Error e) {
            if (stream != null) {
                stream.broken(e);
            }
            drop(message);
            throw e; // the engine logs it
        }
        drop(message); // of a stream that was closed here, or nonsense
    }

    /** What concerns memory that one side lends the other; all else is of a stream that was closed here, or nonsense. */
    private void withoutStream(PeerStreams peer, StreamFrame frame, Message message) throws VbnException {
        switch (frame.type()) {
            case StreamFrame.LEND -> peer.lending().take(frame, message);
            case StreamFrame.MAPPED -> peer.lending().mapped();
            case StreamFrame.LENT -> unread(peer, frame, message);
            case StreamFrame.CREDIT -> {
                VbnStream owed = peer.findOwed(frame);
                if (owed != null) {
                    owed.handle(frame, message);
                }
            }
            default -> { }
        }
    }

    /** Bytes for a stream that was closed here: nobody reads them. */
    private void unread(PeerStreams peer, StreamFrame frame, Message message) {
        long end = frame.value() + BorrowedMemory.length(message.header());
        int flags = frame.isFromOpener() ? 0 : StreamFrame.FLAG_OPENER;
        if (end + limits.window() > 0) {
            send(peer.peer(), new StreamFrame(StreamFrame.CREDIT, flags, frame.stream(), end + limits.window()).encode(),
                null, null);
        }
    }

    private void drop(Message message) {
        if (message.remote() != null) {
            engine.drop(message.remote());
        }
    }

    private void accept(StreamFrame open, Message message) throws VbnException {
        int length = (int) Math.min(message.length(), Integer.MAX_VALUE);
        if (message.remote() != null || length < 2 || length > 2 + HELLO_MAX || !open.isFromOpener()) {
            throw new VbnException(VbnStatus.PROTOCOL, "malformed opening of a stream: " + length + " bytes");
        }
        ByteBuffer data = message.data().order(ByteOrder.LITTLE_ENDIAN);
        StreamService service = services.get(Short.toUnsignedInt(data.getShort()));
        VbnStream stream = service == null || closed ? null
            : of(message.peer()).accept(this, open, limits.streamsPerPeer());
        if (stream == null) {
            refuse(open, message.peer());
            return;
        }
        if (takes(service, stream, data, open)) {
            accepted.increment();
            if ((open.flags() & StreamFrame.FLAG_AT_ONCE) == 0) {
                stream.accept();
            }
        } else {
            stream.discard();
            refuse(open, message.peer());
        }
    }

    private boolean takes(StreamService service, VbnStream stream, ByteBuffer hello, StreamFrame open) {
        try {
            return service.accept(stream, hello);
        } catch (RuntimeException | Error e) {
            stream.discard();
            refuse(open, stream.peer());
            throw e; // the engine logs it
        }
    }

    private void refuse(StreamFrame open, VbnPeer peer) {
        refused.increment();
        send(peer, new StreamFrame(StreamFrame.RESET, 0, open.stream(), StreamFrame.REASON_REFUSED).encode(), null, null);
    }

    // ------------------------------------------------------------------------------------------- for the streams

    StreamLimits limits() {
        return limits;
    }

    /** Returns the budget of what waits to be sent or read. */
    public BufferBudget memory() {
        return memory;
    }

    void send(VbnPeer peer, ByteBuffer frame, ByteBuffer data, Completion done) {
        engine.send(peer, messageId, frame, data == null ? null : new ByteBuffer[] {data}, counted(done));
    }

    /** byRendezvous: the data waits here until the other side has memory for it. */
    void sendData(VbnPeer peer, ByteBuffer frame, ByteBuffer data, boolean byRendezvous, Completion done) {
        if (byRendezvous) {
            engine.sendRendezvous(peer, messageId, frame, new ByteBuffer[] {data}, counted(done));
        } else {
            send(peer, frame, data, done);
        }
    }

    private Completion counted(Completion done) {
        sending.incrementAndGet();
        sentFrames.increment();
        return (error, bytes) -> {
            sending.decrementAndGet();
            if (done != null) {
                done.complete(error, bytes);
            }
        };
    }

    /** Somebody's callback has thrown: the engine logs it. */
    void report(Throwable thrown) {
        try {
            engine.execute(() -> {
                throw new IllegalStateException("a listener of a stream threw " + thrown, thrown);
            });
        } catch (RejectedExecutionException e) {
            return; // the engine is closed
        }
    }

    void countSent(int bytes) {
        sentMessages.increment();
        sentBytes.add(bytes);
    }

    void countLent(int bytes) {
        lentBytes.add(bytes);
    }

    /** Takes so many bytes of what may be lent, or gives them back; false: there are not as many. */
    boolean lend(int bytes) {
        return memory.lend(bytes);
    }

    void countReceived(long bytes, boolean pulled) {
        receivedBytes.add(bytes);
        if (pulled) {
            pulledBytes.add(bytes);
        }
    }
}
