// SPDX-License-Identifier: Apache-2.0
// Row broadcast: bytes that every executor gets from the driver and from the other executors.
package org.verbena.ohb.spark;

import java.util.SplittableRandom;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;

/** As many tasks as executors; random bytes, so that compression finds nothing. */
final class BroadcastJob implements Job {
    private final JavaSparkContext spark;
    private final int size;
    private final int tasks;

    BroadcastJob(JavaSparkContext spark, Params params) {
        this.spark = spark;
        size = params.count("size");
        tasks = params.count("tasks");
    }

    @Override
    public void prepare() {
        // each run broadcasts something new
    }

    @Override
    public ContentSum run(long seed) {
        byte[] bytes = new byte[size];
        new SplittableRandom(seed).nextBytes(bytes);
        Broadcast<byte[]> sent = spark.broadcast(bytes);
        try {
            return PairJobs.total(spark.parallelize(PairJobs.numbers(tasks), tasks).map(task -> {
                ContentSum sum = new ContentSum();
                sum.add(task, sent.value());
                return sum;
            }));
        } finally {
            sent.destroy();
        }
    }

    @Override
    public void release() {
        // nothing is kept
    }
}
