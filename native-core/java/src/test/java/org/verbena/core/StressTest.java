// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.openjdk.jcstress.annotations.JCStressTest;

/** Runs the jcstress tests (classes named *Stress) in processes of their own, ten times as long with --full. */
@Timeout(420)
class StressTest {
    private static final int PROCESSORS = 2;
    private static final Pattern RESULTS = Pattern.compile(
        "Results: (\\d+) planned; (\\d+) passed, (\\d+) failed, (\\d+) soft errs, (\\d+) hard errs");

    @Test
    void no_interleaving_of_the_queues_and_counts_is_forbidden() throws Exception {
        assumeTrue(Runtime.getRuntime().availableProcessors() >= PROCESSORS, "jcstress needs a processor for each of two actors");
        Path output = Path.of("target/jcstress");
        Files.createDirectories(output);
        File log = output.resolve("output.log").toFile();
        Process process = new ProcessBuilder(command()).directory(output.toFile()).redirectErrorStream(true)
            .redirectOutput(log).start();
        try {
            assertTrue(process.waitFor(400, TimeUnit.SECONDS), "jcstress did not end: see " + log);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        String text = Files.readString(log.toPath());
        Matcher results = RESULTS.matcher(text);
        long[] counts = null;
        while (results.find()) { // the last line is the final one
            counts = Stream.of(1, 2, 3, 4, 5).mapToLong(group -> Long.parseLong(results.group(group))).toArray();
        }
        assertTrue(counts != null, text);
        System.out.println("jcstress: " + counts[1] + " passed, " + counts[2] + " failed, see " + log);
        assertEquals(0, counts[2] + counts[3] + counts[4], text);
        assertEquals(counts[0], counts[1], text);
        assertTrue(counts[1] >= declaredTests(), text);
    }

    private static List<String> command() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "org.openjdk.jcstress.Main"));
        // One fork of one JVM configuration each: two cores are enough, and the budget is seconds.
        command.addAll(List.of("-t", "org.verbena.core", "-f", "1", "-fsm", "1", "-sc", "false"));
        boolean full = System.getenv("VERBENA_TEST_FULL") != null;
        command.addAll(List.of("-iters", full ? "3" : "1", "-time", full ? "700" : "200"));
        command.addAll(List.of("-hs", "256", "-c", Integer.toString(PROCESSORS), "-jvmArgs", "-XX:+UseSerialGC", "-r", "."));
        return command;
    }

    private static long declaredTests() {
        return Stream.of(EngineQueueStress.class, SharedStateStress.class)
            .flatMap(holder -> Stream.of(holder.getDeclaredClasses()))
            .filter(test -> test.isAnnotationPresent(JCStressTest.class)).count();
    }
}
