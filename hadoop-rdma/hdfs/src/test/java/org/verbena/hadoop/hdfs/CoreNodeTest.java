// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.net.Peer;
import org.apache.hadoop.net.SocketInputStream;
import org.apache.hadoop.net.SocketOutputStream;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnPeer;
import org.verbena.core.greeting.Greeter;
import org.verbena.core.stream.BlockingStream;
import org.verbena.core.stream.VbnStream;
import org.verbena.core.stream.VbnStreams;
import org.verbena.hadoop.hdfs.settings.HdfsConf;
import org.verbena.hadoop.net.CoreSocketChannel;

/** A DataNode on a host with many processors has several engines for the streams that others open. */
class CoreNodeTest {
    private static final int PORT = 9866;
    private static final int MILLIS = 60_000;

    @Test
    void there_is_an_engine_for_every_four_processors_one_at_least_and_four_at_most() {
        for (int[] expected : new int[][] {{1, 1}, {4, 1}, {7, 1}, {8, 2}, {15, 3}, {16, 4}, {256, 4}}) {
            assertEquals(expected[1], CoreNode.engines(expected[0]), expected[0] + " processors");
        }
    }

    @Test
    void streams_of_all_engines_reach_the_data_node_and_wait_on_their_own() throws Exception {
        Configuration conf = new Configuration(false);
        conf.set("verbena.hdfs.auth", "none");
        conf.set("verbena.core.tl.enable", "self,shm");
        CoreNode node = CoreNode.of(HdfsConf.of(conf));
        InetAddress here = InetAddress.getLoopbackAddress();
        List<VbnStreams> serving = node.serve(here, 3);
        assertSame(serving, node.serve(here));
        Greeter<InetAddress> greeter = new Greeter<>(Hello.MESSAGES, Hello.SERVICE, () -> serving.get(0).engine().address());
        InetSocketAddress data = new InetSocketAddress(here, PORT);
        CorePeerServer server = new CorePeerServer(node.ports(), data, greeter);
        VbnStreams calling = node.start(here);
        for (int round = 0; round < 2; round++) { // the selectors of the first round are used again, for other engines
            for (VbnStreams streams : serving) {
                VbnPeer peer = calling.engine().connect(streams.engine().address(), null);
                VbnStream stream = calling.open(peer, Hello.SERVICE, new Hello(greeter.greet(here).token(), 7, PORT).encode());
                new BlockingStream(stream).awaitAccepted(MILLIS);
                try (CoreSocketChannel ours = new CoreSocketChannel(stream, data, data, () -> { }); Peer theirs = server.accept()) {
                    ours.configureBlocking(false);
                    answers(ours, theirs, "round " + round);
                }
            }
        }
        server.close();
    }

    /** The DataNode's end waits for bytes, and then the client's. */
    private static void answers(CoreSocketChannel ours, Peer theirs, String text) throws Exception {
        byte[] sent = text.getBytes(StandardCharsets.US_ASCII);
        Thread echo = new Thread(() -> {
            try {
                theirs.getOutputStream().write(read(theirs.getInputStream(), sent.length));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        echo.start();
        new SocketOutputStream(ours, MILLIS).write(sent);
        assertArrayEquals(sent, read(new SocketInputStream(ours, MILLIS), sent.length));
        echo.join();
    }

    private static byte[] read(InputStream in, int length) throws IOException {
        byte[] bytes = new byte[length];
        new DataInputStream(in).readFully(bytes);
        return bytes;
    }
}
