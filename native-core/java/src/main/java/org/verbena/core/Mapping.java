// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A native memory or mapping and the ByteBuffers on it. The native side is freed when it is closed and no view is
 * reachable any more: all views are made from root buffers ("windows"), which each view references, and a Cleaner
 * watches the windows. So no Java code can touch unmapped memory. Thread safe.
 */
final class Mapping {
    static final Cleaner CLEANER = Cleaner.create();
    private static final long STRIDE = 1L << 30;

    final VbnContext context;
    final long handle;
    final long size;
    final boolean readOnly;
    /** Outlives this object; what the Cleaner acts on. */
    private final Release release;
    /** Window i starts at i GiB and is up to 2 GiB - 1 long; null before the first view and after close. */
    private volatile ByteBuffer[] windows;
    private long address;

    /** Takes over the handle and one reference of the context. */
    Mapping(VbnContext context, long handle, boolean readOnly) {
        this.context = context;
        this.handle = handle;
        this.readOnly = readOnly;
        size = Native.memSize(handle);
        release = new Release(context, handle);
    }

    ByteBuffer slice(long offset, int length) {
        if (offset < 0 || length < 0 || offset > size - length) {
            throw new IndexOutOfBoundsException("[" + offset + ", +" + length + ") of " + size + " bytes");
        }
        ByteBuffer[] roots = windows;
        if (roots == null) {
            roots = open();
        }
        int index = (int) Math.min(offset / STRIDE, roots.length - 1);
        int start = (int) (offset - index * STRIDE);
        if (start > roots[index].capacity() - length) {
            throw new IndexOutOfBoundsException("a view of " + length + " bytes at " + offset + " crosses a window: "
                + "use views of at most 1 GiB, or start at a multiple of 1 GiB");
        }
        ByteBuffer view = roots[index].slice(start, length);
        return (readOnly ? view.asReadOnlyBuffer() : view).order(ByteOrder.nativeOrder());
    }

    long address() {
        if (windows == null) {
            open();
        }
        return address;
    }

    private synchronized ByteBuffer[] open() {
        if (release.closed) {
            throw new IllegalStateException("the memory is closed");
        }
        if (windows == null) {
            ByteBuffer[] roots = new ByteBuffer[(int) Math.max(1, (size - 1) / STRIDE)];
            for (int i = 0; i < roots.length; i++) {
                int length = (int) Math.min(size - i * STRIDE, Integer.MAX_VALUE);
                roots[i] = Native.memView(handle, i * STRIDE, length);
                if (roots[i] == null) {
                    throw new IllegalStateException(VbnException.last());
                }
            }
            release.windows.set(roots.length);
            for (ByteBuffer root : roots) {
                CLEANER.register(root, release);
            }
            address = Native.bufferAddress(roots[0], false);
            windows = roots;
        }
        return windows;
    }

    boolean isClosed() {
        return release.closed;
    }

    /** Closes the mapping, and reports a leak, when `owner` becomes unreachable before the mapping is closed. */
    void watch(Object owner, String what) {
        Mapping self = this;
        CLEANER.register(owner, () -> {
            if (!self.isClosed()) {
                self.context.leaked(1, what + " became unreachable without close");
                self.close();
            }
        });
    }

    /** Keys of the memory become stale and its file goes at once; the mapping goes with its last view. Idempotent. */
    synchronized void close() {
        end(false);
    }

    /** The same, and its pages go at once, too; views read zeros. Idempotent. */
    synchronized void discard() {
        end(true);
    }

    private void end(boolean discards) {
        if (release.closed) {
            return;
        }
        release.closed = true;
        context.forget(this);
        if (windows == null) {
            release.free();
        } else {
            if (Native.memRevoke(handle, discards) < 0 && discards) {
                context.log(VbnLog.DEBUG, VbnException.last().getMessage());
            }
            windows = null;
        }
    }

    /** Frees the native side once the last window is unreachable. */
    private static final class Release implements Runnable {
        final AtomicInteger windows = new AtomicInteger();
        private final VbnContext context;
        private final long handle;
        volatile boolean closed;

        Release(VbnContext context, long handle) {
            this.context = context;
            this.handle = handle;
        }

        @Override
        public void run() {
            if (windows.decrementAndGet() == 0) {
                free();
            }
        }

        void free() {
            if (Native.memFree(handle) < 0) {
                context.log(VbnLog.ERROR, "memory not freed: " + VbnException.last().getMessage());
            }
            context.release();
        }
    }
}
