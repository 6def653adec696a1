// SPDX-License-Identifier: Apache-2.0
// The reducer's side of the shuffle.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapred.TaskStatus;
import org.apache.hadoop.mapreduce.CryptoUtils;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.task.reduce.EventBridge;
import org.apache.hadoop.mapreduce.task.reduce.ExceptionReporter;
import org.apache.hadoop.mapreduce.task.reduce.MergeManager;
import org.apache.hadoop.mapreduce.task.reduce.MergeManagerImpl;
import org.apache.hadoop.mapreduce.task.reduce.Shuffle;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleClientMetrics;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleSchedulerImpl;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.NativeLibrary;
import org.verbena.core.VbnException;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.lustre.LustreConf;

/**
 * Named by {@code mapreduce.job.reduce.shuffle.consumer.plugin.class}. Stock decides what to fetch when, counts failures and
 * merges what does not fit in memory; how bytes come, and what happens to those that fit, is ours. Whatever stands in the
 * way of that, the stock shuffle runs.
 */
public final class VerbenaShuffle<K, V> implements ShuffleConsumerPlugin<K, V>, ExceptionReporter {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaShuffle.class);
    private static final int PROGRESS_MILLIS = 2000;
    private static final int READ_MILLIS = 180_000; // stock's default
    private static final int MAX_EVENTS = 10_000;
    private static final int MIN_EVENTS = 100;
    private static final int ALL_EVENTS = 3_000_000;

    private Context<K, V> context;
    private JobConf job;
    private Shuffle<K, V> stock;
    private ShuffleSchedulerImpl<K, V> scheduler;
    private Throwable failure;

    /** Made by the reduce task. */
    public VerbenaShuffle() {
    }

    @Override
    public void init(Context<K, V> taskContext) {
        context = taskContext;
        job = taskContext.getJobConf();
        String obstacle = obstacle();
        if (obstacle != null) {
            LOG.warn("Verbena 0.1.0: the stock shuffle runs: {}", obstacle);
            stock = new Shuffle<>();
            stock.init(taskContext);
        }
    }

    /** Why the stock shuffle has to run; null when ours can. */
    private String obstacle() {
        try {
            ShuffleConf conf = new ShuffleConf(job);
            if (context.getLocalMapFiles() != null) {
                return "the map outputs are local files of this JVM";
            }
            if (job.getBoolean(MRConfig.SHUFFLE_SSL_ENABLED_KEY, MRConfig.SHUFFLE_SSL_ENABLED_DEFAULT)) {
                return MRConfig.SHUFFLE_SSL_ENABLED_KEY + " is true";
            }
            if (CryptoUtils.isEncryptedSpillEnabled(job)) {
                return MRJobConfig.MR_ENCRYPTED_INTERMEDIATE_DATA + " is true";
            }
            if (!conf.core()) {
                return PluginSetting.SHUFFLE_SOURCE + " is http";
            }
            NativeLibrary.load();
            return null;
        } catch (IllegalArgumentException | VbnException | LinkageError e) {
            return e.getMessage();
        }
    }

    @Override
    public RawKeyValueIterator run() throws IOException, InterruptedException {
        if (stock != null) {
            return stock.run();
        }
        ShuffleConf conf = new ShuffleConf(job);
        ShuffleCounters counters = new ShuffleCounters(context.getReporter());
        MemoryBudget budget = MemoryBudget.of(conf, job, Runtime.getRuntime().maxMemory());
        LOG.info("Verbena 0.1.0: map outputs come by the native core from nodes that have it, else by HTTP; up to {} are kept "
            + "outside the heap until they are reduced", budget);
        if (budget.excess() != null) {
            LOG.warn("Verbena: {}", budget.excess());
        }
        scheduler = new ShuffleSchedulerImpl<>(job, context.getStatus(), context.getReduceId(), this, context.getCopyPhase(),
            context.getShuffledMapsCounter(), context.getReduceShuffleBytes(), context.getFailedShuffleCounter());
        MemoryMerge<K, V> merge = new MemoryMerge<>(context, stockMerge(), budget, counters);
        EarlyMerge<K, V> early = merge.mergeEarly(job.getNumMapTasks(), this);
        try (CoreClient client = new CoreClient(conf, context.getReduceTask().getShuffleSecret())) {
            fetch(new FetchShare<>(context.getReduceId().getJobID().toString(), context.getReduceTask().getShuffleSecret(), client,
                merge, counters, conf, files(), job.getInt(MRJobConfig.SHUFFLE_READ_TIMEOUT, READ_MILLIS)));
        } finally {
            early.close();
        }
        counters.httpBytes(context.getReduceShuffleBytes().getValue() - counters.ownBytes());
        LOG.info("Verbena: fetched for {}: {}", context.getReduceId(), counters);
        return finish(merge);
    }

    /** None where the settings of lustre: are missing or wrong: the core brings everything. */
    private SharedFiles files() {
        Path root = null;
        try {
            root = LustreConf.of(job).root();
        } catch (IllegalArgumentException e) {
            LOG.warn("Verbena: no map outputs are read from the shared file system: {}", e.getMessage());
        }
        return new SharedFiles(root, job.getUser(), System::nanoTime);
    }

    private MergeManager<K, V> stockMerge() {
        return new MergeManagerImpl<>(context.getReduceId(), job, context.getLocalFS(), context.getLocalDirAllocator(),
            context.getReporter(), context.getCodec(), context.getCombinerClass(), context.getCombineCollector(),
            context.getSpilledRecordsCounter(), context.getReduceCombineInputCounter(), context.getMergedMapOutputsCounter(),
            this, context.getMergePhase(), context.getMapOutputFile());
    }

    /** Returns when every map's output is here. */
    private void fetch(FetchShare<K, V> share) throws IOException, InterruptedException {
        ShuffleClientMetrics metrics = ShuffleClientMetrics.create(context.getReduceId(), job);
        int events = Math.min(MAX_EVENTS, Math.max(MIN_EVENTS, ALL_EVENTS / Math.max(1, job.getNumReduceTasks())));
        List<CoreFetcher<K, V>> fetchers = new ArrayList<>();
        EventBridge finishedMaps = EventBridge.start(context.getReduceId(), context.getUmbilical(), scheduler, this, events);
        try {
            for (int i = job.getInt(MRJobConfig.SHUFFLE_PARALLEL_COPIES, MemoryBudget.FETCHERS); i > 0; i--) {
                CoreFetcher<K, V> fetcher = new CoreFetcher<>(job, context.getReduceId(), scheduler, context.getReporter(),
                    metrics, this, share);
                fetcher.start();
                fetchers.add(fetcher);
            }
            while (!scheduler.waitUntilDone(PROGRESS_MILLIS)) {
                context.getReporter().progress();
                check();
            }
            check();
        } finally {
            finishedMaps.close();
            for (CoreFetcher<K, V> fetcher : fetchers) {
                fetcher.shutDown();
            }
            scheduler.close();
        }
    }

    private RawKeyValueIterator finish(MergeManager<K, V> merge) throws IOException {
        context.getCopyPhase().complete();
        context.getStatus().setPhase(TaskStatus.Phase.SORT);
        context.getReduceTask().statusUpdate(context.getUmbilical());
        RawKeyValueIterator records;
        try {
            records = merge.close();
        } catch (Throwable e) { // what merge threads threw
            throw new IOException("error in the final merge", e);
        }
        check();
        return records;
    }

    private synchronized void check() throws IOException {
        if (failure != null) {
            throw new IOException("error in the shuffle", failure);
        }
    }

    /** Any thread: the shuffle fails, and with it this reduce attempt. */
    @Override
    public void reportException(Throwable cause) {
        synchronized (this) {
            failure = failure == null ? cause : failure;
        }
        synchronized (scheduler) {
            scheduler.notifyAll();
        }
    }

    @Override
    public void close() {
        if (stock != null) {
            stock.close();
        }
    }
}
