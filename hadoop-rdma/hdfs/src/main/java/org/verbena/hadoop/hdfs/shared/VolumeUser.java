// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.shared;

import java.io.IOException;
import java.nio.file.Path;

/** Who serves the replicas of volumes that this process owns: the DataNode. */
public interface VolumeUser {
    /**
     * Serves a volume from now on.
     *
     * @param data Hadoop's volume
     * @throws IOException when it cannot
     */
    void serve(Path data) throws IOException;

    /**
     * Tells the NameNode all replicas once more.
     *
     * @return false when the NameNode does not know this DataNode yet
     */
    boolean report();

    /**
     * Serves the replicas that came while the path was away.
     *
     * @return whether there are any
     * @throws IOException when it cannot: it tries again at the next call
     */
    boolean catchUp() throws IOException;

    /**
     * Serves it no longer: another process owns it.
     *
     * @param data as it was given to {@link #serve}
     */
    void lost(Path data);
}
