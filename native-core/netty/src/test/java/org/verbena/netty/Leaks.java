// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakDetectorFactory;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Collects what Netty's leak detector reports. */
final class Leaks {
    private static final List<String> FOUND = new CopyOnWriteArrayList<>();
    private static final int COLLECTIONS = 3;

    static {
        ResourceLeakDetectorFactory.setResourceLeakDetectorFactory(new ResourceLeakDetectorFactory() {
            @Override
            @Deprecated
            public <T> ResourceLeakDetector<T> newResourceLeakDetector(Class<T> type, int interval, long maxActive) {
                return new Collecting<>(type, interval);
            }
        });
    }

    private Leaks() {
    }

    private static final class Collecting<T> extends ResourceLeakDetector<T> {
        @SuppressWarnings("deprecation") // the factory's signature
        Collecting(Class<T> type, int interval) {
            super(type, interval);
        }

        @Override
        protected void reportTracedLeak(String type, String records) {
            FOUND.add(type + records);
        }

        @Override
        protected void reportUntracedLeak(String type) {
            FOUND.add(type);
        }
    }

    /** To be called before the first buffer is allocated. */
    static void watch() {
        if (ResourceLeakDetector.getLevel() != ResourceLeakDetector.Level.PARANOID) {
            throw new IllegalStateException("tests run with -Dio.netty.leakDetection.level=paranoid");
        }
    }

    /** Buffers that were not released, since the last call. */
    static List<String> take() {
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
            ByteBufAllocator.DEFAULT.directBuffer(16).release(); // a new buffer reports the old ones
        }
        List<String> found = List.copyOf(FOUND);
        FOUND.clear();
        return found;
    }
}
