// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.plugin.Finding;
import org.verbena.core.plugin.HostReport;

/** What an administrator may forget beside the two classes. */
class ShuffleCheckTest {
    private static final String CLASSES = "/classes/";

    @TempDir
    Path folder;
    private final Configuration conf = new Configuration(false);

    @BeforeEach
    void nameTheClasses() {
        conf.set("yarn.nodemanager.aux-services", "spark_shuffle, mapreduce_shuffle");
        conf.set("yarn.nodemanager.aux-services.mapreduce_shuffle.class", VerbenaShuffleHandler.class.getName());
        conf.set("mapreduce.job.reduce.shuffle.consumer.plugin.class", VerbenaShuffle.class.getName());
        conf.set("mapreduce.framework.name", "yarn");
        conf.set("mapreduce.reduce.memory.mb", "2048");
        conf.set("mapreduce.reduce.java.opts", "-Xmx1024m");
    }

    private String check(String jar) {
        HostReport report = new HostReport();
        ShuffleCheck.run(conf, jar, report);
        return String.join("\n", report.findings().stream().map(Finding::toString).toList());
    }

    private void expect(String jar, String line) {
        String text = check(jar);
        assertTrue(text.contains(line), text);
    }

    private void expectGood(String jar) {
        String text = check(jar);
        assertFalse(text.contains("BAD") || text.contains("warn"), text);
    }

    @Test
    void a_service_that_no_node_manager_starts_is_said() {
        expectGood(CLASSES);
        conf.set("yarn.nodemanager.aux-services", "spark_shuffle");
        expect(CLASSES, "BAD   yarn.nodemanager.aux-services is spark_shuffle: a NodeManager with these files serves no map "
            + "outputs, and jobs fail; add mapreduce_shuffle to it in yarn-site.xml");
        conf.unset("yarn.nodemanager.aux-services");
        expect(CLASSES, "warn  yarn.nodemanager.aux-services is not set: ");
        conf.set("yarn.nodemanager.aux-services.manifest.enabled", "true"); // another file lists them
        expectGood(CLASSES);
    }

    @Test
    void hadoops_default_of_jobs_without_yarn_is_said() {
        conf.unset("mapreduce.framework.name");
        expect(CLASSES, "warn  mapreduce.framework.name is local: jobs run in one JVM, without a shuffle; "
            + "set it in mapred-site.xml to yarn");
    }

    @Test
    void more_memory_than_the_container_has_is_said() {
        conf.set("verbena.shuffle.memory", "758m");
        expectGood(CLASSES);
        expect(CLASSES, "ok    memory of reducers: map outputs are kept outside the heap in up to 758 MiB "
            + "(verbena.shuffle.memory)");
        conf.set("verbena.shuffle.memory", "1g");
        expect(CLASSES, "warn  memory of reducers: verbena.shuffle.memory of 1024 MiB is more than the container has beside "
            + "heap and JVM, 758 MiB: YARN may end reducers beyond their containers; raise mapreduce.reduce.memory.mb, or unset "
            + "verbena.shuffle.memory");
        conf.set("verbena.shuffle.memory", "0");
        expectGood(CLASSES);
    }

    @Test
    void a_jar_that_containers_do_not_have_is_said() throws IOException {
        Path jar = Files.createFile(Files.createDirectory(folder.resolve("verbena")).resolve("hadoop-rdma-0.1.0.jar"));
        expect(jar.toString(), "warn  containers: mapreduce.application.classpath and yarn.application.classpath name no folder of "
            + "this host with hadoop-rdma-0.1.0.jar: reducers end with ClassNotFoundException, unless their hosts have it "
            + "elsewhere on this path; add " + jar + " to mapreduce.application.classpath");
        for (String path : List.of("$HADOOP_MAPRED_HOME/share/hadoop/mapreduce/*, /opt/verbena/hadoop-rdma-0.1.0.jar",
            folder + "/other/*:" + folder + "/verbena/*")) {
            conf.set("mapreduce.application.classpath", path);
            expectGood(jar.toString());
        }
        conf.unset("mapreduce.application.classpath");
        expectGood("/opt/hadoop/share/hadoop/common/lib/hadoop-rdma-0.1.0.jar");
        conf.set("mapreduce.application.framework.path", "hdfs:///mr.tar.gz");
        expectGood(jar.toString());
    }

    @Test
    void a_host_without_the_classes_is_told_to_name_them_and_no_more() {
        Configuration bare = new Configuration(false);
        HostReport report = new HostReport();
        ShuffleCheck.run(bare, "/opt/hadoop-rdma-0.1.0.jar", report);
        assertEquals(2, report.findings().stream().filter(found -> found.text().contains(" is not set: ")).count());
    }
}
