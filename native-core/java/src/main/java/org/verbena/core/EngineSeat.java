// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Lets many threads drive one engine in turn, so that who sends or waits needs no other thread's help: that would cost two
 * switches of a processor for each message.
 *
 * <ul>
 * <li>Who has something for the engine, or waits for it, takes the seat if it is free, and does what there is to do: its own
 *     and others' work. Who finds it taken leaves the work to the one who sits there and looks at the queue once more
 *     after getting up.
 * <li>Of those who wait, one is the sleeper, on the worker's descriptor; the others are parked until somebody's turn has
 *     brought what they wait for. A turn ends with the worker armed when there is a sleeper.
 * <li>A sleeper that leaves does not look for a successor: it mostly comes back within microseconds. Meanwhile peers need
 *     not wake us, and the engine's own thread looks every {@link #LOOK_NANOS}, less often while it finds nothing. It does so
 *     while callers are active; then it is the sleeper itself, or rests while one of them is. A caller that knows that it will
 *     not come back says so by {@link #attend}: what comes next would wait for a look.
 * <li>With {@link TurnWork}, each turn does that, too, and the engine's own thread sees to its time. Then only those drive who
 *     enter or wait here; others leave what they bring to them.
 * </ul>
 */
final class EngineSeat {
    private static final long LOOK_NANOS = 1_000_000;
    /** Between looks that find nothing: twice as long each time, up to this. */
    private static final long LOOK_NANOS_MAX = 4_000_000;
    private static final long REST_NANOS = 1_000_000_000L;
    /** Looks without a caller's turn, after which the callers count as gone. */
    private static final int QUIET_LOOKS = 4;
    /** Steps of one turn: others' work does not hold a caller for ever. */
    private static final int STEPS = 64;
    private static final int ARM_TRIES = 16;
    /** Numbers of sleepers for native code. */
    private static final int ENGINE = 0;
    private static final int CALLER = 1;

    /** What the engine's own thread does. */
    private enum Mode {
        /** It is the sleeper. */
        ATTENDS,
        /** Callers are active; it looks now and then whether something was left. */
        LOOKS,
        /** A caller is the sleeper and nothing happens. */
        RESTS
    }

    private final EngineLoop loop;
    private final TurnWork work;
    private final ReentrantLock seat = new ReentrantLock();
    private final AtomicReference<Thread> sleeper = new AtomicReference<>();
    /** Callers that are about to sleep, sleep, or get up. */
    private final AtomicInteger sleeping = new AtomicInteger();
    /** The caller that sleeps was called and has not got up. */
    private final AtomicBoolean called = new AtomicBoolean();
    private volatile Mode mode = Mode.ATTENDS;
    /** The engine's own thread is to be the sleeper, although callers were active. */
    private volatile boolean wanted;
    /** The engine's own thread has the seat for good. */
    private volatile boolean kept;
    /** When the work has to be done although nothing comes, a time of System.nanoTime; written with the seat. */
    private volatile long due = System.nanoTime();
    /** Written with the seat. */
    private volatile long callerTurns;
    /** Turns of the engine's own thread that found something to do; written with the seat. */
    private volatile long finds;
    /** Whom native code takes for the worker's thread; guarded by the seat. */
    private Thread owner;
    /** Of the engine's own thread. */
    private long turnsSeen;
    private int quietLooks;
    private long lookNanos = LOOK_NANOS;

    /** work: may be null. */
    EngineSeat(EngineLoop loop, TurnWork work) {
        this.loop = loop;
        this.work = work;
        owner = loop.thread();
    }

    /** True when this thread drives the engine: it is inside a callback. */
    boolean isMine() {
        return seat.isHeldByCurrentThread();
    }

    // -------------------------------------------------------------------------------------------- any thread

    /** Does what there is to do, unless another thread is at it, which then sees what was published before this call. */
    void serve() {
        boolean more = true;
        while (more && seat.tryLock()) {
            try {
                more = turn();
            } finally {
                rise();
            }
            more &= loop.hasQueued() && !loop.isClosing(); // volatile reads, after the seat was given up: see tryLock
        }
    }

    /** Takes the seat, if it is free and not this thread's; {@link #leave} is to follow. */
    boolean enter() {
        if (kept || seat.isHeldByCurrentThread() || !seat.tryLock()) {
            return false;
        }
        if (loop.isClosing()) {
            seat.unlock();
            return false;
        }
        takeOver();
        return true;
    }

    /** Does what there is to do, and gives the seat up. */
    void leave() {
        boolean more = false;
        try {
            more = turn();
        } finally {
            rise();
        }
        if (more && loop.hasQueued() && !loop.isClosing()) {
            serve();
        }
    }

    /** Something was published, which this thread does not do. */
    void attract() {
        VarHandle.fullFence(); // before the look at who is there: who gives the seat up looks for work afterwards
        if (sleeper.get() != null) {
            callSleeper();
        } else if (!seat.isLocked()) {
            LockSupport.unpark(loop.thread());
        }
    }

    /** With the seat. False when the queue has to wait for space. */
    private boolean turn() {
        if (loop.isClosing()) {
            return false;
        }
        takeOver();
        try {
            int steps = 0;
            while (steps < STEPS && loop.step() > 0) {
                steps++;
            }
            if (owner != loop.thread()) {
                callerTurns++; // with the seat: no other thread writes
            } else if (steps > 0) {
                finds++;
            }
        } catch (VbnException e) {
            loop.failed(e);
            return false;
        }
        return loop.takesMore();
    }

    private void takeOver() {
        Thread me = Thread.currentThread();
        if (owner != me) {
            Native.workerTake(loop.worker());
            owner = me;
        }
    }

    /** Gives the seat up, the worker armed for the sleeper. */
    private void rise() {
        boolean armed = false;
        try {
            for (int i = 0; i < ARM_TRIES && !armed && sleeper.get() != null && !loop.isClosing(); i++) {
                armed = loop.arm();
                if (!armed) {
                    loop.step();
                }
            }
            if (work != null) {
                plan();
            }
        } catch (VbnException e) {
            loop.failed(e);
        } finally {
            seat.unlock();
        }
        if (!armed) {
            callSleeper();
        }
    }

    private void plan() {
        long next = System.nanoTime() + work.delayNanos();
        boolean earlier = next - due < -LOOK_NANOS;
        due = next;
        if (earlier && Thread.currentThread() != loop.thread()) {
            callEngine();
        }
    }

    private void callSleeper() {
        Thread one = sleeper.get();
        if (one == loop.thread()) {
            Native.workerCall(loop.worker(), ENGINE);
        } else if (one != null && !called.getAndSet(true)) {
            Native.workerCall(loop.worker(), CALLER);
        }
    }

    /**
     * Waits, as {@link LockSupport#parkNanos(Object, long)} does: until {@link #wake}, an interrupt that calls it, the time is
     * over, or for no reason. Drives the engine meanwhile, if nobody else does.
     *
     * @param ready not to wait when this is true; whoever changes that calls wake afterwards
     */
    void await(BooleanSupplier ready, long nanos) {
        Thread me = Thread.currentThread();
        Thread now = sleeper.get();
        boolean open = !loop.isClosing() && !kept;
        if (open && (now == null || now == loop.thread()) && sleeper.compareAndSet(now, me)) {
            sleeping.incrementAndGet();
            try {
                if (!kept) { // else the engine's own thread does not wait for us, see keep
                    sleep(me, ready, nanos);
                }
            } finally {
                sleeping.decrementAndGet();
                sleeper.compareAndSet(me, null);
                callEngine();
            }
            serve();
            return;
        }
        serve();
        if (!ready.getAsBoolean()) {
            LockSupport.parkNanos(loop, open ? nanos : Math.min(nanos, LOOK_NANOS));
        }
    }

    private void sleep(Thread me, BooleanSupplier ready, long nanos) {
        boolean done = true;
        seat.lock();
        try {
            turn();
            done = ready.getAsBoolean();
            if (done) {
                sleeper.compareAndSet(me, null); // nobody to arm for
            }
        } finally {
            rise();
        }
        called.set(false);
        if (!done && !ready.getAsBoolean() && !loop.hasQueued() && !loop.isClosing()) {
            Native.workerSleep(loop.worker(), CALLER, nanos);
        }
    }

    /** Ends the wait of a thread, or its next. */
    void wake(Thread thread) {
        if (thread == null || thread == Thread.currentThread()) {
            return;
        }
        if (sleeper.get() == thread) {
            callSleeper();
        } else {
            LockSupport.unpark(thread);
        }
    }

    /** This caller does not come back soon: unless one sleeps now, the engine's own thread becomes the sleeper. */
    void attend() {
        if (sleeper.get() == null) {
            wanted = true;
            LockSupport.unpark(loop.thread());
        }
    }

    /** True when the engine's own thread is the sleeper or becomes it, unless a caller takes its place. */
    boolean willAttend() {
        return wanted || mode == Mode.ATTENDS;
    }

    /** The engine's own thread has to look now and then, because no caller sleeps. */
    private void callEngine() {
        Mode now = mode;
        if (now == Mode.RESTS) {
            LockSupport.unpark(loop.thread());
        } else if (now == Mode.ATTENDS) {
            Native.workerCall(loop.worker(), ENGINE);
        }
    }

    /** The engine is to be closed: everybody gets up. */
    void callAll() {
        LockSupport.unpark(loop.thread());
        Native.workerCall(loop.worker(), ENGINE);
        Native.workerCall(loop.worker(), CALLER);
    }

    // ------------------------------------------------------------------------------------ the engine's own thread

    /** Attends, looks or rests once; waits for at most so long. */
    void pass(long nanos) throws VbnException {
        if (kept) {
            if (loop.step() == 0) {
                LockSupport.parkNanos(loop, Math.min(nanos, LOOK_NANOS));
            }
            return;
        }
        switch (mode) {
            case ATTENDS -> attend(nanos);
            case LOOKS -> look(nanos);
            case RESTS -> rest(nanos);
        }
    }

    /** How long to wait: not beyond the time of the work. */
    private long untilDue(long nanos) {
        return work == null ? nanos : Math.min(nanos, due - System.nanoTime());
    }

    private void attend(long nanos) {
        wanted = false;
        if (!sleeper.compareAndSet(null, loop.thread())) {
            mode = Mode.LOOKS;
            return;
        }
        seat.lock();
        try {
            turn();
        } finally {
            rise();
        }
        if (!loop.hasQueued() && !loop.isClosing()) {
            Native.workerSleep(loop.worker(), ENGINE, untilDue(Math.min(nanos, REST_NANOS)));
        }
        if (sleeper.compareAndSet(loop.thread(), null)) {
            serve();
        } else {
            mode = Mode.LOOKS; // a caller has taken its place
            lookNanos = LOOK_NANOS;
        }
    }

    private void look(long nanos) {
        long before = finds;
        if (!wanted) {
            LockSupport.parkNanos(loop, untilDue(Math.min(nanos, lookNanos)));
        }
        if (wanted) {
            mode = Mode.ATTENDS;
            return;
        }
        if (sleeper.get() == null || untilDue(1) <= 0) {
            serve();
        }
        lookNanos = finds == before ? Math.min(2 * lookNanos, LOOK_NANOS_MAX) : LOOK_NANOS;
        long turns = callerTurns;
        if (turns != turnsSeen) {
            turnsSeen = turns;
            quietLooks = 0;
        } else if (++quietLooks == QUIET_LOOKS) {
            quietLooks = 0;
            mode = sleeper.get() == null ? Mode.ATTENDS : Mode.RESTS;
        }
    }

    private void rest(long nanos) {
        // A sleeper that leaves after this look sees the mode and unparks us.
        if (sleeper.get() != null && callerTurns == turnsSeen && !loop.isClosing()) {
            LockSupport.parkNanos(loop, untilDue(Math.min(nanos, REST_NANOS)));
        }
        mode = Mode.LOOKS;
        lookNanos = LOOK_NANOS;
    }

    /** From now on this thread alone drives the engine, and sleeps for a moment at a time; for what is left to do at the end. */
    void keep() {
        if (kept) {
            return;
        }
        kept = true;
        while (sleeping.get() > 0) {
            Native.workerCall(loop.worker(), CALLER);
            LockSupport.parkNanos(loop, LOOK_NANOS);
        }
        seat.lock();
        takeOver();
    }

    /** The engine closes: nobody sleeps any more. A thread that has attached it keeps the seat. */
    void end(Runnable rest) {
        keep();
        try {
            rest.run();
        } finally {
            if (!loop.isAttached()) {
                seat.unlock();
            }
        }
    }
}
