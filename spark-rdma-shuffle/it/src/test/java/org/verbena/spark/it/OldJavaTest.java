// SPDX-License-Identifier: Apache-2.0
// What users of Spark 3.5 on Java 8 or 11 get. No such Java here: the JVM is told to take the jar as Java 11 would, whose
// class file version JarTest compares.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.VerbenaShuffleManager;

@Timeout(180)
class OldJavaTest {
    private static final String LINE = "Verbena stands aside, Spark's own shuffle is used: it needs Java 17";

    /** What another JVM printed, after its exit status. */
    private static String run(String main, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Djdk.util.jar.version=11", "-Xmx512m", "-XX:TieredStopAtLevel=1"));
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream().filter(word -> word.startsWith("--add-opens"))
            .forEach(command::add);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertTrue(process.waitFor(60, TimeUnit.SECONDS), text);
            return process.exitValue() + "\n" + text;
        } finally {
            process.destroyForcibly();
        }
    }

    /** An application whose shuffle must be Spark's own. */
    static final class Shuffle {
        public static void main(String[] settings) {
            try (Application application = new Application(settings)) {
                Class<?> manager = SparkEnv.get().shuffleManager().getClass();
                boolean stock = manager == SortShuffleManager.class || manager.getSuperclass() == SortShuffleManager.class
                    && List.of(manager.getDeclaredMethods()).isEmpty();
                System.out.println("GROUPS " + application.pairs().groupByKey(3).count() + " " + stock);
            }
        }
    }

    private static void standsAside(String... settings) throws Exception {
        String text = run(Shuffle.class.getName(), settings);
        assertTrue(text.startsWith("0\n") && text.contains("GROUPS 10 true"), text);
        assertEquals(2, text.split(LINE, -1).length, text);
    }

    @Test
    void thePluginAloneLeavesTheShuffleToSparkAndSaysWhyOnce() throws Exception {
        standsAside();
    }

    @Test
    void theManagerLeavesTheShuffleToSparkAndSaysWhyOnce() throws Exception {
        standsAside("spark.shuffle.manager=" + VerbenaShuffleManager.class.getName());
    }

    /** An executor's manager, of an application with these settings. */
    static final class Executor {
        public static void main(String[] settings) {
            SparkConf conf = new SparkConf(false);
            for (String setting : settings) {
                String[] parts = setting.split("=", 2);
                conf.set(parts[0], parts[1]);
            }
            new VerbenaShuffleManager(conf, false);
        }
    }

    @Test
    void anExecutorOfADriverOnANewerJavaIsRefused() throws Exception {
        try (Application driver = new Application()) {
            String[] settings = Stream.of(driver.context().getConf().getAll()).map(pair -> pair._1() + "=" + pair._2())
                .toArray(String[]::new);
            String text = run(Executor.class.getName(), settings);
            assertTrue(text.startsWith("1\n") && text.contains("Verbena refuses this executor: it needs Java 17"), text);
        }
    }

    @Test
    void theDoctorSaysWhatIsInTheWay() throws Exception {
        String text = run("org.verbena.spark.Doctor");
        assertTrue(text.startsWith("1\n") && text.contains("BAD   Verbena will stand aside: it needs Java 17"), text);
    }
}
