// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.verbena.core.VbnEngine;

/**
 * Waits for streams. One thread selects at a time; {@link #wakeup} and changes of the streams come from any. Every select
 * counts the keys that are ready then, whether or not an earlier one has counted them.
 */
final class CoreSelector extends AbstractSelector {
    private final Set<SelectionKey> keys = ConcurrentHashMap.newKeySet();
    private final Set<SelectionKey> selected = ConcurrentHashMap.newKeySet();
    private volatile Thread waiting;
    private volatile boolean woken;

    CoreSelector(SelectorProvider provider) {
        super(provider);
    }

    @Override
    protected SelectionKey register(AbstractSelectableChannel channel, int ops, Object attachment) {
        if (!(channel instanceof CoreSocketChannel ours)) {
            throw new IllegalArgumentException(channel + " is no stream of the core");
        }
        Key key = new Key(ours, ops);
        key.attach(attachment);
        keys.add(key);
        ours.watch(this);
        return key;
    }

    @Override
    public Set<SelectionKey> keys() {
        return Collections.unmodifiableSet(keys);
    }

    @Override
    public Set<SelectionKey> selectedKeys() {
        return selected;
    }

    /** {@inheritDoc} Nobody else may drive the engines now, as they take this thread for one that comes back to wait. */
    @Override
    public int selectNow() {
        checkOpen();
        woken = false; // whoever was to be woken has returned, and a pool lends the selector to another thread
        removeCancelled();
        int ready = ready();
        if (ready == 0) {
            keys.forEach(key -> ((Key) key).stream.engine().help());
            ready = ready();
        }
        return ready;
    }

    @Override
    public int select() {
        return select(0);
    }

    @Override
    public int select(long millis) {
        if (millis < 0) {
            throw new IllegalArgumentException("a time-out of " + millis + " ms");
        }
        checkOpen();
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        begin();
        waiting = Thread.currentThread();
        try {
            while (true) {
                int ready = ready();
                removeCancelled(); // after the count: a stream that was closed meanwhile is in it
                long left = millis == 0 ? Long.MAX_VALUE : deadline - System.nanoTime();
                if (ready > 0 || woken || !isOpen() || Thread.currentThread().isInterrupted()) {
                    return ready;
                }
                if (left <= 0) {
                    readInVain(millis);
                    return 0;
                }
                park(left);
            }
        } finally {
            waiting = null;
            end();
            woken = false; // after the end, before which an interrupt that has come calls wakeup
        }
    }

    /** Drives the streams' engine meanwhile. */
    private void park(long nanos) {
        VbnEngine engine = engine();
        if (engine == null) {
            LockSupport.parkNanos(this, nanos);
        } else {
            leaveOthers(engine);
            engine.park(() -> isReady() || woken || !isOpen(), nanos);
        }
    }

    /** One thread sleeps in one engine: those of the other streams wake it from there. */
    private void leaveOthers(VbnEngine engine) {
        for (SelectionKey key : keys) {
            VbnEngine other = ((Key) key).stream.engine();
            if (other != engine) {
                other.help();
                other.attend();
            }
        }
    }

    private void readInVain(long millis) {
        for (SelectionKey key : keys) {
            if (key.isValid() && (key.interestOps() & SelectionKey.OP_READ) != 0) {
                ((Key) key).stream.readInVain(millis);
            }
        }
    }

    /** True when a thread waits here until the stream takes bytes. */
    boolean waitsToWrite(CoreSocketChannel stream) {
        if (waiting == null) {
            return false;
        }
        for (SelectionKey key : keys) {
            if (((Key) key).stream == stream && (((Key) key).interest & SelectionKey.OP_WRITE) != 0) {
                return true;
            }
        }
        return false;
    }

    /** The engine in which to sleep, of the first stream; Hadoop waits for one at a time. Null when none is watched. */
    private VbnEngine engine() {
        for (SelectionKey key : keys) {
            return ((Key) key).stream.engine();
        }
        return null;
    }

    private void unpark() {
        Thread thread = waiting;
        VbnEngine engine = thread == null ? null : engine();
        if (engine == null) {
            LockSupport.unpark(thread);
        } else {
            engine.unpark(thread);
        }
    }

    private void checkOpen() {
        if (!isOpen()) {
            throw new ClosedSelectorException();
        }
    }

    private int ready() {
        int count = 0;
        for (SelectionKey key : keys) {
            if (isReady(key)) {
                selected.add(key);
                count++;
            }
        }
        return count;
    }

    /** A closed stream cancels its keys, and is nothing to wait for: whoever waited has to hear of it all the same. */
    private static boolean isReady(SelectionKey key) {
        return !((Key) key).stream.isOpen() || key.isValid() && key.readyOps() != 0;
    }

    private boolean isReady() {
        for (SelectionKey key : keys) {
            if (isReady(key)) {
                return true;
            }
        }
        return false;
    }

    private void removeCancelled() {
        Set<SelectionKey> cancelled = cancelledKeys();
        synchronized (cancelled) {
            for (SelectionKey key : cancelled) {
                keys.remove(key);
                selected.remove(key);
                deregister((AbstractSelectionKey) key);
                ((Key) key).stream.unwatch(this);
            }
            cancelled.clear();
        }
    }

    /** A stream has changed: whoever waits for something else of it sleeps on. */
    void changed() {
        if (waiting != null && isReady()) {
            unpark();
        }
    }

    @Override
    public Selector wakeup() {
        woken = true;
        unpark();
        return this;
    }

    @Override
    protected void implCloseSelector() {
        wakeup();
        keys.forEach(SelectionKey::cancel);
        removeCancelled();
    }

    /** A stream and what its user waits for. */
    private final class Key extends AbstractSelectionKey {
        private final CoreSocketChannel stream;
        private volatile int interest;

        Key(CoreSocketChannel stream, int interest) {
            this.stream = stream;
            this.interest = interest;
        }

        @Override
        public CoreSocketChannel channel() {
            return stream;
        }

        @Override
        public Selector selector() {
            return CoreSelector.this;
        }

        @Override
        public int interestOps() {
            return interest;
        }

        @Override
        public SelectionKey interestOps(int ops) {
            interest = ops;
            unpark();
            return this;
        }

        @Override
        public int readyOps() {
            return interest & stream.readyOps();
        }
    }
}
