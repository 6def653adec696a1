// SPDX-License-Identifier: Apache-2.0
// What the DataNodes of this JVM log.
package org.apache.hadoop.hdfs;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;

/** Their lines, in their order, until it is closed. */
final class LoggedLines extends AppenderSkeleton implements AutoCloseable {
    private static final Logger DATANODES = Logger.getLogger("org.apache.hadoop.hdfs.server.datanode");

    private final List<String> lines = new CopyOnWriteArrayList<>();

    LoggedLines() {
        DATANODES.addAppender(this);
    }

    /** Those with all of these texts. */
    List<String> with(String... texts) {
        return lines.stream().filter(line -> Arrays.stream(texts).allMatch(line::contains)).toList();
    }

    @Override
    protected void append(LoggingEvent event) {
        lines.add(event.getRenderedMessage());
    }

    @Override
    public boolean requiresLayout() {
        return false;
    }

    @Override
    public void close() {
        DATANODES.removeAppender(this);
    }
}
