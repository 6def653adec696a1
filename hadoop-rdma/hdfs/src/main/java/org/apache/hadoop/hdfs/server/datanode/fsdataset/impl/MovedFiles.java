// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.IOException;
import java.util.function.Supplier;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;

/** Looks up a replica again when its files have moved between the look-up and their use, which Hadoop does without a lock. */
final class MovedFiles {
    private MovedFiles() {
    }

    /**
     * Uses a replica's files.
     *
     * @param replica tells the replica of this moment
     * @param use looks the replica up by itself
     * @throws IOException of the use, if the replica has stayed the same
     */
    static <T> T look(Supplier<ReplicaInfo> replica, MoveGuard.Action<T> use) throws IOException {
        for (ReplicaInfo before = replica.get();;) {
            try {
                return use.run();
            } catch (IOException e) { // that a file is missing comes as one of several kinds
                ReplicaInfo now = replica.get();
                if (now == before) {
                    throw e;
                }
                before = now;
            }
        }
    }
}
