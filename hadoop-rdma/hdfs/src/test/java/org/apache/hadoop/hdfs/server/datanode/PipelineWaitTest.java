// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;
import org.verbena.core.stream.StreamLimits;
import org.verbena.core.stream.VbnStreams;
import org.verbena.hadoop.net.CoreSocketChannel;

class PipelineWaitTest {
    private static final InetSocketAddress HERE = new InetSocketAddress("127.0.0.1", 1);
    private static final InetSocketAddress THERE = new InetSocketAddress("127.0.0.1", 2);

    private static CoreSocketChannel channel(VbnStreams streams, VbnPeer peer) throws IOException {
        CoreSocketChannel channel = new CoreSocketChannel(streams.open(peer, 1, new byte[0]), HERE, THERE, () -> { });
        channel.configureBlocking(false);
        return channel;
    }

    /** As a connected socket whose stream this is. */
    private static Downstream next(CoreSocketChannel channel) {
        return new Downstream("next", new Socket() {
            @Override
            public SocketChannel getChannel() {
                return channel;
            }
        }, 0);
    }

    @Test
    void a_wait_that_cannot_begin_leaves_no_selector_at_the_stream_of_the_client() throws Exception {
        try (VbnContext context = VbnContext.open(new VbnConfig().set("tl.enable", "self,shm").jobKey(new byte[32]));
                VbnEngine remote = context.startEngine("remote"); VbnEngine local = context.startEngine("local");
                VbnStreams server = new VbnStreams(remote, 1, StreamLimits.DEFAULT);
                VbnStreams client = new VbnStreams(local, 1, StreamLimits.DEFAULT)) {
            server.serve(1, (stream, hello) -> true);
            VbnPeer peer = local.connect(remote.address(), null);
            CoreSocketChannel to = channel(client, peer); // ends before the other one
            try (CoreSocketChannel from = channel(client, peer)) {
                new PipelineWait(from, 0, next(to), null).close();
                assertFalse(from.isRegistered());
                to.close();
                assertThrows(ClosedChannelException.class, () -> new PipelineWait(from, 0, next(to), null));
                assertFalse(from.isRegistered());
                assertTrue(from.isOpen());
            }
        }
    }
}
