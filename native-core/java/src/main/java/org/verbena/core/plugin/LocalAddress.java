// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** Finds the address of this host that another host sees. */
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
}
