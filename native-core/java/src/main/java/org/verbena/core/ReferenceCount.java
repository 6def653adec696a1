// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts the references to something shared; starts with one, and what has reached zero stays there. Thread safe. */
final class ReferenceCount {
    private final AtomicInteger count = new AtomicInteger(1);

    boolean isLive() {
        return count.get() > 0;
    }

    /** Takes another reference; false when there is none any more. */
    boolean retain() {
        return count.getAndUpdate(now -> now > 0 ? now + 1 : now) > 0;
    }

    /**
     * Drops a reference.
     *
     * @return the references left, -1 when there was none
     */
    int release() {
        return count.getAndUpdate(now -> now > 0 ? now - 1 : now) - 1;
    }
}
