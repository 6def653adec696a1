// SPDX-License-Identifier: Apache-2.0
// The merge of a reducer with many segments in one JVM; lives here because a reducer's merge is not public.
package org.verbena.hadoop.shuffle;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.IFile;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MROutputFiles;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.task.reduce.MapOutput;
import org.apache.hadoop.mapreduce.task.reduce.MergeManager;
import org.apache.hadoop.mapreduce.task.reduce.MergeManagerImpl;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleClientMetrics;
import org.apache.hadoop.util.Progress;

/**
 * {@code stock FOLDER} and {@code ours FOLDER} answer lines {@code merge SEGMENTS RECORDS} with one line of JSON each: the
 * processor time of the JVM from the first segment, which lies in memory as it came, to the last record, and a sum of all records
 * in order. Keys have 10 random bytes, values 90.
 */
public final class MergeLoad {
    private static final int KEY = 10;
    private static final int VALUE = 90;

    private final boolean ours;
    private final JobConf conf = new JobConf(false);
    private final Counters counters = new Counters();
    private final List<byte[]> segments = new ArrayList<>();
    private int made;

    private MergeLoad(boolean ours, String folder) {
        this.ours = ours;
        conf.setMapOutputKeyClass(Text.class);
        conf.setMapOutputValueClass(Text.class);
        conf.set(MRConfig.LOCAL_DIR, folder);
        conf.set(MRJobConfig.TASK_ATTEMPT_ID, attempt(TaskType.REDUCE, 0).toString());
    }

    /**
     * Runs until {@code quit} or the end of the input.
     *
     * @param words the side and a folder for what it writes
     * @throws IOException when the lines cannot be read
     */
    public static void main(String[] words) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err);
        MergeLoad load = new MergeLoad(words[0].equals("ours"), new File(words[1]).getAbsolutePath());
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        answers.println("{}");
        for (String line = lines.readLine(); line != null && !line.equals("quit"); line = lines.readLine()) {
            String[] parts = line.trim().split(" +");
            try {
                answers.println(load.run(Integer.parseInt(parts[1]), Integer.parseInt(parts[2])));
            } catch (Throwable e) { // what merge threads threw
                answers.println("{\"error\": \"" + (line + ": " + e).replaceAll("[\"\\\\\\n]", " ") + "\"}");
            }
        }
        System.exit(0);
    }

    private static TaskAttemptID attempt(TaskType type, int number) {
        return new TaskAttemptID("1", 1, type, number, 0);
    }

    private static long processorNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private String run(int count, int records) throws Throwable {
        make(count, records);
        System.gc();
        long wall = System.nanoTime();
        long before = processorNanos();
        MergeManager<Text, Text> merge = ours ? ourMerge() : stockMerge(new Progress());
        EarlyMerge<Text, Text> early = merge instanceof MemoryMerge<Text, Text> memory
            ? memory.mergeEarly(count, cause -> cause.printStackTrace(System.err)) : null;
        for (int map = 0; map < count; map++) {
            bring(merge, map, segments.get(map));
        }
        if (early != null) {
            early.close();
        }
        CRC32 sum = new CRC32();
        long found = 0;
        RawKeyValueIterator all = merge.close();
        for (; all.next(); found++) {
            add(sum, all.getKey());
            add(sum, all.getValue());
        }
        all.close();
        long cpu = processorNanos() - before;
        return "{\"ns\": " + (System.nanoTime() - wall) + ", \"cpu_ns\": " + cpu + ", \"records\": " + found + ", \"sum\": "
            + sum.getValue() + "}";
    }

    private static void add(CRC32 sum, DataInputBuffer bytes) {
        sum.update(bytes.getData(), bytes.getPosition(), bytes.getLength() - bytes.getPosition());
    }

    /** Map outputs of one reducer, the same on both sides. */
    private void make(int count, int records) throws IOException {
        if (segments.size() == count && made == records) {
            return;
        }
        made = records;
        segments.clear();
        Random random = new Random(1);
        byte[] value = new byte[VALUE];
        for (int map = 0; map < count; map++) {
            byte[][] keys = new byte[records][KEY];
            Arrays.stream(keys).forEach(random::nextBytes);
            Arrays.sort(keys, Arrays::compareUnsigned);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            IFile.Writer<Text, Text> writer = new IFile.Writer<>(conf, new FSDataOutputStream(bytes, null), Text.class, Text.class,
                null, null);
            for (byte[] key : keys) {
                Arrays.fill(value, key[KEY - 1]);
                writer.append(text(key), text(value));
            }
            writer.close();
            segments.add(bytes.toByteArray());
        }
    }

    private static Text text(byte[] bytes) {
        Text text = new Text();
        text.set(bytes, 0, bytes.length);
        return text;
    }

    /** As a fetcher does: ours finds the bytes where the core has put them, stock reads them from a stream. */
    private void bring(MergeManager<Text, Text> merge, int map, byte[] segment) throws IOException {
        int raw = segment.length - KeptOutput.CHECKSUM_BYTES;
        TaskAttemptID id = attempt(TaskType.MAP, map);
        if (merge instanceof MemoryMerge<Text, Text> memory) {
            KeptOutput<Text, Text> output = memory.keep(id, segment.length, raw);
            ByteBuffer room = memory.allocate(segment.length);
            output.take(room.put(segment).flip());
            output.commit();
            return;
        }
        MapOutput<Text, Text> output = merge.reserve(id, raw, 0);
        ShuffleClientMetrics metrics = ShuffleClientMetrics.create(attempt(TaskType.REDUCE, 0), conf);
        output.shuffle(null, new ByteArrayInputStream(segment), segment.length, raw, metrics, Reporter.NULL);
        output.commit();
    }

    private MergeManager<Text, Text> stockMerge(Progress phase) throws IOException {
        MROutputFiles files = new MROutputFiles();
        files.setConf(conf);
        return new MergeManagerImpl<>(attempt(TaskType.REDUCE, 0), conf, FileSystem.getLocal(conf),
            new LocalDirAllocator(MRConfig.LOCAL_DIR), Reporter.NULL, null, null, null, counter(TaskCounter.SPILLED_RECORDS),
            counter(TaskCounter.COMBINE_INPUT_RECORDS), counter(TaskCounter.MERGED_MAP_OUTPUTS),
            cause -> cause.printStackTrace(System.err), phase, files);
    }

    private Counters.Counter counter(TaskCounter name) {
        return counters.findCounter(name);
    }

    private Reporter reporter() {
        return (Reporter) Proxy.newProxyInstance(Reporter.class.getClassLoader(), new Class<?>[] {Reporter.class},
            (proxy, method, words) -> method.getName().equals("getCounter") && words.length == 2
                ? counters.findCounter((String) words[0], (String) words[1]) : null);
    }

    private MergeManager<Text, Text> ourMerge() throws IOException {
        ShuffleConsumerPlugin.Context<Text, Text> context = new ShuffleConsumerPlugin.Context<>(attempt(TaskType.REDUCE, 0), conf,
            FileSystem.getLocal(conf), null, null, Reporter.NULL, null, null, null, null, null, null, null, null,
            counter(TaskCounter.MERGED_MAP_OUTPUTS), null, null, null, null, null, null);
        return new MemoryMerge<>(context, stockMerge(new Progress()), MemoryBudget.of(Runtime.getRuntime().maxMemory()),
            new ShuffleCounters(reporter()));
    }
}
