// SPDX-License-Identifier: Apache-2.0
// Hadoop's own NameNode and DataNodes in this JVM, and clients with our file system.
package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.verbena.hadoop.hdfs.VerbenaFileSystem;
import org.verbena.hadoop.hdfs.VerbenaHdfs;

/** DataNodes with one folder each. */
final class WriteCluster extends LocalHdfs {
    static final int BLOCK = 4 << 20;

    WriteCluster(Path work, int count) throws Exception {
        this(work, count, Map.of());
    }

    /** more: settings beside those of all these clusters, or in their place. */
    WriteCluster(Path work, int count, Map<String, String> more) throws Exception {
        super(work, Map.of("dfs.blocksize", Integer.toString(BLOCK), "dfs.namenode.redundancy.interval.seconds", "50ms",
            "fs.hdfs.impl", VerbenaFileSystem.class.getName(), "fs.AbstractFileSystem.hdfs.impl", VerbenaHdfs.class.getName(),
            "dfs.datanode.socket.reuse.keepalive", "600000", // no stream ends between two reads
            "dfs.block.scanner.volume.bytes.per.second", "0"), more); // damage is found by readers
        for (int i = 0; i < count; i++) {
            start(work.resolve("data" + i).toUri().toString());
        }
        untilLive(count);
    }

    /** Hedged reads are those of all clients of a JVM, once one has them. */
    static void endHedgedReads() throws ReflectiveOperationException {
        Field pool = DFSClient.class.getDeclaredField("HEDGED_READ_THREAD_POOL");
        pool.setAccessible(true);
        pool.set(null, null);
    }

    /** Of a file below the root. */
    static org.apache.hadoop.fs.Path path(String name) {
        return new org.apache.hadoop.fs.Path("/" + name);
    }

    /** Writes a file, and waits until the NameNode knows its replica at each DataNode. */
    byte[] write(DistributedFileSystem files, String name, int size) throws IOException, InterruptedException {
        byte[] content = content(size);
        try (FSDataOutputStream out = files.create(path(name), (short) dataNodes().size())) {
            out.write(content);
        }
        untilKnown(files, path(name), dataNodes().size());
        return content;
    }

    /** The data files of each replica of a file's first block. */
    List<Path> replicas(DistributedFileSystem files, String name) throws IOException {
        return replicas(block(files, path(name)).getBlock());
    }

    DataNode dataNode(int index) {
        return dataNodes().get(index);
    }
}
