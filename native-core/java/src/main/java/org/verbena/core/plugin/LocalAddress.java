// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** Finds the address of this host by which others know it: a name of its own may mean one that only itself can use (127.0.1.1). */
public final class LocalAddress {
    private LocalAddress() {
    }

    /**
     * Returns the address of this host from which another one is reached. Sends nothing: a datagram socket finds it.
     *
     * @param other an address there, with any port but 0
     * @throws IOException when there is no way to it
     */
    public static InetAddress towards(InetSocketAddress other) throws IOException {
        try (DatagramSocket probe = new DatagramSocket()) {
            probe.connect(other);
            return probe.getLocalAddress();
        }
    }

    /**
     * Returns the address by which other processes see what this host connects to them. Those that are not resolved or to which
     * there is no way count for nothing.
     *
     * @param others their addresses, the most important first
     * @return that of the first one that sees no loopback address, else of the first one; null when there is none
     */
    public static InetAddress seenBy(Iterable<InetSocketAddress> others) {
        InetAddress loopback = null;
        for (InetSocketAddress other : others) {
            InetAddress seen = found(other);
            if (seen != null && !seen.isLoopbackAddress()) {
                return seen;
            }
            loopback = loopback == null ? seen : loopback;
        }
        return loopback;
    }

    private static InetAddress found(InetSocketAddress other) {
        if (other.isUnresolved() || other.getPort() == 0 || other.getAddress().isAnyLocalAddress()) {
            return null;
        }
        try {
            return towards(other);
        } catch (IOException | RuntimeException e) { // sockets throw UncheckedIOException, too
            return null;
        }
    }
}
