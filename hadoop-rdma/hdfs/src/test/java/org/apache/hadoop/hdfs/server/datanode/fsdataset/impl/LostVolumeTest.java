// SPDX-License-Identifier: Apache-2.0
// A DataNode whose volume of the shared path another one has adopted, or is away.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.EOFException;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;

class LostVolumeTest {
    private static final int BYTES = 66_000;
    private static final int CHUNK = 512;
    private static final org.apache.hadoop.fs.Path COLD = new org.apache.hadoop.fs.Path("/cold");
    private static final org.apache.hadoop.fs.Path OWN = new org.apache.hadoop.fs.Path("/own");
    private static final org.apache.hadoop.fs.Path FILE = new org.apache.hadoop.fs.Path(COLD, "file");

    @TempDir
    Path work;
    private Path shared;
    private TierCluster cluster;
    private ExtendedBlock block;

    @BeforeEach
    void begin() throws Exception {
        begin("600000"); // nothing looks meanwhile
    }

    private void begin(String lease) throws Exception {
        shared = Files.createDirectory(work.resolve("shared"));
        cluster = new TierCluster(work, MemoryLedger.OWN + 8 * TierCluster.WHOLE, Map.of("verbena.hdfs.mode", "hhh-l",
            "verbena.hdfs.shared.dir", shared.toString(), "verbena.hdfs.shared.lease.ms", lease));
        cluster.files().mkdirs(COLD);
        cluster.files().setStoragePolicy(COLD, "COLD");
        LocalHdfs.until("a file lies on the shared path", () -> {
            try (FSDataOutputStream out = cluster.files().create(FILE)) {
                out.write(TierCluster.content("file", BYTES));
                out.hflush();
                block = LocalHdfs.block(cluster.files(), FILE).getBlock();
                return cluster.kept(block) == StorageType.ARCHIVE;
            } catch (IOException e) {
                return false; // the NameNode has not heard of the volume
            }
        });
    }

    @AfterEach
    void end() throws IOException {
        cluster.close();
    }

    private FsVolumeImpl volume() {
        return cluster.volume(StorageType.ARCHIVE);
    }

    /** Another process takes the data. */
    private Path adopt() throws IOException {
        Path data = volume().getCurrentDir().toPath().getParent();
        Files.writeString(data.resolveSibling("owner.2"), "node=other\n");
        return Files.move(data, data.resolveSibling("data.2"));
    }

    @Test
    void a_data_node_that_has_lost_its_volume_serves_it_again_when_it_gets_it_back() throws Exception {
        cluster.close();
        work = Files.createDirectory(work.resolve("again"));
        begin("1000");
        FsVolumeImpl lost = volume();
        Path beat = lost.getCurrentDir().toPath().getParent().resolveSibling("beat.2");
        Files.setLastModifiedTime(Files.createFile(beat), FileTime.fromMillis(1)); // it dies at once
        adopt();
        LocalHdfs.until("the volume is back", () -> {
            ReplicaInfo replica = cluster.replica(block);
            return replica != null && replica.getVolume() != lost;
        });
        LocalHdfs.untilKnown(cluster.files(), FILE, 1);
        assertArrayEquals(TierCluster.content("file", BYTES), read());
    }

    /** Whole chunks: of a part Hadoop reads the file by its name first. */
    @Test
    void a_former_owner_acknowledges_nothing_that_it_writes_to_files_which_it_still_has_open() throws Exception {
        FSDataOutputStream out = cluster.files().create(new org.apache.hadoop.fs.Path(COLD, "open"));
        out.write(new byte[CHUNK]);
        out.hflush();
        adopt();
        out.write(new byte[CHUNK]);
        assertThrows(IOException.class, out::hflush);
        assertThrows(IOException.class, out::close);
    }

    /** Something that began before the volume was adopted makes a folder by its former name. */
    private void makeAnew(String below) throws IOException {
        Files.createDirectories(volume().getCurrentDir().toPath().resolve(below));
    }

    @Test
    void a_former_owner_acknowledges_nothing_where_its_folders_were_made_anew() throws Exception {
        FSDataOutputStream out = cluster.files().create(new org.apache.hadoop.fs.Path(COLD, "open"));
        out.write(new byte[CHUNK]);
        out.hflush();
        adopt();
        makeAnew("");
        out.write(new byte[CHUNK]);
        assertThrows(IOException.class, out::hflush);
        assertThrows(IOException.class, out::close);
    }

    private ExtendedBlock writeToDisk() throws IOException {
        try (FSDataOutputStream out = cluster.files().create(OWN)) {
            out.write(TierCluster.content("own", BYTES));
        }
        ExtendedBlock own = LocalHdfs.block(cluster.files(), OWN).getBlock();
        assertEquals(StorageType.DISK, cluster.kept(own));
        return own;
    }

