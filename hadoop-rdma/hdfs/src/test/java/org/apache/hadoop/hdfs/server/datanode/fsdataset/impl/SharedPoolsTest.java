// SPDX-License-Identifier: Apache-2.0
// Two name spaces on one DataNode, whose path that all hosts share goes away and comes back.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.StartupOption;
import org.apache.hadoop.hdfs.server.datanode.XceiverBridge;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;

class SharedPoolsTest {
    private static final int BYTES = 66_000;
    private static final org.apache.hadoop.fs.Path COLD = new org.apache.hadoop.fs.Path("/cold");
    private static final String ADDRESS = "dfs.namenode.rpc-address.";

    @TempDir
    Path work;
    private Path shared;
    private TierCluster cluster;
    private NameNode other;
    private DistributedFileSystem otherFiles;

    @BeforeEach
    void begin() throws Exception {
        shared = Files.createDirectory(work.resolve("shared"));
        cluster = new TierCluster(work, MemoryLedger.OWN + 8 * TierCluster.WHOLE, Map.of("dfs.nameservices", "one",
            "verbena.hdfs.mode", "hhh-l", "verbena.hdfs.shared.dir", shared.toString(), "verbena.hdfs.shared.lease.ms", "6000"));
    }

    @AfterEach
    void end() throws Exception {
        cluster.close();
        if (other != null) {
            otherFiles.close();
            other.stop();
        }
    }

    /** One more NameNode of the cluster; no DataNode knows it. */
    private void startOther() throws IOException {
        Configuration conf = new Configuration(cluster.conf());
        conf.unset("dfs.nameservices");
        conf.set("dfs.namenode.name.dir", work.resolve("other").toUri().toString());
        conf.set("fs.defaultFS", "hdfs://127.0.0.1:0");
        conf.set("dfs.namenode.http-address", "127.0.0.1:0");
        String pool = cluster.write("of the first", BYTES).getBlockPoolId();
        StartupOption.FORMAT.setClusterId(XceiverBridge.namespace(cluster.dataNode(), pool).getClusterID());
        try {
            NameNode.format(conf);
        } finally {
            StartupOption.FORMAT.setClusterId("");
        }
        other = NameNode.createNameNode(new String[0], conf);
        otherFiles = (DistributedFileSystem) FileSystem.newInstance(URI.create("hdfs://" + addressOf(other)), conf);
    }

    private static String addressOf(NameNode node) {
        return "127.0.0.1:" + node.getNameNodeAddress().getPort();
    }

    /** Tells the DataNode its name spaces. */
    private void use(String names) throws IOException {
        Configuration conf = new Configuration(cluster.conf());
        conf.set("dfs.nameservices", names);
        conf.set(ADDRESS + "one", URI.create(cluster.conf().get("fs.defaultFS")).getAuthority());
        conf.set(ADDRESS + "two", addressOf(other));
        cluster.dataNode().refreshNamenodes(conf);
    }

    /** A path that was away gets no new replicas for a minute: for the writes of this test it is over. */
    private void endPause() {
        try {
            Object trouble = member(cluster.dataset().sharedTier(), "trouble");
            synchronized (trouble) {
                Field any = trouble.getClass().getDeclaredField("any");
                any.setAccessible(true);
                any.setBoolean(trouble, false);
            }
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static Object member(Object owner, String name) throws ReflectiveOperationException {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    /**
     * Writes a file until it lies on the shared path: the NameNode hears of the volume at some time, and a DataNode that has not
     * looked at the path for a lease puts its replicas elsewhere.
     */
    private ExtendedBlock write(DistributedFileSystem files, String name) throws Exception {
        files.mkdirs(COLD);
        files.setStoragePolicy(COLD, "COLD");
        TierCluster.until(name + " is on the shared path", () -> {
            endPause();
            try {
                create(files, name);
                StorageType[] types = located(files, name).getStorageTypes();
                return types.length == 1 && types[0] == StorageType.ARCHIVE;
            } catch (IOException e) {
                return false;
            }
        });
        return located(files, name).getBlock();
    }

    private static void create(DistributedFileSystem files, String name) throws IOException {
        try (OutputStream out = files.create(new org.apache.hadoop.fs.Path(COLD, name))) {
            out.write(TierCluster.content(name, BYTES));
        }
    }

    private static LocatedBlock located(DistributedFileSystem files, String name) throws IOException {
        return files.getClient().getLocatedBlocks(new org.apache.hadoop.fs.Path(COLD, name).toString(), 0).get(0);
    }

    private static void expect(DistributedFileSystem files, String name) throws IOException {
        try (var in = files.open(new org.apache.hadoop.fs.Path(COLD, name))) {
            assertArrayEquals(TierCluster.content(name, BYTES), in.readAllBytes());
        }
    }

    private boolean serves(String pool) {
        try {
            return XceiverBridge.namespace(cluster.dataNode(), pool) != null
                && cluster.dataset().dataStorage.getBPStorage(pool) != null && cluster.dataset().getVolumeList().stream()
                    .allMatch(volume -> volume instanceof SharedVolume || volume.getBlockPoolSlices().containsKey(pool));
        } catch (IOException e) {
            return false;
        }
    }

    private boolean hasLeft(String pool) {
        return cluster.dataset().dataStorage.getBPStorage(pool) == null;
    }

    @Test
    void a_name_space_that_comes_while_the_path_is_away_gets_its_replicas_there_when_the_path_is_back() throws Exception {
        startOther();
        use("one,two");
        ExtendedBlock one = write(cluster.files(), "one");
        ExtendedBlock two = write(otherFiles, "two");
        use("one");
        TierCluster.until("the second name space has left", () -> hasLeft(two.getBlockPoolId()));

        Path away = Files.move(shared, work.resolve("away"));
        use("one,two");
        TierCluster.until("the second name space is served", () -> serves(two.getBlockPoolId()));
        assertArrayEquals(TierCluster.content("of the first", BYTES), cluster.read("of the first"));
        assertNotNull(cluster.replica(one), "a volume stays while its path is away");
        assertNull(cluster.replica(two));
        assertFalse(Files.exists(shared), "nobody makes folders where the path was");

        Files.move(away, shared);
        TierCluster.until("the replica of the second name space is there", () -> cluster.replica(two) != null);
        TierCluster.until("its NameNode knows it", () -> {
            try {
                return located(otherFiles, "two").getLocations().length == 1;
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        expect(cluster.files(), "one");
        expect(otherFiles, "two");
        write(otherFiles, "more");
        expect(otherFiles, "more");
    }
}
