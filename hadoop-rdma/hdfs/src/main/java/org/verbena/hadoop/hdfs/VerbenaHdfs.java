// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ParallelHdfs;

/** {@link VerbenaFileSystem} for programs that use file contexts, by {@code fs.AbstractFileSystem.hdfs.impl}. */
public final class VerbenaHdfs extends ParallelHdfs {
    /** Hadoop calls it by reflection. */
    VerbenaHdfs(URI uri, Configuration conf) throws IOException, URISyntaxException {
        super(HadoopsClient.reachable(uri), conf, VerbenaFileSystem.limitOf(conf), VerbenaFileSystem.readsSmallOf(conf));
        if (VerbenaFileSystem.wantsOwnClient(conf) && !isParallel()) {
            HadoopsClient.tell();
        }
    }
}
