// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;

/** A volume of the shared path smaller than the gibibyte that Hadoop's policies keep free. */
class TierChooserTest {
    private static final org.apache.hadoop.fs.Path COLD = new org.apache.hadoop.fs.Path("/cold");
    private static final int BLOCKS = 4;

    @TempDir
    Path work;

    private static StorageType written(TierCluster cluster, org.apache.hadoop.fs.Path file) throws IOException {
        try (OutputStream out = cluster.files().create(file, true)) {
            out.write(TierCluster.content(file.getName(), TierCluster.BLOCK));
        }
        return LocalHdfs.block(cluster.files(), file).getStorageTypes()[0];
    }

    @Test
    void a_small_volume_of_the_shared_path_takes_replicas_until_it_is_full() throws Exception {
        Path shared = Files.createDirectory(work.resolve("shared"));
        try (TierCluster cluster = new TierCluster(work, MemoryLedger.OWN + 8 * TierCluster.WHOLE, Map.of("verbena.hdfs.mode",
                "hhh-l", "verbena.hdfs.shared.dir", shared.toString(), "verbena.hdfs.shared.lease.ms", "600000",
                "verbena.hdfs.shared.size", Integer.toString(BLOCKS * (int) TierCluster.WHOLE)))) {
            cluster.files().mkdirs(COLD);
            cluster.files().setStoragePolicy(COLD, "COLD");
            LocalHdfs.until("the NameNode has heard of the volume", () -> {
                try {
                    return written(cluster, new org.apache.hadoop.fs.Path(COLD, "0")) == StorageType.ARCHIVE;
                } catch (IOException e) {
                    return false; // it finds no place for such a file yet
                }
            });
            for (int i = 1; i < BLOCKS; i++) {
                assertEquals(StorageType.ARCHIVE, written(cluster, new org.apache.hadoop.fs.Path(COLD, Integer.toString(i))));
            }
        }
    }
}
