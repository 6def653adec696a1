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
import org.apache.hadoop.hdfs.net.Peer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;
import org.verbena.core.greeting.Greeter;
import org.verbena.core.greeting.Greeting;
import org.verbena.core.stream.BlockingStream;
import org.verbena.core.stream.StreamLimits;
import org.verbena.core.stream.VbnStream;
import org.verbena.core.stream.VbnStreams;

/** The address by which Hadoop trusts a client is the one from which the client asked for the greeting. */
class ClientAddressTest {
    private static final int DATA_PORT = 9866;
    private static final int MILLIS = 60_000;

    private final List<AutoCloseable> opened = new ArrayList<>();
    private final Greeter<InetAddress> greeter = new Greeter<>(Hello.MESSAGES, Hello.SERVICE, () -> new byte[1]);
    private VbnContext context;
    private VbnEngine serving;
    private final DataPorts ports = new DataPorts();
    private CorePeerServer server;

    @BeforeEach
    void start() throws Exception {
        context = VbnContext.open(new VbnConfig().set("tl.enable", "self,shm").jobKey(new byte[32]));
        opened.add(context);
        serving = context.startEngine("serving");
        opened.add(serving);
        VbnStreams streams = new VbnStreams(serving, 1, StreamLimits.DEFAULT);
        opened.add(streams);
        streams.serve(Hello.SERVICE, ports);
        server = server(greeter);
    }

    private CorePeerServer server(Greeter<InetAddress> greets) {
        return new CorePeerServer(ports, new InetSocketAddress(InetAddress.getLoopbackAddress(), DATA_PORT), greets);
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

        /** Opens a stream that shows a token, and gives the DataNode's end; null when that is refused. */
        Peer open(byte[] token) throws Exception {
            VbnStream stream = streams.open(peer, Hello.SERVICE, new Hello(token, 7, DATA_PORT).encode());
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
    void a_stream_has_the_address_to_which_its_token_was_given() throws Exception {
        Client client = new Client();
        byte[] token = greeter.greet(address(1)).token();
        assertEquals("/10.9.9.1:7", client.open(token).getRemoteAddressString());
        assertEquals("/10.9.9.1:7", client.open(token).getRemoteAddressString(), "of the same client");
        assertEquals("/10.9.9.1:7", client.open(greeter.greet(address(2)).token()).getRemoteAddressString(),
            "it is connected from there");
    }

    @Test
    void a_stream_without_a_token_of_its_own_is_refused() throws Exception {
        assertNull(new Client().open(new byte[Greeting.TOKEN_BYTES]));
        byte[] token = greeter.greet(address(3)).token();
        assertNotNull(new Client().open(token));
        assertNull(new Client().open(token), "a token is good once");
    }

    @Test
    void a_DataNode_that_starts_again_in_its_process_knows_the_clients_that_stayed_connected() throws Exception {
        Client client = new Client();
        byte[] token = greeter.greet(address(4)).token();
        assertNotNull(client.open(token));
        server.close();
        server = server(new Greeter<>(Hello.MESSAGES, Hello.SERVICE, () -> new byte[1]));
        assertEquals("/10.9.9.4:7", client.open(token).getRemoteAddressString());
        assertNull(new Client().open(token), "another client");
    }

    @Test
    void a_closed_server_says_so_to_whoever_accepts() throws Exception {
        server.close();
        assertThrows(ClosedChannelException.class, server::accept);
        assertNull(new Client().open(greeter.greet(address(1)).token()));
    }
}
