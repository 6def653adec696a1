// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.ArrayDeque;
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
    private final Callbacks callbacks;
    private final Operations operations;
    private final Peers peers;
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private final SleepFlag asleep = new SleepFlag();
    /** A wake-up that no sleep has seen; set by any thread before it looks at the flag, as other work is published. */
    private volatile boolean woken;
    /** A turn or the shutdown runs, or has run: callbacks begin no other. */
    private boolean inTurn;
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
        callbacks = new Callbacks(context, name);
        operations = new Operations(context, page, this::isMine, callbacks);
        peers = new Peers(engine, page, callbacks);
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
        return operations.make(kind, handle, done);
    }

    /** Engine thread, or any after the engine has ended. */
    @Override
    public void fail(Operation op, VbnStatus status, String text) {
        operations.fail(op, status, text);
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
                Thread.interrupted(); // a callback has left it, and no park would wait from then on
            }
        } catch (VbnException | RuntimeException | Error e) {
            failed(e);
        } finally {
            end();
        }
    }

    /** The worker is of no use any more; the engine's own thread closes it. */
    void failed(Throwable cause) {
        context.log(VbnLog.ERROR, "engine " + name + " ends: " + (cause instanceof VbnException ? cause.getMessage() : cause));
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
        return !operations.waits();
    }

    /** True when what happens from now on ends a sleep; false: there is something to do. */
    boolean arm() throws VbnException {
        if (!tasks.isEmpty() || operations.waits() || page.hasCommands() || work != null && work.waits()) {
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
            callbacks.failed("the work of a turn", e);
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
        } catch (VbnException | RuntimeException | Error e) {
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
        dispatch(events);
        return events;
    }

    private void sleep(long nanos) throws VbnException {
        asleep.raise();
        if (woken || closing || !queue.isEmpty() || !tasks.isEmpty() || operations.waits() || page.hasCommands()) {
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
        dispatch(events);
    }

    private int drain() {
        int work = 0;
        for (int i = tasks.size(); i > 0; i--, work++) {
            callbacks.run("task", tasks.poll());
        }
        for (Operation op = queue.pollRefused(); op != null; op = queue.pollRefused(), work++) {
            fail(op, VbnStatus.LIMIT, queue.fullText());
        }
        // With operations still waiting for the ring, what other threads bring has to wait in the bounded queue.
        for (int i = 0; i < DRAIN_MAX && !operations.waits(); i++, work++) {
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
            callbacks.run("task", (Runnable) item);
        }
    }

    void later(Runnable task) {
        tasks.add(task);
    }

    void issue(Operation op) {
        if (terminated || closing) {
            fail(op, VbnStatus.CLOSED, "the engine is closed");
        } else {
            operations.issue(op);
        }
    }

    private void dispatch(int events) {
        for (int i = 0; i < events; i++) {
            try {
                dispatchOne(i);
            } catch (RuntimeException | Error e) { // such as a full heap: the others are of other operations and peers
                callbacks.failed("an event", e);
            }
        }
        operations.issueWaiting();
    }

    private void dispatchOne(int i) {
        switch (page.kind(i)) {
            case PageLayout.EVENT_OP -> operations.completed(i);
            case PageLayout.EVENT_MESSAGE -> peers.received(i);
            case PageLayout.EVENT_PEER_LOST -> peers.lost(i);
            default -> context.drainLog();
        }
    }

    VbnPeer connect(byte[] remoteAddress, PeerListener listener) throws VbnException {
        return peers.connect(worker, remoteAddress, listener);
    }

    void setHandler(int id, MessageHandler handler) throws VbnException {
        if (closing) {
            throw new VbnException(VbnStatus.CLOSED, "the engine is closed");
        }
        peers.setHandler(worker, id, handler);
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
        operations.failAll(VbnStatus.CLOSED, "the engine was closed while it was pending");
        terminated = true;
        queue.refuseAll();
        context.forget(engine);
        ended.countDown();
    }
}
