// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LocalAddressTest {
    private static final int PORT = 9;
    private static final InetSocketAddress NOBODY = InetSocketAddress.createUnresolved("nobody.invalid", PORT);

    private static InetSocketAddress at(String address) throws Exception {
        return new InetSocketAddress(InetAddress.getByName(address), PORT);
    }

    @Test
    void a_process_of_this_host_sees_the_loopback_address() throws Exception {
        InetAddress loopback = InetAddress.getByName("127.0.0.1");
        assertEquals(loopback, LocalAddress.towards(at("127.0.0.1")));
        assertEquals(loopback, LocalAddress.seenBy(List.of(NOBODY, at("127.0.0.1"))));
    }

    @Test
    void who_has_no_address_sees_nothing() throws Exception {
        assertNull(LocalAddress.seenBy(List.of()));
        assertNull(LocalAddress.seenBy(List.of(NOBODY, at("0.0.0.0"), new InetSocketAddress("127.0.0.1", 0))));
    }

    @Test
    void an_address_that_other_hosts_can_use_is_preferred() throws Exception {
        Optional<InetAddress> network = NetworkInterface.networkInterfaces().flatMap(NetworkInterface::inetAddresses)
            .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress()).findAny();
        assumeTrue(network.isPresent(), "this host has only loopback addresses");
        InetSocketAddress own = new InetSocketAddress(network.get(), PORT);
        assertEquals(network.get(), LocalAddress.seenBy(List.of(at("127.0.0.1"), own)));
    }
}
