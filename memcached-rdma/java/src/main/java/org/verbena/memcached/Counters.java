// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.util.concurrent.atomic.LongAdder;

/** What a client has counted. Any thread. */
final class Counters {
    /** Answers by message, answers on sockets, gets that read a server's memory. */
    final LongAdder messages = new LongAdder();
    final LongAdder sockets = new LongAdder();
    final LongAdder onesided = new LongAdder();
    /** Answers by message that make no sense. */
    final LongAdder malformed = new LongAdder();
    /** Attempts to connect. */
    final LongAdder connects = new LongAdder();
}
