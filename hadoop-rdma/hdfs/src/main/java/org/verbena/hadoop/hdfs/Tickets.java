// SPDX-License-Identifier: Apache-2.0
// From which address a client has asked for the greeting.
package org.verbena.hadoop.hdfs;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Each greeting carries a ticket of 128 random bits, which the client's first stream shows. So a DataNode knows the address of a
 * client from the client's TCP connection, as it does of a client that sends its data there, and not from what a client says
 * of itself. A ticket is good once and for ten minutes; of those that nobody has shown the newest 4,096 are kept, in less than
 * 1 MiB. Thread safe.
 */
final class Tickets {
    /** Length of a ticket. */
    static final int BYTES = 16;
    static final int MOST = 4096;
    private static final long KEPT = TimeUnit.MINUTES.toNanos(10);

    private record Given(InetAddress to, long when) {
    }

    private final SecureRandom random = new SecureRandom();
    /** The oldest first. */
    private final Map<ByteBuffer, Given> given = new LinkedHashMap<>();

    /** Makes a ticket for whoever is connected from an address. */
    byte[] give(InetAddress to) {
        return give(to, System.nanoTime());
    }

    synchronized byte[] give(InetAddress to, long now) {
        byte[] ticket = new byte[BYTES];
        random.nextBytes(ticket);
        Iterator<Given> oldest = given.values().iterator();
        while (oldest.hasNext() && (now - oldest.next().when >= KEPT || given.size() >= MOST)) {
            oldest.remove();
        }
        given.put(ByteBuffer.wrap(ticket), new Given(to, now));
        return ticket.clone();
    }

    /** Returns to which address a ticket was given, and takes it; null when it is none. */
    InetAddress take(byte[] ticket) {
        return take(ticket, System.nanoTime());
    }

    synchronized InetAddress take(byte[] ticket, long now) {
        Given taken = given.remove(ByteBuffer.wrap(ticket));
        return taken == null || now - taken.when >= KEPT ? null : taken.to;
    }
}
