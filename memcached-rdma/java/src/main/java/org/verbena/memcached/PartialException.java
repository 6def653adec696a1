// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.util.Map;

/** A get of many keys that failed at a server; other servers have answered. */
public final class PartialException extends MemcachedException {
    private static final long serialVersionUID = 1L;

    private final transient Map<String, Value> found;

    PartialException(MemcachedException first, Map<String, Value> found) {
        super(first.kind(), first.getMessage());
        this.found = found;
        initCause(first);
    }

    /** Returns the values that were found; null in an exception that was serialized. */
    public Map<String, Value> found() {
        return found;
    }
}
