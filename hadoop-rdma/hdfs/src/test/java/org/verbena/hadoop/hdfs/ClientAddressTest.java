// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hdfs.net.Peer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;
import org.verbena.core.stream.BlockingStream;
import org.verbena.core.stream.StreamLimits;
import org.verbena.core.stream.VbnStream;
import org.verbena.core.stream.VbnStreams;

/** The address by which Hadoop trusts a client is the one from which the client asked for the greeting. */
class ClientAddressTest {
    private static final int DATA_PORT = 9866;
    private static final int MILLIS = 60_000;

    private final List<AutoCloseable> opened = new ArrayList<>();
    private final Tickets tickets = new Tickets();
    private VbnContext context;
    private VbnEngine serving;
    private CorePeerServer server;

    @BeforeEach
    void start() throws Exception {
        context = VbnContext.open(new VbnConfig().set("tl.enable", "self,shm").jobKey(new byte[32]));
        opened.add(context);
        serving = context.startEngine("serving");
        opened.add(serving);
        VbnStreams streams = new VbnStreams(serving, 1, StreamLimits.DEFAULT);
        opened.add(streams);
        DataPorts ports = new DataPorts();
        streams.serve(Hello.SERVICE, ports);
        server = new CorePeerServer(ports, new InetSocketAddress(InetAddress.getLoopbackAddress(), DATA_PORT), tickets);
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        for (int i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }

    /** Another client, connected with the DataNode's engine. */
    private final class Client {
        final VbnStreams streams;
        final VbnPeer peer;

        Client() throws IOException {
            VbnEngine engine = context.startEngine("client");
            opened.add(engine);
            streams = new VbnStreams(engine, 1, StreamLimits.DEFAULT);
            opened.add(streams);
            peer = engine.connect(serving.address(), null);
        }

        /** Opens a stream that shows a ticket, and gives the DataNode's end; null when that is refused. */
        Peer open(byte[] ticket) throws Exception {
            VbnStream stream = streams.open(peer, Hello.SERVICE, new Hello(ticket, 7, DATA_PORT).encode());
            opened.add(stream::close);
            try {
                new BlockingStream(stream).awaitAccepted(MILLIS);
            } catch (IOException e) {
                assertTrue(stream.isRefused(), e.getMessage());
                return null;
            }
            Peer accepted = server.accept();
            opened.add(accepted);
            return accepted;
        }
    }

    private static InetAddress address(int last) throws IOException {
        return InetAddress.getByAddress(new byte[] {10, 9, 9, (byte) last});
    }

    @Test
    void a_stream_has_the_address_to_which_its_ticket_was_given() throws Exception {
        Client client = new Client();
        byte[] ticket = tickets.give(address(1));
        assertEquals("/10.9.9.1:7", client.open(ticket).getRemoteAddressString());
        assertEquals("/10.9.9.1:7", client.open(ticket).getRemoteAddressString(), "of the same client");
        assertEquals("/10.9.9.1:7", client.open(tickets.give(address(2))).getRemoteAddressString(), "it is connected from there");
    }

    @Test
    void a_stream_without_a_ticket_of_its_own_is_refused() throws Exception {
        assertNull(new Client().open(new byte[Tickets.BYTES]));
        byte[] ticket = tickets.give(address(3));
        assertNotNull(new Client().open(ticket));
        assertNull(new Client().open(ticket), "a ticket is good once");
    }

    @Test
    void old_tickets_and_those_beyond_the_most_are_forgotten() throws Exception {
        byte[] first = tickets.give(address(1), 0);
        byte[] old = tickets.give(address(2), 0);
        assertEquals(address(1), tickets.take(first, 1));
        assertNull(tickets.take(old, TimeUnit.MINUTES.toNanos(10)));
        byte[] oldest = tickets.give(address(3), 0);
        byte[] next = tickets.give(address(4), 0);
        for (int i = 0; i < Tickets.MOST - 1; i++) {
            tickets.give(address(5), 0);
        }
        assertNull(tickets.take(oldest, 0));
        assertEquals(address(4), tickets.take(next, 0));
    }

    @Test
    void a_closed_server_says_so_to_whoever_accepts() throws Exception {
        server.close();
        assertThrows(ClosedChannelException.class, server::accept);
        assertNull(new Client().open(tickets.give(address(1))));
    }
}
