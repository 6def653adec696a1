// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.lang.invoke.VarHandle;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.MpscArrayQueue;

/**
 * The bounded way into an engine for other threads: operations and tasks, in order per thread. The engine's thread is
 * the one consumer; after it has ended, whoever comes last refuses what is left.
 */
final class EngineQueue {
    private static final long RETRY_NANOS = 50_000;

    private final EngineLoop loop;
    private final MpscArrayQueue<Object> items;
    /** Operations that found the queue full for too long; bounded by threads x time / time-out. */
    private final ConcurrentLinkedQueue<Operation> refused = new ConcurrentLinkedQueue<>();
    private final long timeoutNanos;

    EngineQueue(EngineLoop loop, int capacity, long timeoutNanos) {
        this.loop = loop;
        this.timeoutNanos = timeoutNanos;
        items = new MpscArrayQueue<>(capacity);
    }

    /** False when the engine has ended or the queue stayed full. */
    boolean offer(Object item) {
        if (loop.isTerminated() || !items.offer(item) && !offerLater(item)) {
            return false;
        }
        published();
        return true;
    }

    private boolean offerLater(Object item) {
        long deadline = System.nanoTime() + timeoutNanos;
        while (!loop.isTerminated() && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(RETRY_NANOS);
            if (items.offer(item)) {
                return true;
            }
        }
        return false;
    }

    /** Lets the operation, which offer() did not take, complete with an error. */
    void refuse(Operation op) {
        if (loop.isTerminated()) {
            loop.fail(op, VbnStatus.CLOSED, "the engine is closed");
            return;
        }
        refused.add(op);
        published();
    }

    private void published() {
        // Full fence: the item must be visible before the flag is read; pairs with the volatile write of the flag
        // before the emptiness check in EngineLoop.sleep. One of the two sides sees the other.
        VarHandle.fullFence();
        loop.wakeIfAsleep();
        if (loop.isTerminated()) {
            refuseAll();
        }
    }

    Object poll() {
        return items.poll();
    }

    Operation pollRefused() {
        return refused.poll();
    }

    boolean isEmpty() {
        return items.isEmpty() && refused.isEmpty();
    }

    /** After the engine's thread has ended: nobody is left behind. */
    synchronized void refuseAll() {
        for (Object item = items.poll(); item != null; item = items.poll()) {
            if (item instanceof Operation op) {
                loop.fail(op, VbnStatus.CLOSED, "the engine is closed");
            } else if (item instanceof EngineCall<?> call) {
                call.refuse();
            }
        }
        for (Operation op = refused.poll(); op != null; op = refused.poll()) {
            loop.fail(op, VbnStatus.LIMIT, fullText());
        }
    }

    String fullText() {
        return "the queue of engine " + loop.thread().getName() + " was full for " + timeoutNanos / 1_000_000
            + " ms: submit less at once, or enlarge VbnConfig.queue";
    }
}
