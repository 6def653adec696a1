// SPDX-License-Identifier: Apache-2.0
// What Spark's own writers leave behind when their task dies, on the real native library.
package org.verbena.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.spark.store.DataDirectory;
import org.verbena.spark.store.DiskFiles;
import org.verbena.spark.store.SlabStore;
import scala.Option;

@Timeout(60)
class CombineOutputTest {
    @TempDir
    Path disk;
    private VbnContext context;
    private DataDirectory directory;
    private SlabStore store;
    private TaskContextImpl task;

    @BeforeEach
    void open() throws IOException {
        context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
        directory = DataDirectory.create(Path.of("/dev/shm"), "combine-" + ProcessHandle.current().pid(),
            disk.getFileName().toString());
        store = new SlabStore(context, directory.path(), 8 << 20, 64 << 10, false, new DiskFiles(disk));
        task = TaskContext$.MODULE$.empty();
        TaskContext$.MODULE$.setTaskContext(task);
    }

    @AfterEach
    void close() throws IOException {
        TaskContext$.MODULE$.unset();
        store.close();
        directory.close();
        context.close();
    }

    private ShuffleMapOutputWriter writer() {
        return CombineOutput.writer(store, 1, 2, 2);
    }

    private static void write(ShuffleMapOutputWriter writer, int partition, int bytes) throws IOException {
        try (OutputStream out = writer.getPartitionWriter(partition).openStream()) {
            out.write(new byte[bytes]);
        }
    }

    private List<Path> openFiles() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.filter(Files::isSymbolicLink).map(CombineOutputTest::target)
                .filter(file -> file.startsWith(disk.toAbsolutePath())).toList();
        }
    }

    private static Path target(Path link) {
        try {
            return Files.readSymbolicLink(link);
        } catch (IOException e) {
            return link; // closed meanwhile
        }
    }

    /** SortShuffleWriter never calls abort. */
    @Test
    void aTaskThatDiesInSparksSorterLeavesNoMemoryFileOrDescriptor() throws IOException {
        ShuffleMapOutputWriter writer = writer();
        write(writer, 0, 12 << 20);
        assertTrue(store.usedBytes() > 0);
        assertEquals(1, openFiles().size());
        task.markTaskCompleted(Option.apply(new IllegalStateException("the sorter fails")));
        assertEquals(0, store.usedBytes());
        assertEquals(List.of(), openFiles());
        assertEquals(0, disk.toFile().list().length);
    }

    @Test
    void theEndOfATaskThatCommittedTakesNothingAway() throws IOException {
        ShuffleMapOutputWriter writer = writer();
        write(writer, 1, 1000);
        writer.commitAllPartitions(new long[2]);
        task.markTaskCompleted(Option.empty());
        assertNotNull(store.find(1, 2));
        store.removeShuffle(1);
        assertEquals(0, store.usedBytes());
    }
}
