// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

/** A connection to a server that carries calls. Each call that it takes leaves the server once ({@link Server#leave}). */
interface Carrier {
    /** Sends a call, or gives it back by {@link Server#again} when the connection has ended. Any thread; calls of one thread
     * stay in their order. */
    void start(Call call);

    /** When the server was heard last, a time of {@link Loop#now}. Any thread. */
    long heard();

    /** Ends the connection; calls without an answer fail. The loop's thread. */
    void end(MemcachedException cause);

    /** The way, in words. */
    String describe();
}
