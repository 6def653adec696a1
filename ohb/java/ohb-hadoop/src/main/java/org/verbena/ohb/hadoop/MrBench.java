// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hadoop;

import java.io.IOException;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.output.NullOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * The micro-benchmarks MR-AVG, MR-RAND and MR-SKEW: maps make pairs in memory, reducers look at them and keep nothing, so
 * that only sort, shuffle and merge remain. Counters of the group {@code ohb} hold what the reducers saw: both sides of a
 * comparison must have the same.
 */
public final class MrBench extends Configured implements Tool {
    static final String MAPS = "ohb.maps";
    private static final String PAIRS = "ohb.pairs";
    private static final String KEY = "ohb.key.bytes";
    private static final String VALUE = "ohb.value.bytes";
    private static final String SPREAD = "ohb.spread";
    private static final String USAGE = "usage: MrBench [-D ...] avg|rand|skew MAPS REDUCES PAIRS_PER_MAP KEY_BYTES VALUE_BYTES";
    private static final int ARGUMENTS = 6;

    /** What the reducers saw. */
    enum Seen { RECORDS, BYTES, SUM }

    /** How pairs are spread over the reducers. */
    enum Spread {
        /** Round robin. */
        AVG,
        /** By a seeded random number. */
        RAND,
        /** Half to the first, a quarter to the second, an eighth to the third, the rest at random. */
        SKEW;

        int reducer(long pair, Random random, int reducers) {
            return switch (this) {
                case AVG -> (int) (pair % reducers);
                case RAND -> random.nextInt(reducers);
                case SKEW -> {
                    int zeros = Integer.numberOfTrailingZeros(random.nextInt() | 1 << 3);
                    yield zeros < 3 && zeros < reducers ? zeros : random.nextInt(reducers);
                }
            };
        }
    }

    /** Makes the pairs; the first four bytes of a key are the reducer that gets it. */
    public static final class Maker extends Mapper<NullWritable, NullWritable, BytesWritable, BytesWritable> {
        @Override
        public void run(Context context) throws IOException, InterruptedException {
            Configuration conf = context.getConfiguration();
            int reducers = context.getNumReduceTasks();
            Spread spread = Spread.valueOf(conf.get(SPREAD));
            Random random = new Random(context.getTaskAttemptID().getTaskID().getId());
            byte[] key = new byte[conf.getInt(KEY, 0)];
            byte[] value = new byte[conf.getInt(VALUE, 0)];
            random.nextBytes(value);
            long pairs = conf.getLong(PAIRS, 0);
            for (long pair = 0; pair < pairs; pair++) {
                random.nextBytes(key);
                Pairs.putInt(key, spread.reducer(pair, random, reducers));
                context.write(new BytesWritable(key), new BytesWritable(value));
            }
        }
    }

    /** To the reducer that the key names. */
    public static final class ByKey extends Partitioner<BytesWritable, BytesWritable> {
        @Override
        public int getPartition(BytesWritable key, BytesWritable value, int reducers) {
            return Pairs.getInt(key.getBytes());
        }
    }

    /** Counts and sums what comes. */
    public static final class Looker extends Reducer<BytesWritable, BytesWritable, NullWritable, NullWritable> {
        @Override
        protected void reduce(BytesWritable key, Iterable<BytesWritable> values, Context context) {
            long records = 0;
            long bytes = 0;
            long sum = 0;
            for (BytesWritable value : values) {
                records++;
                bytes += key.getLength() + value.getLength();
                sum += Pairs.hash(key.getBytes(), key.getLength()) ^ Pairs.hash(value.getBytes(), value.getLength());
            }
            context.getCounter(Seen.RECORDS).increment(records);
            context.getCounter(Seen.BYTES).increment(bytes);
            context.getCounter(Seen.SUM).increment(sum);
        }
    }

    @Override
    public int run(String[] words) throws Exception {
        if (words.length != ARGUMENTS || Integer.parseInt(words[4]) < Pairs.KEY_MIN) {
            System.err.println(USAGE + "; KEY_BYTES is at least " + Pairs.KEY_MIN);
            return 2;
        }
        Configuration conf = getConf();
        conf.set(SPREAD, Spread.valueOf(words[0].toUpperCase(java.util.Locale.ROOT)).name());
        conf.setInt(MAPS, Integer.parseInt(words[1]));
        conf.setLong(PAIRS, Long.parseLong(words[3]));
        conf.setInt(KEY, Integer.parseInt(words[4]));
        conf.setInt(VALUE, Integer.parseInt(words[5]));
        Job job = Job.getInstance(conf, "MR-" + conf.get(SPREAD));
        job.setJarByClass(MrBench.class);
        job.setInputFormatClass(NoInput.class);
        job.setMapperClass(Maker.class);
        job.setPartitionerClass(ByKey.class);
        job.setReducerClass(Looker.class);
        job.setNumReduceTasks(Integer.parseInt(words[2]));
        job.setMapOutputKeyClass(BytesWritable.class);
        job.setMapOutputValueClass(BytesWritable.class);
        job.setOutputFormatClass(NullOutputFormat.class);
        return job.waitForCompletion(true) ? 0 : 1;
    }

    /**
     * Runs one job and prints its counters.
     *
     * @param words Hadoop's options, then the benchmark's
     * @throws Exception when the job cannot be submitted
     */
    public static void main(String[] words) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new MrBench(), words));
    }
}
