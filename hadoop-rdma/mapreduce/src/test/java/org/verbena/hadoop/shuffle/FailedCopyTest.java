// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapred.TaskStatus;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.task.reduce.MergeManager;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleClientMetrics;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleSchedulerImpl;
import org.apache.hadoop.util.Progress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A reducer whose node does not have one of its map outputs: told as a failed copy, never done without it. And one whose own disk
 * takes nothing, which is no failure of a map.
 */
class FailedCopyTest {
    private static final int MAPS = 4;
    private static final int GONE = 2;
    private static final int BYTES = 1000;

    @TempDir
    File folder;

    private final List<String> told = new ArrayList<>();
    private final Counters counters = new Counters();
    private final Counters.Counter failed = new Counters.Counter();
    private final List<Throwable> errors = new ArrayList<>();
    private MergeManager<Text, Text> stock;
    private MemoryBudget budget = MemoryBudget.of(1 << 20);
    private final JobConf job = new JobConf(false);
    private final TaskAttemptID reduce = new TaskAttemptID("1", 1, TaskType.REDUCE, 0, 0);

    /** What the application master would hear of. */
    private final class Status extends TaskStatus {
        @Override
        public boolean getIsMap() {
            return false;
        }

        @Override
        public void addFetchFailedMap(org.apache.hadoop.mapred.TaskAttemptID map) {
            told.add(map.toString());
        }
    }

    private ShuffleCounters counting() {
        Reporter reporter = (Reporter) Proxy.newProxyInstance(Reporter.class.getClassLoader(), new Class<?>[] {Reporter.class},
            (proxy, method, words) -> counters.findCounter((String) words[0], (String) words[1]));
        return new ShuffleCounters(reporter);
    }

    private MemoryMerge<Text, Text> merge(ShuffleCounters counting) {
        ShuffleConsumerPlugin.Context<Text, Text> context = new ShuffleConsumerPlugin.Context<>(
            new org.apache.hadoop.mapred.TaskAttemptID("1", 1, TaskType.REDUCE, 0, 0), job, null, null, null, Reporter.NULL, null,
            null, null, null, null, null, null, null, null, null, null, null, null, null, null);
        return new MemoryMerge<>(context, stock, budget, counting);
    }

    private void fetch(TestNode node, ShuffleSchedulerImpl<Text, Text> scheduler) throws Exception {
        for (int map = 0; map < MAPS; map++) {
            scheduler.addKnownMapOutput("node", node.url() + "&reduce=0&map=", TaskAttemptID.forName(TestNode.attempt(map)));
        }
        ShuffleCounters counting = counting();
        try (CoreClient client = new CoreClient(node.conf, TestNode.secret())) {
            FetchShare<Text, Text> share = new FetchShare<>(TestNode.JOB, TestNode.secret(), client, merge(counting), counting,
                node.conf, new SharedFiles(null, null, System::nanoTime), 120_000);
            new CoreFetcher<>(job, reduce, scheduler, Reporter.NULL, ShuffleClientMetrics.create(reduce, job),
                Throwable::printStackTrace, share).copyFromHost(scheduler.getHost());
        }
    }

    private ShuffleSchedulerImpl<Text, Text> scheduler() {
        job.setNumMapTasks(MAPS);
        return new ShuffleSchedulerImpl<>(job, new Status(), reduce, errors::add, new Progress(), new Counters.Counter(),
            new Counters.Counter(), failed);
    }

    @Test
    void a_map_output_that_the_node_does_not_know_is_a_failed_copy_and_the_reducer_waits_for_it() throws Exception {
        ShuffleSchedulerImpl<Text, Text> scheduler = scheduler();
        try (TestNode node = new TestNode(List.of(folder), MAPS, 1, BYTES)) {
            Files.delete(node.output(GONE).toPath());
            Files.delete(Path.of(node.output(GONE).getPath() + ".index"));
            fetch(node, scheduler);
        }
        assertEquals(List.of(TestNode.attempt(GONE)), told);
        assertEquals(1, failed.getCounter());
        assertFalse(scheduler.waitUntilDone(1));
        long kept = counters.findCounter(ShuffleCounters.GROUP, "Segments by the core").getCounter();
        assertTrue(kept < MAPS, kept + " have come");
        scheduler.close();
    }

    @Test
    @SuppressWarnings("unchecked")
    void a_full_disk_of_the_reducer_ends_its_attempt_and_is_no_failed_copy() throws Exception {
        budget = MemoryBudget.of(0);
        stock = (MergeManager<Text, Text>) Proxy.newProxyInstance(MergeManager.class.getClassLoader(),
            new Class<?>[] {MergeManager.class}, (proxy, method, words) -> {
                throw new IOException("No space left on device");
            });
        ShuffleSchedulerImpl<Text, Text> scheduler = scheduler();
        try (TestNode node = new TestNode(List.of(folder), MAPS, 1, BYTES)) {
            fetch(node, scheduler);
        }
        assertEquals(List.of("No space left on device"), errors.stream().map(Throwable::getMessage).toList());
        assertEquals(List.of(), told);
        assertEquals(0, failed.getCounter());
        scheduler.close();
    }
}
