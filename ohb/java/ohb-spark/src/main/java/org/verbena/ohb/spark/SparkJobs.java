// SPDX-License-Identifier: Apache-2.0
// Main class of the Spark generator: "gen" writes TPC-H data, "serve" answers the driver's lines.
package org.verbena.ohb.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * Line protocol on standard input and output; every answer is one line of JSON that starts with a brace:
 * <pre>
 * warm ROW key=value...   prepares the row, runs it once
 * block ROW SEED          runs it once more, measured
 * drop ROW                frees its cached input
 * quit                    stops Spark and ends (so does the end of standard input)
 * </pre>
 * ROW is any name; the parameter job=NAME chooses the job, so that one process can hold a job in several sizes.
 */
public final class SparkJobs {
    private final ObjectMapper json = new ObjectMapper();
    private final SparkSession spark;
    private final Costs costs;
    private final PrintStream out;
    private final Map<String, Job> jobs = new LinkedHashMap<>();

    private SparkJobs(SparkSession spark, PrintStream out) {
        this.spark = spark;
        this.costs = new Costs(spark.sparkContext());
        this.out = out;
    }

    /** Entry point of spark-submit. */
    public static void main(String[] args) throws IOException {
        if (args.length == 3 && args[0].equals("gen")) {
            generate(Path.of(args[1]), Double.parseDouble(args[2]));
        } else if (args.length == 1 && args[0].equals("serve")) {
            serve();
        } else {
            System.err.println("usage: SparkJobs gen DIR SCALE | SparkJobs serve");
            System.exit(2);
        }
    }

    private static void generate(Path folder, double scale) {
        SparkSession spark = SparkSession.builder().appName("ohb-gen").getOrCreate();
        TpchData.write(spark, folder, scale, Math.max(2, spark.sparkContext().defaultParallelism()));
        spark.stop();
    }

    private static void serve() throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err); // nothing but answers may reach standard output
        SparkSession spark = SparkSession.builder().appName("ohb").getOrCreate();
        SparkJobs server = new SparkJobs(spark, out);
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            server.hello();
            String line = in.readLine();
            while (line != null && !line.equals("quit")) {
                server.answer(line);
                line = in.readLine();
            }
        }
        spark.stop();
    }

    private void hello() throws JsonProcessingException {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("ready", true);
        values.put("spark", spark.version());
        values.put("java", System.getProperty("java.version"));
        values.put("app_id", spark.sparkContext().applicationId());
        values.put("shuffle_manager", spark.sparkContext().getConf().get("spark.shuffle.manager", "sort"));
        print(values);
    }

    private void answer(String line) throws JsonProcessingException {
        String[] words = line.trim().split("\\s+");
        Map<String, Object> values = new LinkedHashMap<>();
        try {
            switch (words[0]) {
                case "warm" -> warm(words, values);
                case "block" -> block(words[1], Long.parseLong(words[2]), values);
                case "drop" -> drop(words[1], values);
                default -> throw new IllegalArgumentException("unknown command '" + words[0] + "'");
            }
        } catch (RuntimeException | TimeoutException e) { // a failed job must not end the generator
            e.printStackTrace();
            values.clear();
            values.put("error", e.toString());
        }
        print(values);
    }

    private void print(Map<String, Object> values) throws JsonProcessingException {
        out.println(json.writeValueAsString(values));
        out.flush();
    }

    private void warm(String[] words, Map<String, Object> values) throws TimeoutException {
        Params params = new Params(words, 2);
        Job old = jobs.remove(words[1]);
        if (old != null) {
            old.release();
        }
        Job job = make(spark, params);
        job.prepare();
        jobs.put(words[1], job);
        block(words[1], 0, values);
    }

    /** The job that the parameter of that name chooses. */
    static Job make(SparkSession spark, Params params) {
        String name = params.text("job");
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        return switch (name) {
            case "groupby" -> PairJobs.groupBy(context, params);
            case "sortby" -> PairJobs.sortBy(context, params);
            case "tiny" -> PairJobs.tiny(context, params);
            case "reread" -> PairJobs.reread(context, params);
            case "reducebykey" -> PairJobs.reduceByKey(context, params);
            case "terasort" -> new TeraSort(context, params);
            case "pagerank" -> new PageRank(context, params);
            case "broadcast" -> new BroadcastJob(context, params);
            case "smj" -> SqlJobs.sortMergeJoin(spark, params);
            case "queries" -> new ShortQueries(spark, params);
            case "skewed" -> SqlJobs.skewed(spark, params);
            case "tpch" -> SqlJobs.tpch(spark, params);
            case "streaming" -> new StreamingJob(spark, params);
            case "barrier" -> new BarrierJob(context, params);
            default -> throw new IllegalArgumentException("unknown job '" + name + "'");
        };
    }

    private void block(String row, long seed, Map<String, Object> values) throws TimeoutException {
        Job job = jobs.get(row);
        if (job == null) {
            throw new IllegalArgumentException("row '" + row + "' was not warmed");
        }
        costs.reset();
        Costs.Used before = costs.executors();
        long driverBefore = driverCpuNanos();
        long start = System.nanoTime();
        ContentSum sum = job.run(seed);
        long wall = System.nanoTime() - start;
        Costs.Used after = costs.executors();
        values.put("row", row);
        values.put("seed", seed);
        values.put("wall_ms", wall / 1e6);
        if (before != null && after != null) {
            values.put("executor_cpu_ms", after.cpuMillis() - before.cpuMillis());
            values.put("disk_written_bytes", after.written() - before.written());
            values.put("disk_read_bytes", after.read() - before.read());
        }
        values.put("driver_cpu_ms", (driverCpuNanos() - driverBefore) / 1_000_000);
        values.putAll(costs.read());
        values.put("records", sum.records());
        values.put("checksum", sum.hex());
    }

    private void drop(String row, Map<String, Object> values) {
        Job job = jobs.remove(row);
        if (job != null) {
            job.release();
        }
        values.put("dropped", job != null);
    }

    private static long driverCpuNanos() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof com.sun.management.OperatingSystemMXBean os
            ? os.getProcessCpuTime() : 0;
    }
}
