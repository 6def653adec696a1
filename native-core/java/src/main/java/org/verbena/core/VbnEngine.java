// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * A stage that owns one native worker and the one thread that drives it, which is its own or, with
 * {@link VbnContext#attachEngine}, the caller's; with {@link VbnContext#shareEngine} each thread that submits or waits drives it,
 * one at a time. Everything here may be called from any thread:
 * calls from outside go through a bounded queue, in order per calling thread; when it stays full for the time-out of
 * {@link VbnConfig#queue} the operation completes with {@link VbnStatus#LIMIT}. Calls on the engine's own thread never
 * wait. Callbacks (completions, handlers, listeners, tasks) run on the engine's thread and must not block; what they
 * throw is logged.
 *
 * <p>Buffers must be direct. Their bytes [position, limit) are used; neither position nor content may change until the
 * completion has run; the engine keeps them reachable.
 */
public final class VbnEngine implements AutoCloseable {
    /** Most bytes of a message header. */
    public static final int HEADER_MAX = 192;
    /** Message ids are 0 to MESSAGE_IDS - 1. */
    public static final int MESSAGE_IDS = 64;
    /** Most payload buffers of one message. */
    public static final int PARTS_MAX = 1024;

    private final VbnContext context;
    private final EngineQueue queue;
    private final EngineLoop loop;

    /** Who drives an engine. */
    enum Drive { OWN_THREAD, ATTACHED, SHARED, ATTACHED_SHARED }

    VbnEngine(VbnContext context, String name, Drive drive, TurnWork work) {
        this.context = context;
        loop = new EngineLoop(this, context, name, drive, work);
        queue = new EngineQueue(loop, context.queueCapacity(), context.queueTimeoutNanos());
    }

    void start() throws VbnException {
        loop.start(queue);
    }

    /** Returns the context that the engine belongs to. */
    public VbnContext context() {
        return context;
    }

    /** Returns the address blob that others {@link #connect} to; no secrets in it. */
    public byte[] address() {
        return loop.address().clone();
    }

    /** Returns the names of the transports that this engine has opened, in the order in which they are tried. */
    public List<String> transports() {
        return WorkerAddress.transports(loop.address());
    }

    /**
     * Sets the handler of a message id; messages of ids without handler are dropped. Waits for the engine when called
     * outside it.
     *
     * @param id 0 to 63
     * @param handler the handler, null removes it
     * @throws IllegalStateException when the engine is closed
     */
    public void onMessage(int id, MessageHandler handler) {
        if (id < 0 || id >= MESSAGE_IDS) {
            throw new IllegalArgumentException("message id " + id + " is not in 0.." + (MESSAGE_IDS - 1));
        }
        try {
            call(worker -> {
                loop.setHandler(id, handler);
                return null;
            });
        } catch (VbnException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    /**
     * Connects to the worker of an address, in the background: operations may be issued at once and wait. Connecting
     * again gives the same peer. Waits for the engine when called outside it.
     *
     * @param address what {@link #address} gave at the other side
     * @param listener told when the peer is lost, also when it cannot be reached; null for none
     * @return the peer, to be closed once per connect
     * @throws VbnException {@link VbnStatus#UNREACHABLE}, {@link VbnStatus#PROTOCOL} for a bad address,
     *     {@link VbnStatus#CLOSED}
     */
    public VbnPeer connect(byte[] address, PeerListener listener) throws VbnException {
        return call(worker -> loop.connect(address, listener));
    }

    /**
     * Runs a task on the engine's thread, soon and after what this thread issued before. Tasks that have not started
     * when the engine closes may be dropped.
     *
     * @param task the task, must not block
     * @throws RejectedExecutionException when the engine is closed or the queue stayed full
     */
    public void execute(Runnable task) {
        if (inEngine()) {
            loop.later(task);
        } else if (!queue.offer(task)) {
            throw new RejectedExecutionException(isClosed() ? "the engine is closed" : queue.fullText());
        }
    }

    /**
     * Drives an engine that {@link VbnContext#attachEngine} gave, once: runs what other threads submitted, moves what can
     * move, runs callbacks. When there was nothing to do for a while it sleeps, until there is, or {@link #wake} is called.
     *
     * @param maxWaitNanos longest sleep in nanoseconds, at most a second is taken; 0: none
     * @return false when the engine is closed, also by a callback of this turn; pending operations have completed then
     * @throws VbnException when the worker has failed; the engine is closed then
     * @throws IllegalStateException on any other thread than the one that attached it, and in a callback
     */
    public boolean turn(long maxWaitNanos) throws VbnException {
        return loop.turn(maxWaitNanos);
    }

    /**
     * Ends the sleep of {@link #turn}; without one, the next that would begin. What the caller has published before is seen by
     * the thread that returns from it. Any thread.
     */
    public void wake() {
        loop.wake();
    }

    /** True on the thread that drives the engine. */
    public boolean inEngine() {
        return loop.isMine();
    }

    /**
     * Does what there is to do, on the calling thread, if the engine is shared and no other thread is at it; else nothing.
     */
    public void help() {
        if (loop.seat() != null && !inEngine()) {
            loop.seat().serve();
        }
    }

    /**
     * Says that this thread, which has waited in {@link #park} or sent, will do neither soon: if the engine is shared, its own
     * thread sees to what comes next at once. Else a peer that begins something would wait a few milliseconds, as the engine
     * takes the thread for one that comes back.
     */
    public void attend() {
        if (loop.seat() != null) {
            loop.seat().attend();
        }
    }

    /**
     * Makes this thread the one that drives the engine, if it is shared and no other thread is at it; what the thread submits
     * then goes without a hand-over. To be followed soon by {@link #leave}, also after exceptions.
     *
     * @return false when it is not: another thread drives, or this one does already
     */
    public boolean enter() {
        return loop.seat() != null && loop.seat().enter();
    }

    /** After {@link #enter} gave true: does what there is to do, also others' work, and ends it. */
    public void leave() {
        loop.seat().leave();
    }

    /**
     * From now on only the thread that attached a shared engine drives it, which calls this, outside callbacks; others that
     * wait in {@link #park} leave it. For the time before {@link #close}. Idempotent.
     */
    public void keep() {
        if (loop.seat() != null) {
            loop.seat().keep();
        }
    }

    /**
     * Waits as {@link LockSupport#parkNanos(Object, long)} does: until {@link #unpark} is called for this thread, the time is over,
     * or for no reason; so it belongs into a loop. While it waits, the thread drives the engine, if it is shared and no other
     * does. An interrupt ends the wait only if whoever interrupts calls unpark, too, or the engine is not shared.
     *
     * @param ready not to wait when it gives true; who changes that calls unpark afterwards
     * @param nanos longest wait
     */
    public void park(BooleanSupplier ready, long nanos) {
        if (loop.seat() != null && !inEngine()) {
            loop.seat().await(ready, nanos);
        } else if (!ready.getAsBoolean()) {
            LockSupport.parkNanos(this, nanos);
        }
    }

    /**
     * Ends a wait in {@link #park}, or the next one.
     *
     * @param thread who waits; null and this thread itself are nobody
     */
    public void unpark(Thread thread) {
        if (loop.seat() != null) {
            loop.seat().wake(thread);
        } else {
            LockSupport.unpark(thread);
        }
    }

    /**
     * Sends an active message. It completes when its buffers may be used again: a small one when it is on its way, a
     * large one (setting proto.am_small_max) when the receiver has pulled or dropped it. Messages to one peer are
     * handled in the order they were sent.
     *
     * @param peer the receiver
     * @param id the message id, 0 to 63
     * @param header at most 192 bytes, copied; may be a heap buffer or null
     * @param payload direct buffers, sent one after the other; may be null
     * @param done told once; null when nobody wants to know
     */
    public void send(VbnPeer peer, int id, ByteBuffer header, ByteBuffer[] payload, Completion done) {
        send(PageLayout.PAGE_SEND, peer, id, header, payload, done);
    }

    /**
     * As {@link #send}, but the data waits here until the receiver has pulled or dropped it, also when it is small: who has
     * much to read already takes it when there is memory for it.
     *
     * @param peer the receiver
     * @param id the message id, 0 to 63
     * @param header at most 192 bytes, copied; may be a heap buffer or null
     * @param payload direct buffers, sent one after the other, at least one byte
     * @param done told once; null when nobody wants to know
     */
    public void sendRendezvous(VbnPeer peer, int id, ByteBuffer header, ByteBuffer[] payload, Completion done) {
        send(PageLayout.PAGE_SEND_RENDEZVOUS, peer, id, header, payload, done);
    }

    private void send(int kind, VbnPeer peer, int id, ByteBuffer header, ByteBuffer[] payload, Completion done) {
        if (id < 0 || id >= MESSAGE_IDS) {
            throw new IllegalArgumentException("message id " + id + " is not in 0.." + (MESSAGE_IDS - 1));
        }
        Operation op = loop.operation(kind, peer.handle, done);
        op.setHeader(id, header);
        op.setBuffers(payload);
        submit(op);
    }

    /**
     * Pulls all of a large message's data and ends it, except when the buffer is too small
     * ({@link VbnStatus#TRUNCATED}): then it can be pulled again or dropped.
     *
     * @param remote what came with the message
     * @param directDestination room for all of it
     * @param done told once
     */
    public void pull(RemoteData remote, ByteBuffer directDestination, Completion done) {
        transfer(PageLayout.PAGE_PULL, remote.handle, 0, directDestination, done);
    }

    /**
     * Ends a large message without its data.
     *
     * @param remote what came with the message
     */
    public void drop(RemoteData remote) {
        submit(loop.operation(PageLayout.PAGE_DROP, remote.handle, null));
    }

    /**
     * Reads from a peer's memory.
     *
     * @param key the memory's key
     * @param offset first byte in the key's range
     * @param directDestination takes as many bytes as it has remaining
     * @param done told once; {@link VbnStatus#STALE} when the owner has closed the memory
     */
    public void get(VbnKey key, long offset, ByteBuffer directDestination, Completion done) {
        transfer(PageLayout.PAGE_GET, key.handle, offset, directDestination, done);
    }

    /**
     * Writes to a peer's memory; complete when the data is visible there.
     *
     * @param key the memory's key, exported writable
     * @param offset first byte in the key's range
     * @param directSource the bytes
     * @param done told once
     */
    public void put(VbnKey key, long offset, ByteBuffer directSource, Completion done) {
        Operation op = loop.operation(PageLayout.PAGE_PUT, key.handle, done);
        op.offset = offset;
        op.setBuffer(directSource);
        submit(op);
    }

    private void transfer(int kind, long handle, long offset, ByteBuffer destination, Completion done) {
        if (destination.isReadOnly()) {
            throw new IllegalArgumentException("the destination is a read-only buffer");
        }
        Operation op = loop.operation(kind, handle, done);
        op.offset = offset;
        op.setBuffer(destination);
        submit(op);
    }

    /**
     * Makes a key usable towards the peer that owns the memory. Waits for the engine when called outside it.
     *
     * @param peer the memory's owner
     * @param blob what {@link VbnMemory#exportKey} gave there
     * @return the key, to be closed
     * @throws VbnException {@link VbnStatus#PROTOCOL} for a bad blob, {@link VbnStatus#STALE}, {@link VbnStatus#CLOSED}
     */
    public VbnKey importKey(VbnPeer peer, byte[] blob) throws VbnException {
        return call(worker -> {
            long handle = VbnException.checkHandle(Native.keyImport(worker, peer.handle, blob));
            return new VbnKey(this, handle);
        });
    }

    /**
     * Completes when everything sent to the peer before has been received and all earlier puts are visible.
     *
     * @param peer the peer
     * @param done told once
     */
    public void flush(VbnPeer peer, Completion done) {
        submit(loop.operation(PageLayout.PAGE_FLUSH, peer.handle, done));
    }

    /**
     * Ends the engine: pending operations complete with {@link VbnStatus#CLOSED}, peers and keys go. Waits for the thread
     * that drives it to do so, unless called on it. Idempotent.
     */
    @Override
    public void close() {
        loop.close();
        if (!inEngine()) {
            loop.join();
        }
    }

    boolean isClosed() {
        return loop.isTerminated();
    }

    /** How often its thread has called native code, but for connecting and the like. */
    long polls() {
        return loop.polls();
    }

    /** True when a shared engine's own thread sees to what comes, or is about to. */
    boolean willAttend() {
        return loop.seat() != null && loop.seat().willAttend();
    }

    void submit(Operation op) {
        if (inEngine()) {
            loop.issue(op);
        } else if (!queue.offer(op)) {
            queue.refuse(op);
        }
    }

    void closePeer(VbnPeer peer) {
        submit(loop.operation(PageLayout.PAGE_PEER_CLOSE, peer.handle, null));
    }

    void closeKey(VbnKey key) {
        submit(loop.operation(PageLayout.PAGE_KEY_RELEASE, key.handle, null));
    }

    /** The key's mapping when it is mapped, else null. */
    Mapping map(VbnKey key) {
        try {
            return call(worker -> {
                context.retain();
                long handle = Native.keyMap(worker, key.handle);
                if (handle == 0) {
                    context.release();
                    return null;
                }
                return context.adopt(new Mapping(context, handle, true));
            });
        } catch (VbnException e) {
            return null;
        }
    }

    /** What {@link #call} runs on the engine's thread. */
    @FunctionalInterface
    interface Call<T> {
        T run(long worker) throws VbnException;
    }

    /** Runs something on the engine's thread and waits for its result. */
    <T> T call(Call<T> call) throws VbnException {
        if (inEngine()) {
            return call.run(loop.worker());
        }
        EngineCall<T> task = new EngineCall<>(loop, call);
        if (!queue.offer(task)) {
            throw new VbnException(isClosed() ? VbnStatus.CLOSED : VbnStatus.LIMIT,
                isClosed() ? "the engine is closed" : queue.fullText());
        }
        return task.await();
    }
}
