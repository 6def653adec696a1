// SPDX-License-Identifier: Apache-2.0
// Which of the callers that wait on one connection reads.
package org.apache.hadoop.ipc;

import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * One caller at a time reads, the others are parked. Who leaves wakes one of them, and one that is interrupted instead of reading
 * passes its wake-up on: so somebody reads while anybody waits. Thread safe.
 */
final class ReadTurn {
    /** A parked caller looks by itself so often. */
    private static final long PARK_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A caller, on its own thread. */
    interface Caller {
        /** It has its answer; who gives it wakes the caller. */
        boolean isDone();

        /** Ends its wait in {@link #follow}, or the next one. */
        void wake();
    }

    private final AtomicBoolean taken = new AtomicBoolean();
    private final ConcurrentLinkedDeque<Caller> parked = new ConcurrentLinkedDeque<>();

    /** Whether the calling thread reads from now on; {@link #leave} is to follow. */
    boolean lead() {
        return taken.compareAndSet(false, true);
    }

    /** The calling thread reads no more. */
    void leave() {
        taken.set(false);
        wakeNext();
    }

    /**
     * Waits for the answer or the turn, or for no reason.
     *
     * @throws InterruptedException when the thread is interrupted and has no answer
     */
    void follow(Caller mine) throws InterruptedException {
        parked.addFirst(mine);
        if (!mine.isDone() && taken.get()) {
            LockSupport.parkNanos(this, PARK_NANOS);
        }
        parked.remove(mine); // who leaves has taken it out if it has woken this one
        if (!mine.isDone() && Thread.interrupted()) {
            if (!taken.get()) {
                wakeNext();
            }
            throw new InterruptedException();
        }
    }

    private void wakeNext() {
        for (Caller one = parked.pollFirst(); one != null; one = parked.pollFirst()) {
            if (!one.isDone()) {
                one.wake();
                return;
            }
        }
    }
}
