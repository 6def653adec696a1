// SPDX-License-Identifier: Apache-2.0
// The one jar on real executors gives the results of Spark's own shuffle, by the path that is meant.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

@EnabledIfEnvironmentVariable(named = "SPARK_HOME", matches = ".+")
class LocalClusterTest {
    private static final String RECORDS = "40000";
    private static final int TIMEOUT_SECONDS = 400;
    private static List<String> stock;

    @TempDir
    static Path work;

    /** What a run printed: results of the driver, and the log of driver and executors. */
    private record Run(List<String> results, String log) {
        /** Sum of a number in the lines that tell the executors' traffic. */
        long total(String expression) {
            Matcher matcher = Pattern.compile("TRAFFIC .*" + expression).matcher(log);
            long sum = 0;
            while (matcher.find()) {
                sum += Long.parseLong(matcher.group(1));
            }
            return sum;
        }
    }

    private static Run run(boolean ours, List<String> workload, String... settings) throws Exception {
        Path home = Files.createTempDirectory(work, "run");
        List<String> command = new ArrayList<>(List.of(System.getenv("SPARK_HOME") + "/bin/spark-submit", "--master",
            "local-cluster[2,1,1024]", "--class", Workload.class.getName()));
        List<String> all = new ArrayList<>(List.of("spark.ui.enabled=false", "spark.driver.host=127.0.0.1",
            "spark.driver.bindAddress=127.0.0.1"));
        if (ours) {
            command.addAll(List.of("--jars", System.getProperty("verbena.jar")));
            all.add("spark.plugins=org.verbena.spark.VerbenaPlugin");
        }
        all.addAll(List.of(settings));
        all.forEach(setting -> command.addAll(List.of("--conf", setting)));
        command.add(jar(home).toString());
        command.addAll(workload);
        ProcessBuilder builder = new ProcessBuilder(command).directory(home.toFile());
        builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1");
        builder.environment().put("SPARK_WORKER_DIR", home.resolve("work").toString());
        File out = home.resolve("out").toFile();
        File err = home.resolve("err").toFile();
        Process process = builder.redirectOutput(out).redirectError(err).start();
        try {
            assertTrue(process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS), "no end in time, see " + err);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        String log = Files.readString(out.toPath()) + Files.readString(err.toPath()) + logs(home.resolve("work"));
        assertEquals(0, process.exitValue(), log);
        List<String> results = Files.readAllLines(out.toPath()).stream().filter(l -> l.startsWith("RESULT")).toList();
        return new Run(results, log);
    }

    private static String logs(Path directory) throws IOException {
        StringBuilder text = new StringBuilder();
        if (Files.isDirectory(directory)) {
            try (Stream<Path> files = Files.walk(directory)) {
                for (Path file : files.filter(f -> f.endsWith("stderr")).toList()) {
                    text.append(Files.readString(file));
                }
            }
        }
        return text.toString();
    }

    /** A jar with the workload alone. */
    private static Path jar(Path directory) throws Exception {
        Path classes = Path.of(Workload.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path jar = directory.resolve("workload.jar");
        try (java.util.jar.JarOutputStream out = new java.util.jar.JarOutputStream(Files.newOutputStream(jar));
                DirectoryStream<Path> files = Files.newDirectoryStream(classes.resolve("org/verbena/spark/it"))) {
            for (Path file : files) {
                out.putNextEntry(new java.util.jar.JarEntry("org/verbena/spark/it/" + file.getFileName()));
                Files.copy(file, out);
            }
        }
        return jar;
    }

    @BeforeAll
    static void runsStock() throws Exception {
        stock = run(false, List.of(RECORDS)).results();
        assertEquals(8, stock.size());
    }

    private static void assertNothingIsLeft() throws IOException {
        Path mine = Path.of("/dev/shm", "verbena-" + Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
        if (Files.isDirectory(mine)) {
            try (Stream<Path> left = Files.walk(mine)) {
                assertFalse(left.anyMatch(f -> f.getFileName().toString().startsWith("slab-")));
            }
        }
    }

    @Test
    void executorsOfOneHostReadEachOthersSlabs() throws Exception {
        Run run = run(true, List.of(RECORDS));
        assertEquals(stock, run.results());
        assertTrue(run.total("host_slab (\\d+) bytes") > 0, run.log());
        assertTrue(run.total("local_slab (\\d+) bytes") > 0, run.log());
        assertEquals(0, run.total("fell back (\\d+) blocks"), run.log());
        assertNothingIsLeft();
    }

    @Test
    void withoutHostLocalReadsBlocksTravelThroughTheNativeCore() throws Exception {
        for (String transport : new String[] {"self,shm", "self,tcp"}) {
            Run run = run(true, List.of(RECORDS), "spark.shuffle.readHostLocalDisk=false",
                "spark.verbena.transport=" + transport);
            assertEquals(stock, run.results(), transport);
            assertTrue(run.total("remote (\\d+) bytes") > 0, run.log());
            assertNothingIsLeft();
        }
    }

    @Test
    void aSmallBudgetSpillsAndTheResultsStay() throws Exception {
        Run run = run(true, List.of(RECORDS), "spark.verbena.memory=16m");
        assertEquals(stock, run.results());
        assertTrue(run.total("spilled (\\d+)") > 0, run.log());
        assertNothingIsLeft();
    }

    @Test
    void aKilledExecutorCostsARecomputationAndNoWrongResult() throws Exception {
        Run run = run(true, List.of(RECORDS, "kill"), "spark.task.maxFailures=4");
        assertEquals(stock.get(0).replace("group", "killed"), run.results().get(0));
    }

    @Test
    void whatCannotBeServedIsLeftToSpark() throws Exception {
        Run run = run(true, List.of(RECORDS), "spark.shuffle.useOldFetchProtocol=true");
        assertEquals(stock, run.results());
        assertTrue(run.log().contains("Verbena stands aside"), run.log());
    }
}
