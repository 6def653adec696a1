// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What drives an engine: takes the queue, hands commands to native code, dispatches completions, spins a little, sleeps; on a
 * thread of its own or, turn by turn, on the one that has attached the engine, or on those that share it ({@link EngineSeat}).
 * Fields belong to that thread unless they are volatile or final.
 */
final class EngineLoop implements Runnable, EngineQueue.Owner {
    private static final int DRAIN_MAX = 256;
    private static final long SLEEP_NANOS = 1_000_000_000L;
    private static final long JOIN_MILLIS = 60_000;
    private static final int SPARE_OPERATIONS = 1024;

    private final VbnEngine engine;
    private final VbnContext context;
    private final String name;
    /** Who drives the engine: its own thread, or the one that has attached it. */
    private final Thread thread;
    private final boolean attached;
    /** Of an engine that many threads drive, else null. */
    private final EngineSeat seat;
    /** What those threads do besides, or null. */
    private final TurnWork work;
    private final CompletableFuture<Void> started = new CompletableFuture<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final Page page = new Page();
    private final InFlight inFlight = new InFlight();
    private final Message message = new Message(page);
    private final MessageHandler[] handlers = new MessageHandler[VbnEngine.MESSAGE_IDS];
    /** Operations that found the ring or the table full, in order. */
    private final ArrayDeque<Operation> pending = new ArrayDeque<>();
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private final ArrayDeque<Operation> spare = new ArrayDeque<>();
    private final SleepFlag asleep = new SleepFlag();
    /** A wake-up that no sleep has seen; set by any thread before it looks at the flag, as other work is published. */
    private volatile boolean woken;
    /** A turn or the shutdown runs, or has run: callbacks begin no other. */
    private boolean inTurn;
    /** By the index in the handle. */
    private VbnPeer[] peers = new VbnPeer[16];
    private EngineQueue queue;
    private Idle idle;
    private long worker;
    private volatile byte[] address;
    private volatile boolean closing;
    private volatile boolean terminated;
    /** Calls of Native.poll; only the engine's thread writes. */
    private final AtomicLong polls = new AtomicLong();

    EngineLoop(VbnEngine engine, VbnContext context, String name, VbnEngine.Drive drive, TurnWork work) {
        this.engine = engine;
        this.context = context;
        this.name = name;
        this.work = work;
        this.attached = drive == VbnEngine.Drive.ATTACHED || drive == VbnEngine.Drive.ATTACHED_SHARED;
        thread = attached ? Thread.currentThread() : new Thread(this, name);
        if (!attached) {
            thread.setDaemon(true);
        }
        boolean shared = drive == VbnEngine.Drive.SHARED || drive == VbnEngine.Drive.ATTACHED_SHARED;
        seat = shared ? new EngineSeat(this, work) : null;
    }

    // ------------------------------------------------------------------------------------------ any thread

    void start(EngineQueue engineQueue) throws VbnException {
        queue = engineQueue;
        if (attached) {
            open();
            return;
        }
        thread.start();
        try {
            started.get();
        } catch (ExecutionException e) {
            VbnException failure = (VbnException) e.getCause();
            throw new VbnException(failure.kind(), failure.text(), failure);
        } catch (InterruptedException e) {
            close();
            Thread.currentThread().interrupt();
            throw new VbnException(VbnStatus.CLOSED, "interrupted while the engine started");
        }
    }

    Thread thread() {
        return thread;
    }

    /** Null unless many threads drive the engine. */
    EngineSeat seat() {
        return seat;
    }

    /** True on the thread that drives the engine now. */
    boolean isMine() {
        return seat == null ? Thread.currentThread() == thread : seat.isMine();
    }

    byte[] address() {
        return address;
    }

