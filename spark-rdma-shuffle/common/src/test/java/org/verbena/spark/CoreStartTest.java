// SPDX-License-Identifier: Apache-2.0
// What the native core is started with: encryption, transports, ports.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;
import org.verbena.spark.settings.VerbenaConf;

@Timeout(60)
class CoreStartTest {
    private static Map<String, String> settings(boolean encrypted, String... settings) {
        SparkConf conf = new SparkConf(false);
        for (String setting : settings) {
            String[] parts = setting.split("=", 2);
            conf.set(parts[0], parts[1]);
        }
        return CoreStart.settings(new VerbenaConf(conf), encrypted);
    }

    @Test
    void whereSparkEncryptsDataGoesByTcpWithTlsAndNeverByRdma() {
        assertEquals(Map.of("tl.enable", "self,shm,tcp", "tl.tcp.tls", "true"), settings(true));
        assertEquals(Map.of("tl.enable", "self,tcp", "tl.tcp.tls", "true"), settings(true, "spark.verbena.transport=rc,tcp"));
        assertEquals("true", settings(true, "spark.verbena.core.tl.tcp.tls=false").get("tl.tcp.tls"));
        assertEquals(Map.of(), settings(false));
    }

    @Test
    void transportsOfWhichNoneCouldBeEncryptedReachNobody() {
        assertFalse(CoreStart.reachesOthers(settings(true, "spark.verbena.transport=rc,ud")));
        assertTrue(CoreStart.reachesOthers(settings(true, "spark.verbena.transport=rc, tcp")));
        assertTrue(CoreStart.reachesOthers(settings(false, "spark.verbena.transport=rc")));
        assertTrue(CoreStart.reachesOthers(settings(true)));
    }

    private static CoreStart open(int port, boolean listens) throws VbnException {
        return open("spark.verbena.core.tl.tcp.port", Integer.toString(port), listens);
    }

    private static CoreStart open(String key, String ports, boolean listens) throws VbnException {
        return CoreStart.open(() -> new VbnConfig().jobKey(new byte[32]).set("tl.tcp.interface", "127.0.0.1"),
            settings(false, "spark.verbena.transport=tcp", key + "=" + ports), true, listens,
            new SparkConf(false).set(key, ports));
    }

    @Test
    void noPortBeyondTheRangeIsTaken() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            int port = taken.getLocalPort();
            VbnException error = assertThrows(VbnException.class,
                () -> open("spark.verbena.port", port + "-" + port, true));
            assertEquals(VbnStatus.IN_USE, error.kind(), error.getMessage());
            assertTrue(error.getMessage().contains("tl.tcp.port"), error.getMessage());
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            return socket.getLocalPort();
        }
    }

    @Test
    void anAddressThatIsNotOfThisHostIsSaidToBeSoUnlessTheUserNamesAnotherOne() throws Exception {
        assertEquals("127.0.0.2", CoreStart.address("127.0.0.2", Map.of()));
        assertEquals("0:0:0:0:0:0:0:1", CoreStart.address("[::1]", Map.of()));
        IOException error = assertThrows(IOException.class, () -> CoreStart.address("192.0.2.1", Map.of()));
        assertTrue(error.getMessage().contains("192.0.2.1") && error.getMessage().contains("NAT"), error.getMessage());
        assertEquals("127.0.0.1", CoreStart.address("192.0.2.1", Map.of("tl.tcp.interface", "127.0.0.1")));
    }

    private static void close(CoreStart core) {
        core.engine().close();
        core.context().close();
    }

    /** Spark writes such a host in brackets. */
    @Test
    void executorsOfAnIPv6ClusterReachEachOtherByTcp() throws Exception {
        InetAddress loopback = InetAddress.getByName("[::1]");
        assumeTrue(NetworkInterface.getByInetAddress(loopback) != null, "no IPv6 on this host");
        CoreStart[] both = new CoreStart[2];
        try {
            for (int i = 0; i < both.length; i++) {
                both[i] = CoreStart.open(
                    () -> new VbnConfig().jobKey(new byte[32]).set("tl.tcp.interface", loopback.getHostAddress()),
                    settings(false, "spark.verbena.transport=tcp"), true, true, new SparkConf(false));
            }
            VbnPeer peer = both[0].engine().connect(both[1].engine().address(), (lost, cause) -> { });
            assertEquals("tcp", peer.transport(), peer.explain());
            assertTrue(peer.explain().contains("::1"), peer.explain());
            peer.close();
        } finally {
            for (CoreStart core : both) {
                if (core != null) {
                    close(core);
                }
            }
        }
    }

    @Test
    void executorsOfOneHostListenOnThePortThatIsSetAndTheFollowingOnes() throws Exception {
        int port = freePort();
        List<CoreStart> all = new ArrayList<>();
        try {
            for (boolean listens : new boolean[] {false, true, true, true}) { // a driver first
                CoreStart one = open(port, listens);
                all.add(one);
                assertTrue(one.engine().transports().contains("tcp"), one.engine().transports().toString());
            }
            assertEquals("0", all.get(0).context().setting("tl.tcp.port"), "the driver takes no executor's port");
            List<Integer> ports = new ArrayList<>();
            for (CoreStart one : all.subList(1, 4)) {
                ports.add(Integer.parseInt(one.context().setting("tl.tcp.port")) - port);
            }
            assertEquals(3, ports.stream().distinct().count(), ports.toString());
            assertTrue(ports.stream().allMatch(distance -> distance >= 0 && distance <= 16), ports.toString());
        } finally {
            for (CoreStart one : all) {
                close(one);
            }
        }
    }
}
