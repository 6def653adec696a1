// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.MpscArrayQueue;

/**
 * The bounded way into an engine for other threads: operations and tasks, in order per thread. The engine's thread is
 * the one consumer; after it has ended, whoever comes last refuses what is left.
 */
final class EngineQueue {
    private static final long RETRY_NANOS = 50_000;

    /** The engine, as its queue sees it. Any thread calls it. */
    interface Owner {
        boolean isTerminated();

        /** Something was published: the owner must not go to sleep over it. */
        void wakeIfAsleep();

        /** Completes an operation that native code does not have. */
        void fail(Operation op, VbnStatus status, String text);

        String name();
    }

    private final Owner owner;
    private final MpscArrayQueue<Object> items;
    /** Operations that found the queue full for too long; bounded by threads x time / time-out. */
    private final ConcurrentLinkedQueue<Operation> refused = new ConcurrentLinkedQueue<>();
    private final long timeoutNanos;

    EngineQueue(Owner owner, int capacity, long timeoutNanos) {
        this.owner = owner;
        this.timeoutNanos = timeoutNanos;
        items = new MpscArrayQueue<>(capacity);
    }

    /** False when the engine has ended or the queue stayed full. */
    boolean offer(Object item) {
        if (owner.isTerminated() || !items.offer(item) && !offerLater(item)) {
            return false;
        }
        published();
        return true;
    }

    private boolean offerLater(Object item) {
        long deadline = System.nanoTime() + timeoutNanos;
        while (!owner.isTerminated() && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(RETRY_NANOS);
            if (items.offer(item)) {
                return true;
            }
        }
        return false;
    }

    /** Lets the operation, which offer() did not take, complete with an error. */
    void refuse(Operation op) {
        if (owner.isTerminated()) {
            owner.fail(op, VbnStatus.CLOSED, "the engine is closed");
            return;
        }
        refused.add(op);
        published();
    }

    private void published() {
        owner.wakeIfAsleep();
        if (owner.isTerminated()) {
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
                owner.fail(op, VbnStatus.CLOSED, "the engine is closed");
            } else if (item instanceof EngineCall<?> call) {
                call.refuse();
            }
        }
        for (Operation op = refused.poll(); op != null; op = refused.poll()) {
            owner.fail(op, VbnStatus.LIMIT, fullText());
        }
    }

    String fullText() {
        return "the queue of engine " + owner.name() + " was full for " + timeoutNanos / 1_000_000
            + " ms: submit less at once, or enlarge VbnConfig.queue";
    }
}
