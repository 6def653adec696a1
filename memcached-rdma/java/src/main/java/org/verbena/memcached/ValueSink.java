// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.nio.ByteBuffer;

/** Takes the values of a call. */
@FunctionalInterface
interface ValueSink {
    /**
     * A value has come.
     *
     * @param index of its key in a list, else 0
     * @param bytes valid during the call only
     * @return null, or why the call fails
     */
    MemcachedException take(int index, ByteBuffer bytes, int flags, long cas);
}