    private void assertIsWhole() throws IOException {
        try (var in = cluster.files().open(OWN)) {
            assertArrayEquals(TierCluster.content("own", BYTES), in.readAllBytes());
        }
    }

    @Test
    void an_owner_moves_a_replica_to_the_volume() throws Exception {
        ExtendedBlock own = writeToDisk();
        cluster.dataset().moveBlockAcrossStorage(own, StorageType.ARCHIVE, null);
        assertEquals(StorageType.ARCHIVE, cluster.kept(own));
        assertIsWhole();
    }

    /** Moves a replica to the volume, which is adopted between the choice of the volume and the copy. */
    private void move(MoveGuard.Action<?> meanwhile) throws Exception {
        ExtendedBlock own = writeToDisk();
        ReplicaInfo before = cluster.replica(own);
        try (FsVolumeReference to = volume().obtainReference()) {
            meanwhile.run();
            assertThrows(IOException.class, () -> cluster.dataset().moveBlock(own, before, to, false));
        }
        assertSame(before, cluster.replica(own));
        assertIsWhole();
    }

    @Test
    void a_former_owner_that_moves_a_replica_to_the_volume_makes_no_folder_by_the_name_that_it_had() throws Exception {
        Path data = volume().getCurrentDir().toPath().getParent();
        move(this::adopt);
        assertFalse(Files.exists(data));
    }

    /** As a process does that falls asleep within the copy. */
    @Test
    void a_replica_that_a_former_owner_moves_to_folders_that_were_made_anew_keeps_its_place() throws Exception {
        move(() -> {
            Path made = adopt();
            makeAnew(block.getBlockPoolId() + "/tmp");
            return made;
        });
    }

    /** What was written is no longer than what was acknowledged, so that a recovery takes the replica. */
    @Test
    void a_replica_whose_path_was_away_while_it_was_written_is_recovered() throws Exception {
        org.apache.hadoop.fs.Path file = new org.apache.hadoop.fs.Path(COLD, "open");
        FSDataOutputStream out = cluster.files().create(file, (short) 1);
        out.write(new byte[CHUNK]);
        out.hflush();
        Path away = Files.move(shared, work.resolve("away"));
        out.write(new byte[CHUNK]);
        assertThrows(IOException.class, out::hflush);
        Files.move(away, shared);
        assertThrows(IOException.class, out::close);
        LocalHdfs.until("the lease is recovered", () -> {
            try {
                return cluster.files().recoverLease(file);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        assertEquals(CHUNK, cluster.files().getFileStatus(file).getLen());
    }

    @Test
    void a_former_owner_makes_no_folder_by_the_name_that_the_volume_had() throws Exception {
        File folder = new File(volume().getFinalizedDir(block.getBlockPoolId()), "subdir30/subdir30");
        volume().getFileIoProvider().mkdirsWithExistsCheck(volume(), folder);
        assertEquals(List.of(), List.of(folder.list()));
        Path data = volume().getCurrentDir().toPath().getParent();
        adopt();
        assertThrows(IOException.class, () -> volume().getFileIoProvider().mkdirsWithExistsCheck(volume(), folder));
        assertFalse(Files.exists(data));
    }

    @Test
    void a_replica_that_is_to_be_deleted_while_the_path_is_away_is_remembered_with_its_files() throws Exception {
        Path away = Files.move(shared, work.resolve("away"));
        delete();
        assertNotNull(cluster.replica(block));
        Files.move(away, shared);
        assertArrayEquals(TierCluster.content("file", BYTES), read());
        delete();
        LocalHdfs.until("it is deleted", () -> cluster.replica(block) == null);
    }

    private void check() throws IOException {
        cluster.dataset().checkBlock(block, BYTES, ReplicaState.FINALIZED);
    }

    /** A DataNode that is to copy a replica takes one for corrupt whose file is missing or short, and so does the NameNode. */
    @Test
    void a_replica_whose_path_is_away_is_not_taken_for_a_damaged_one() throws Exception {
        check();
        Path away = Files.move(shared, work.resolve("away"));
        assertThrows(ReplicaNotFoundException.class, this::check);
        Files.move(away, shared);
        check();
        Path file = Path.of(cluster.replica(block).getBlockURI());
        byte[] content = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(content, BYTES - 1));
        assertThrows(EOFException.class, this::check);
        Files.delete(file);
        assertThrows(FileNotFoundException.class, this::check);
        Files.write(file, content);
        check();
    }

    private void delete() throws Exception {
        cluster.dataset().invalidate(block.getBlockPoolId(), new Block[] {block.getLocalBlock()});
        LocalHdfs.until("nothing is being deleted", () -> cluster.dataset().getPendingAsyncDeletions() == 0);
    }

    private byte[] read() throws IOException {
        try (var in = cluster.files().open(FILE)) {
            return in.readAllBytes();
        }
    }
}