    long polls() {
        return polls.getOpaque();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public boolean isTerminated() {
        return terminated;
    }

    /** The worker's handle; 0 before the thread has made it and after it has ended. */
    long worker() {
        return worker;
    }

    void close() {
        closing = true;
        if (seat == null) {
            wakeIfAsleep();
        } else {
            seat.callAll();
        }
        if (attached && Thread.currentThread() == thread && !inTurn && !terminated) {
            end();
        }
    }

    private void end() {
        if (seat == null) {
            shutDown();
        } else {
            seat.end(this::shutDown);
        }
    }

    void join() {
        boolean interrupted = false;
        long deadline = System.nanoTime() + JOIN_MILLIS * 1_000_000;
        while (ended.getCount() > 0 && System.nanoTime() < deadline) {
            try {
                ended.await(JOIN_MILLIS, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (ended.getCount() > 0) {
            context.log(VbnLog.ERROR, "engine " + name + " did not end within " + JOIN_MILLIS + " ms: "
                + (attached ? "thread " + thread.getName() + " does not drive it" : "a callback blocks it"));
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void wakeIfAsleep() {
        if (work != null) {
            seat.attract(); // who brings something need not be one who may do others' work
        } else if (seat != null) {
            seat.serve();
        } else if (asleep.mustWake()) {
            Native.workerWake(worker);
        }
    }

    void wake() {
        woken = true;
        wakeIfAsleep();
    }

    /** An operation object: a used one on the engine's thread, else a new one. */
    Operation operation(int kind, long handle, Completion done) {
        Operation op = isMine() ? spare.pollLast() : null;
        return (op == null ? new Operation() : op).set(kind, handle, done);
    }

    /** Engine thread, or any after the engine has ended. */
    @Override
    public void fail(Operation op, VbnStatus status, String text) {
        finish(op, new VbnException(status, op.describe() + ": " + text), 0);
    }

    // --------------------------------------------------------------------------------------- engine thread

    @Override
    public void run() {
        try {
            open();
        } catch (VbnException e) {
            started.completeExceptionally(e);
            return;
        }
        started.complete(null);
        try {
            while (!closing) {
                pass(SLEEP_NANOS);
            }
        } catch (VbnException e) {
            failed(e);
        } finally {
            end();
        }
    }

    /** The worker is of no use any more; the engine's own thread closes it. */
    void failed(VbnException cause) {
        context.log(VbnLog.ERROR, "engine " + name + " ends: " + cause.getMessage());
        close();
    }

    boolean isClosing() {
        return closing;
    }

    /** The thread that drives the engine is the caller's. */
    boolean isAttached() {
        return attached;
    }

    /** Any thread. */
    boolean hasQueued() {
        return !queue.isEmpty() || work != null && work.waits();
    }

    /** False while operations wait for native code to take earlier ones. */
    boolean takesMore() {
        return pending.isEmpty();
    }

    /** True when what happens from now on ends a sleep; false: there is something to do. */
    boolean arm() throws VbnException {
        if (!tasks.isEmpty() || !pending.isEmpty() || page.hasCommands() || work != null && work.waits()) {
            return false;
        }
        int armed = Native.workerArm(worker);
        VbnException.check(armed);
        return armed == 1;
    }

    /** Moves what can move, without waiting; how much there was. */
    int step() throws VbnException {
        return drain() + poll(0) + (work == null ? 0 : runWork());
    }

    private int runWork() {
        try {
            return work.run() ? 1 : 0;
        } catch (Throwable e) { // as a callback
            callbackFailed("the work of a turn", e);
            return 0;
        }
    }

    private void open() throws VbnException {
        try {
            worker = VbnException.checkHandle(
                Native.workerCreate(context.handle(), page.bytes, Page.SLOTS, Page.EVENTS, Page.RECEIVE_BYTES));
            address = Native.workerAddress(worker);
            if (address == null) {
                throw VbnException.last();
            }
            if (seat != null) {
                VbnException.check(Native.workerShare(worker));
            }
            idle = new Idle(context.settingNumber("progress.spin"));
        } catch (VbnException | RuntimeException e) {
            if (worker != 0) {
                Native.workerDestroy(worker);
            }
            terminated = true;
            ended.countDown();
            throw e instanceof VbnException known ? known : new VbnException(VbnStatus.INVALID, e.toString(), e);
        }
    }

    /** What the thread of an attached engine calls again and again; false when the engine is closed. */
    boolean turn(long maxWaitNanos) throws VbnException {
        if (terminated) {
            return false;
        }
        if (!attached || Thread.currentThread() != thread || inTurn) {
            throw new IllegalStateException("engine " + name + " is driven by "
                + (attached ? "thread " + thread.getName() + ", outside callbacks" : "a thread of its own"));
        }
        inTurn = true;
        try {
            if (!closing) {
                pass(maxWaitNanos);
            }
        } catch (VbnException | RuntimeException e) {
            closing = true;
            throw e;
        } finally {
            inTurn = false;
            if (closing) {
                end();
            }
        }
        return !closing;
    }

    /** Moves what can move; sleeps when nothing could for a while. */
    private void pass(long maxWaitNanos) throws VbnException {
        if (seat != null) {
            seat.pass(maxWaitNanos);
        } else if (step() > 0) {
            idle.worked();
        } else if (maxWaitNanos > 0 && !idle.spin()) {
            sleep(Math.min(maxWaitNanos, SLEEP_NANOS));
        }
    }

    private int callPoll(long waitNanos) {
        polls.setOpaque(polls.getPlain() + 1);
        return Native.poll(worker, Page.EVENTS, waitNanos);
    }

    private int poll(long waitNanos) throws VbnException {
        int events = callPoll(waitNanos);
        VbnException.check(events);
        for (int i = 0; i < events; i++) {
            dispatch(i);
        }
        issuePending();
        return events;
    }

    private void sleep(long nanos) throws VbnException {
        asleep.raise();
        if (woken || closing || !queue.isEmpty() || !tasks.isEmpty() || !pending.isEmpty() || page.hasCommands()) {
            asleep.lower();
            woken = false;
            return;
        }
        long start = System.nanoTime();
        int events = callPoll(nanos);
        asleep.lower();
        woken = false;
        VbnException.check(events);
        idle.slept(System.nanoTime() - start);
        for (int i = 0; i < events; i++) {
            dispatch(i);
        }
        issuePending();
    }

    private int drain() {
        int work = 0;
        for (int i = tasks.size(); i > 0; i--, work++) {
            runGuarded(tasks.poll());
        }
        for (Operation op = queue.pollRefused(); op != null; op = queue.pollRefused(), work++) {
            fail(op, VbnStatus.LIMIT, queue.fullText());
        }
        // With operations still waiting for the ring, what other threads bring has to wait in the bounded queue.
        for (int i = 0; i < DRAIN_MAX && pending.isEmpty(); i++, work++) {
            Object item = queue.poll();
            if (item == null) {
                break;
            }
            take(item);
        }
        return work;
    }

    private void take(Object item) {
        if (item instanceof Operation op) {
            issue(op);
        } else {
            runGuarded((Runnable) item);
        }
    }

    void later(Runnable task) {
        tasks.add(task);
    }

    void issue(Operation op) {
        if (terminated || closing) {
            fail(op, VbnStatus.CLOSED, "the engine is closed");
        } else if (!pending.isEmpty() || !write(op)) {
            pending.add(op);
        }
    }

    private void issuePending() {
        while (!pending.isEmpty() && write(pending.peek())) {
            pending.remove();
        }
    }

    private boolean write(Operation op) {
        if (!op.hasCompletion()) {
            if (!page.submit(op, 0)) {
                return false;
            }
            recycle(op);
            return true;
        }
        long token = inFlight.add(op);
        if (token == 0) {
            return false;
        }
        if (!page.submit(op, token)) {
            inFlight.remove(token);
            return false;
        }
        return true;
    }

    private void dispatch(int index) {
        switch (page.kind(index)) {
            case PageLayout.EVENT_OP -> completed(index);
            case PageLayout.EVENT_MESSAGE -> received(index);
            case PageLayout.EVENT_PEER_LOST -> lost(index);
            default -> context.drainLog();
        }
    }

    private void completed(int index) {
        Operation op = inFlight.remove(page.token(index));
        if (op == null) {
            context.log(VbnLog.ERROR, "completion of an operation that does not exist: token " + page.token(index));
            return;
        }
        int status = page.status(index);
        finish(op, status >= 0 ? null : failure(VbnStatus.of(status), op.describe(), page.text(index)),
            status >= 0 ? page.length(index) : 0);
    }

    private static VbnException failure(VbnStatus status, String what, byte[] text) {
        String cause = text.length == 0 ? status.text() : new String(text, StandardCharsets.UTF_8);
        return new VbnException(status, what + ": " + cause);
    }

    private void finish(Operation op, VbnException error, long length) {
        Completion done = op.done;
        if (isMine()) {
            recycle(op);
        }
        if (done != null) {
            try {
                done.complete(error, length);
            } catch (Throwable e) { // a callback must not end the engine
                callbackFailed("completion", e);
            }
        }
    }

    private void recycle(Operation op) {
        op.clear();
        if (spare.size() < SPARE_OPERATIONS) {
            spare.addLast(op);
        }
    }

    private void received(int index) {
        VbnPeer peer = peer(page.peer(index), page.uid(index));
        MessageHandler handler = handlers[(int) page.token(index)];
        Message filled = message.fill(index, peer);
        if (handler == null) {
            if (filled.remote() != null) {
                engine.drop(filled.remote());
            }
            return;
        }
        try {
            handler.handle(filled);
        } catch (Throwable e) {
            callbackFailed("message handler " + page.token(index), e);
        }
    }

    private void lost(int index) {
        VbnPeer peer = peer(page.peer(index), page.uid(index));
        VbnException cause = failure(VbnStatus.of(page.status(index)), peer.toString(), page.text(index));
        peers[(int) peer.handle] = null;
        for (PeerListener listener : peer.markLost(cause)) {
            try {
                listener.lost(peer, cause);
            } catch (Throwable e) {
                callbackFailed("peer listener", e);
            }
        }
    }

    private VbnPeer peer(long handle, long uid) {
        int index = (int) handle;
        if (index >= peers.length) {
            peers = Arrays.copyOf(peers, Math.max(index + 1, peers.length * 2));
        }
        if (peers[index] == null || peers[index].handle != handle) {
            peers[index] = new VbnPeer(engine, handle, uid);
        }
        return peers[index];
    }

    VbnPeer connect(byte[] remoteAddress, PeerListener listener) throws VbnException {
        long handle = VbnException.checkHandle(Native.peerConnect(worker, remoteAddress));
        VbnPeer peer = peer(handle, Native.peerUid(worker, handle));
        peer.connected();
        if (listener != null) {
            peer.onLost(listener);
        }
        return peer;
    }

    void setHandler(int id, MessageHandler handler) throws VbnException {
        if (closing) {
            throw new VbnException(VbnStatus.CLOSED, "the engine is closed");
        }
        VbnException.check(Native.workerHandler(worker, id, handler != null));
        handlers[id] = handler;
    }

    private void runGuarded(Runnable task) {
        try {
            task.run();
        } catch (Throwable e) {
            callbackFailed("task", e);
        }
    }

    private void callbackFailed(String what, Throwable e) {
        StackTraceElement[] trace = e.getStackTrace();
        context.log(VbnLog.ERROR, what + " on engine " + name + " threw " + e
            + (trace.length > 0 ? " at " + trace[0] : ""));
    }

    private void shutDown() {
        closing = true;
        inTurn = true;
        for (Object item = queue.poll(); item != null; item = queue.poll()) {
            take(item);
        }
        // From here native code does not touch any buffer.
        if (Native.workerDestroy(worker) < 0) {
            context.log(VbnLog.ERROR, "worker not destroyed: " + VbnException.last().getMessage());
        }
        worker = 0;
        for (long token = 1; token <= inFlight.highest(); token++) {
            Operation op = inFlight.remove(token);
            if (op != null) {
                fail(op, VbnStatus.CLOSED, "the engine was closed while it was pending");
            }
        }
        while (!pending.isEmpty()) {
            fail(pending.poll(), VbnStatus.CLOSED, "the engine was closed while it was pending");
        }
        terminated = true;
        queue.refuseAll();
        context.forget(engine);
        ended.countDown();
    }
}
