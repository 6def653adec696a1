// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.shared;

import java.io.IOException;
import java.util.Map;

/** What the NameNode knows of DataNodes. */
public interface NameNodeView {
    /**
     * Asks for the DataNodes that may be alive.
     *
     * @return by identity, a text that changes with each heartbeat. Absent: dead, or unknown. Of a DataNode in maintenance, a text
     *     that is always another
     * @throws IOException when the NameNode does not tell
     */
    Map<String, String> heartbeats() throws IOException;
}
