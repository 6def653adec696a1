// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.net.Peer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;
import org.verbena.core.greeting.Greeter;
import org.verbena.core.plugin.Remote;
import org.verbena.core.stream.StreamLimits;
import org.verbena.core.stream.VbnStreams;
import org.verbena.hadoop.hdfs.settings.HdfsConf;
import org.verbena.hadoop.net.CoreSocketChannel;

/** A DataNode that restarts while nobody reads or writes there is no failure: the next connection goes by the core. */
class IdleDataNodeTest {
    private static final InetAddress HERE = InetAddress.getLoopbackAddress();
    private static final int SECONDS = 60;
    private static final int OFFSET = 20;
    private static final int TRIES = 100;

    private static int clients;

    private final CoreNode client = client();
    private VbnContext context;
    private InetSocketAddress data;
    private Greeter<InetAddress> greeter;
    private GreetingServer greeting;
    // Of the DataNode that runs:
    private VbnEngine engine;
    private VbnStreams streams;
    private CorePeerServer server;

    private static CoreNode client() {
        Configuration conf = new Configuration(false);
        conf.set("verbena.hdfs.auth", "none");
        conf.set("verbena.core.tl.enable", "self,shm");
        conf.setInt("verbena.hdfs.port.offset", OFFSET);
        conf.setInt("verbena.hdfs.connect.wait.ms", 600_000 - clients++); // settings, and so DataNodes, of each test alone
        return CoreNode.of(HdfsConf.of(conf));
    }

    @BeforeEach
    void start() throws Exception {
        context = VbnContext.open(new VbnConfig().set("tl.enable", "self,shm").set("security.auth", "none"));
        data = new InetSocketAddress(HERE, 1);
        startDataNode();
        greeter = new Greeter<>(Hello.MESSAGES, Hello.SERVICE, () -> engine.address());
        Random random = new Random();
        for (int i = 0; greeting == null; i++) {
            data = new InetSocketAddress(HERE, 20_000 + random.nextInt(12_000));
            try {
                greeting = new GreetingServer(new InetSocketAddress(HERE, data.getPort() + OFFSET), greeter);
            } catch (IOException e) {
                assertTrue(i < TRIES, e.getMessage()); // another process has the port: the next one then
            }
        }
        stopDataNode();
        startDataNode();
    }

    private void startDataNode() throws Exception {
        engine = context.startEngine("serving");
        streams = new VbnStreams(engine, Hello.MESSAGES, StreamLimits.DEFAULT);
        DataPorts ports = new DataPorts();
        streams.serve(Hello.SERVICE, ports);
        server = new CorePeerServer(ports, data, greeter);
    }

    private void stopDataNode() throws Exception {
        server.close();
        streams.close();
        engine.close();
    }

    @AfterEach
    void stop() throws Exception {
        greeting.close();
        stopDataNode();
        context.close();
    }

    private Remote<VbnPeer> remote() {
        return client.dataNodes().links().of(data, client.dataNodes()::link).remote;
    }

    private CoreSocketChannel opened() throws Exception {
        CoreSocketChannel channel = client.dataNodes().open(data);
        assertNotNull(channel, () -> "by TCP: " + remote().state() + ", " + client.dataNodes().obstacle(data));
        return channel;
    }

    /** Ends the DataNode and starts the next one at the same port, when the client knows of the end. */
    private void restart() throws Exception {
        CountDownLatch lost = new CountDownLatch(1);
        remote().peer().onLost((peer, cause) -> lost.countDown());
        stopDataNode();
        assertTrue(lost.await(SECONDS, TimeUnit.SECONDS), "the client hears of the end");
        startDataNode();
    }

    @Test
    void one_that_restarts_while_nobody_uses_it_is_reached_by_the_core_again_at_once() throws Exception {
        for (int i = 0; i < 3; i++) {
            CoreSocketChannel channel = opened();
            try (Peer accepted = server.accept()) {
                assertNotNull(accepted);
            }
            channel.close();
            restart();
            assertEquals(Remote.State.UNCONNECTED, remote().state());
        }
        opened().close();
    }

    @Test
    void a_stream_to_the_next_datanode_has_the_engine_of_the_one_that_it_accompanies() throws Exception {
        List<VbnStreams> own = client.serve(HERE, 2);
        for (VbnStreams streams : own) {
            DataNodes reached = client.dataNodes().by(streams.engine());
            CoreSocketChannel stream = reached.open(data);
            assertNotNull(stream, () -> "by TCP: " + reached.obstacle(data));
            assertSame(streams.engine(), stream.engine());
            stream.close();
        }
        assertSame(client.dataNodes(), client.dataNodes().by(engine), "an engine that nobody is served by");
        CoreSocketChannel alone = opened();
        assertFalse(own.stream().anyMatch(streams -> streams.engine() == alone.engine()));
        alone.close();
    }

    @Test
    void one_that_ends_while_a_stream_is_open_has_failed_and_is_reached_by_tcp_for_a_while() throws Exception {
        CoreSocketChannel channel = opened();
        restart();
        assertEquals(Remote.State.DOWN, remote().state());
        assertNull(client.dataNodes().open(data));
        channel.close();
    }
}
