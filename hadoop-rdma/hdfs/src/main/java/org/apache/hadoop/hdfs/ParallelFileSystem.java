// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;

/** Hadoop's HDFS with another client: only a class of this package may give it one. */
public abstract class ParallelFileSystem extends DistributedFileSystem {
    /** For subclasses, which Hadoop makes by reflection. */
    protected ParallelFileSystem() {
    }

    /**
     * Largest file that is written at its close, in bytes; 0: none.
     *
     * @throws IllegalArgumentException when a setting is wrong
     */
    protected abstract long limit(Configuration conf);

    /**
     * Whether small reads have a reader of their own.
     *
     * @throws IllegalArgumentException when a setting is wrong
     */
    protected abstract boolean readsSmall(Configuration conf);

    @Override
    void initDFSClient(URI nameNode, Configuration conf) throws IOException {
        dfs = ParallelClient.of(nameNode, conf, statistics, limit(conf), readsSmall(conf));
    }

    /** Whether the client is ours: not in another class loader than Hadoop's, nor with an old Hadoop. */
    protected final boolean isParallel() {
        return getClient() instanceof ParallelClient;
    }
}
