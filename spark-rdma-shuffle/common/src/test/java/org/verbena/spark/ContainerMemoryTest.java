// SPDX-License-Identifier: Apache-2.0
// Limits in trees of control groups as containers and cluster managers make them.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.apache.spark.resource.ExecutorResourceRequests;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.plugin.ControlGroups;
import org.verbena.core.plugin.ControlGroups.Limit;

class ContainerMemoryTest {
    private static final long MIB = 1 << 20;

    @TempDir
    Path root;

    private void write(String path, String text) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
    }

    private void unified(String mounted, String group) throws IOException {
        write("proc/self/cgroup", "0::" + group);
        write("proc/self/mountinfo", "23 1 8:1 / / rw - ext4 /dev/root rw\n30 23 0:26 " + mounted
            + " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate");
    }

    private void assertLimit(long bytes) throws IOException {
        assertEquals(bytes, ControlGroups.memoryLimit(root));
    }

    @Test
    void theGroupOfTheProcessCountsNotTheRoot() throws IOException {
        unified("/", "/yarn/container_7");
        write("sys/fs/cgroup/yarn/container_7/memory.max", "1073741824");
        assertLimit(1 << 30);
    }

    @Test
    void theLowestLimitOnTheWayUpCounts() throws IOException {
        unified("/", "/kubepods/pod1/container");
        write("sys/fs/cgroup/kubepods/pod1/container/memory.max", "max");
        write("sys/fs/cgroup/kubepods/pod1/memory.max", "2147483648");
        write("sys/fs/cgroup/kubepods/memory.max", "34359738368");
        assertLimit(2L << 30);
        write("sys/fs/cgroup/kubepods/pod1/container/memory.high", "1000000000");
        assertLimit(1_000_000_000);
    }

    @Test
    void insideAContainerTheMountIsTheGroup() throws IOException {
        unified("/", "/");
        write("sys/fs/cgroup/memory.max", "3221225472");
        assertLimit(3L << 30);
        unified("/", "/../../system.slice"); // seen from a namespace that the process has left
        assertLimit(3L << 30);
    }

    @Test
    void versionOneHasAHierarchyOfItsOwnForMemory() throws IOException {
        write("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/");
        write("proc/self/mountinfo", "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
            + "36 31 0:33 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n"
            + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4294967296");
        write("sys/fs/cgroup/cpu/memory.limit_in_bytes", "1");
        assertLimit(4L << 30);
    }

    @Test
    void withoutLimitOrControlGroupsThereIsNone() throws IOException {
        assertLimit(Long.MAX_VALUE);
        unified("/", "/user.slice");
        write("sys/fs/cgroup/user.slice/memory.max", "max");
        assertLimit(Long.MAX_VALUE);
    }

    /** Holder and bytes of the limits, seen from a process in this group. */
    private Map<String, Long> limits(String mounted, String group) throws IOException {
        unified(mounted, group);
        return ControlGroups.memoryLimits(root).stream().collect(Collectors.toMap(Limit::holder, Limit::bytes));
    }

    @Test
    void containersHaveLimitsOfTheirOwnAndShareThoseOfGroupsAbove() throws IOException {
        write("sys/fs/cgroup/pods/memory.max", "8000");
        for (String pod : List.of("1", "2")) {
            write("sys/fs/cgroup/pods/" + pod + "/memory.max", "2000");
            write("sys/fs/cgroup/pods/" + pod + "/memory.high", "1000");
        }
        Map<String, Long> first = limits("/", "/pods/1");
        Map<String, Long> second = limits("/", "/pods/2");
        assertEquals(List.of(1000L, 8000L), first.values().stream().sorted().toList());
        assertEquals(List.of(1000L, 8000L), second.values().stream().sorted().toList());
        Map<String, Long> both = first.entrySet().stream().filter(limit -> second.containsKey(limit.getKey()))
            .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
        assertEquals(List.of(8000L), List.copyOf(both.values()), "the one that is shared");
    }

    /** A container's own mount shows its group, and none above, at another path than the host's. */
    @Test
    void aGroupHasTheSameNameFromInsideAndOutside() throws IOException {
        write("sys/fs/cgroup/pods/1/memory.max", "2000");
        Map<String, Long> outside = limits("/", "/pods/1");
        write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup/pods/1 rw - cgroup2 cgroup2 rw");
        write("proc/self/cgroup", "0::/");
        assertEquals(outside.keySet(), ControlGroups.memoryLimits(root).stream().map(Limit::holder)
            .collect(Collectors.toSet()));
    }

    private static long asked(String master, String... settings) {
        SparkConf conf = new SparkConf(false).set("spark.master", master).set("spark.executor.memory", "8g");
        for (String setting : settings) {
            String[] parts = setting.split("=", 2);
            conf.set(parts[0], parts[1]);
        }
        return ContainerMemory.of(conf, List.of(), 8192 * MIB).limit();
    }

    @Test
    void onYarnAndKubernetesTheLimitIsWhatSparkAsksFor() {
        assertEquals(Long.MAX_VALUE, asked("spark://host:7077"));
        assertEquals(9011 * MIB, asked("yarn") / MIB * MIB);
        assertEquals((8192 + 4096) * MIB, asked("yarn", "spark.executor.memoryOverhead=4g"));
        assertEquals((8192 + 4096) * MIB, asked("k8s://https://host", "spark.executor.memoryOverhead=4096"));
        assertEquals((8192 + 2048 + 1024 + 512) * MIB, asked("yarn", "spark.executor.memoryOverhead=2g",
            "spark.memory.offHeap.enabled=true", "spark.memory.offHeap.size=1g", "spark.executor.pyspark.memory=512m"));
    }

    private static SparkConf large() {
        return new SparkConf(false).set("spark.master", "yarn").set("spark.executor.memory", "8g")
            .set("spark.executor.memoryOverhead", "4g");
    }

    /** A heap that is not the configured one is that of another resource profile, with Spark's least overhead at least. */
    @Test
    void anExecutorOfAnotherProfileHasAContainerOfAnotherSize() {
        ContainerMemory small = ContainerMemory.of(large(), List.of(), 2048 * MIB);
        assertEquals((2048 + 384) * MIB, small.limit());
        assertTrue(small.room(1) < 0, small.sum(1));
        assertEquals((16384 + 1638) * MIB, ContainerMemory.of(large(), List.of(), 16384 * MIB).limit(), MIB);
        assertEquals((8192 + 4096) * MIB, ContainerMemory.of(large(), List.of(), 7800 * MIB).limit(),
            "a collector may count less than all as heap");
    }

    @Test
    void aProfileThatSaysItsSizesIsTakenAtItsWord() {
        ResourceProfile profile = new ResourceProfileBuilder()
            .require(new ExecutorResourceRequests().memory("2g").memoryOverhead("1g").pysparkMemory("512m")).build();
        AskedMemory asked = AskedMemory.byProfile(large(), profile);
        assertEquals((2048 + 1024 + 512) * MIB, asked.sum());
        assertEquals(512 * MIB, asked.python());
        ResourceProfile heap = new ResourceProfileBuilder().require(new ExecutorResourceRequests().memory("2g")).build();
        assertEquals((2048 + 4096) * MIB, AskedMemory.byProfile(large(), heap).sum(), "the rest is the default profile's");
    }

    @Test
    void outsideOfContainersTheHostIsTheLimit() {
        SparkConf conf = new SparkConf(false).set("spark.executor.cores", "1");
        ContainerMemory none = ContainerMemory.of(conf, List.of(), 1024 * MIB);
        assertEquals((4096 - 1024 - 384 - 192) * MIB, none.on(4096 * MIB).room(1));
        assertTrue(none.on(4096 * MIB).sum(1).startsWith("host of 4096 MiB less 1024 MiB of heap"), none.on(4096 * MIB).sum(1));
        ContainerMemory container = ContainerMemory.of(conf, List.of(new Limit("pod", 3072 * MIB)), 1024 * MIB);
        assertEquals(3072 * MIB, container.on(4096 * MIB).limit());
        assertEquals(2048 * MIB, container.on(2048 * MIB).limit());
    }
}
