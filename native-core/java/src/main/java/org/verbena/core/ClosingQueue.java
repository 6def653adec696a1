// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A bounded queue that can be closed: what offer() took is given out by take() before the end. Producers are any
 * threads, the consumer is one.
 *
 * @param <T> the items
 */
final class ClosingQueue<T> {
    private final ArrayBlockingQueue<T> items;
    private final long pollMillis;
    /** Producers inside offer(); the end comes only when there are none, so that nothing is left behind. */
    private final AtomicInteger offering = new AtomicInteger();
    private volatile boolean closing;

    /** pollMillis: how often a waiting consumer looks whether the queue is closed. */
    ClosingQueue(int capacity, long pollMillis) {
        items = new ArrayBlockingQueue<>(capacity);
        this.pollMillis = pollMillis;
    }

    /** False when the queue stayed full or is closed. */
    boolean offer(T item, long timeout, TimeUnit unit) throws InterruptedException {
        offering.incrementAndGet();
        try {
            return !closing && items.offer(item, timeout, unit);
        } finally {
            offering.decrementAndGet();
        }
    }

    /** The next item; null when the queue is closed and empty. */
    T take() throws InterruptedException {
        while (true) {
            boolean last = closing && offering.get() == 0;
            T item = items.poll(last ? 0 : pollMillis, TimeUnit.MILLISECONDS);
            if (item != null || last) {
                return item;
            }
        }
    }

    void close() {
        closing = true;
    }

    int size() {
        return items.size();
    }
}
