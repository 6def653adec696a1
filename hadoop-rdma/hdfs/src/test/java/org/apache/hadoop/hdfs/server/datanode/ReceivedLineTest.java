// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a DataNode logs of a block that a client has written. */
class ReceivedLineTest {
    private static final Logger DATANODE = Logger.getLogger(DataNode.class.getName());
    private static final Logger TRACE = Logger.getLogger(DataNode.CLIENT_TRACE_LOG.getName());

    /** The lines at INFO that DataNodes begin with "Received", without numbers, addresses and folders. */
    private static final class Received extends AppenderSkeleton implements AutoCloseable {
        private final List<String> lines = new CopyOnWriteArrayList<>();

        @Override
        protected void append(LoggingEvent event) {
            String text = event.getRenderedMessage();
            if (event.getLoggerName().equals(DATANODE.getName()) && event.getLevel() == Level.INFO
                    && text.startsWith("Received ")) {
                lines.add(text.replaceAll("BP-\\S+:blk_\\d+_\\d+", "BLOCK").replaceAll("volume \\S+", "volume VOLUME")
                    .replaceAll("from /127.0.0.1:\\d+", "from ADDRESS"));
            }
        }

        @Override
        public boolean requiresLayout() {
            return false;
        }

        @Override
        public void close() {
            DATANODE.removeAppender(this);
        }
    }

    /** The lines about one block that is written now. */
    private static List<String> written(WireWriter closed) throws Exception {
        Received received = new Received();
        DATANODE.addAppender(received);
        try (received; WireWriter writer = closed) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            assertTrue(writer.send(0, 0, ReceiverCluster.content(1000)).ack().isSuccess());
            assertTrue(writer.send(1, 1000, null).ack().isSuccess());
        }
        return received.lines;
    }

    private static void withTrace(Level level, ThrowingRunnable run) throws Exception {
        Level before = TRACE.getLevel();
        TRACE.setLevel(level);
        try {
            run.run();
        } finally {
            TRACE.setLevel(before);
        }
    }

    @FunctionalInterface
    private interface ThrowingRunnable {
        void run() throws Exception;
    }

    @Test
    void a_block_that_clienttrace_does_not_log_has_hadoops_line(@TempDir Path work) throws Exception {
        try (ReceiverCluster cluster = new ReceiverCluster(work, Map.of())) {
            LocatedBlock[] blocks = new LocatedBlock[4];
            for (int i = 0; i < blocks.length; i++) {
                blocks[i] = cluster.allocate();
            }
            withTrace(Level.WARN, () -> {
                List<String> hadoops = written(WireWriter.byTcp(blocks[0]));
                assertEquals(1, hadoops.size());
                long taken = XceiverBridge.blocksTaken();
                assertEquals(hadoops, written(new WireWriter(cluster, blocks[1])));
                assertEquals(taken + 1, XceiverBridge.blocksTaken());
            });
            withTrace(Level.INFO, () -> {
                assertEquals(List.of(), written(WireWriter.byTcp(blocks[2])));
                assertEquals(List.of(), written(new WireWriter(cluster, blocks[3])));
            });
        }
    }
}
