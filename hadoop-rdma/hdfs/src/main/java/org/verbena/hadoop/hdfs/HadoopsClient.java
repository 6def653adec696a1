// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.URI;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.util.VersionInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Why files have Hadoop's own client in spite of Verbena's file systems: a process says it once. */
final class HadoopsClient {
    private static final Logger LOG = LoggerFactory.getLogger(HadoopsClient.class);
    private static final AtomicBoolean TOLD = new AtomicBoolean();
    private static final String APART = "Verbena's jar has another class loader than Hadoop's client; put it beside Hadoop's jars";

    private HadoopsClient() {
    }

    private static boolean isApart() {
        return DFSClient.class.getClassLoader() != HadoopsClient.class.getClassLoader();
    }

    /** Called when a file system has Hadoop's client, and its settings ask for Verbena's. */
    static void tell() {
        if (TOLD.compareAndSet(false, true)) {
            LOG.warn("Verbena: Hadoop's client reads and writes all files: {}", isApart() ? APART : "the client of Hadoop "
                + VersionInfo.getVersion() + " is made in another way; use Hadoop 3.4 or later, or remove fs.hdfs.impl and "
                + "fs.AbstractFileSystem.hdfs.impl");
        }
    }

    /**
     * The address, for a class that extends one of Hadoop's with a constructor for its package.
     *
     * @throws IOException with the cure, where Hadoop's classes belong to another class loader
     */
    static URI reachable(URI address) throws IOException {
        if (isApart()) {
            throw new IOException(VerbenaHdfs.class.getSimpleName() + " cannot open " + address + ": " + APART
                + ", or remove fs.AbstractFileSystem.hdfs.impl");
        }
        return address;
    }
}
