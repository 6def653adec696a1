// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.fs;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.ParallelClient;

/** Hadoop's HDFS of file contexts with another client: only a class of this package may give it one. */
public abstract class ParallelHdfs extends Hdfs {
    /**
     * Connects to a NameNode.
     *
     * @param limit largest file that is written at its close, in bytes; 0: none
     * @param smallReads whether small reads have a reader of their own
     */
    protected ParallelHdfs(URI uri, Configuration conf, long limit, boolean smallReads) throws IOException, URISyntaxException {
        super(uri, conf);
        DFSClient replaced = dfs;
        try {
            dfs = ParallelClient.of(uri, conf, getStatistics(), limit, smallReads);
        } finally {
            replaced.close();
        }
    }

    /** Whether the client is ours: not with an old Hadoop. */
    protected final boolean isParallel() {
        return dfs instanceof ParallelClient;
    }
}
