// SPDX-License-Identifier: Apache-2.0
// Spark's shuffle manager with map outputs in slabs; Spark's own where the plugin stands aside.
package org.verbena.spark;

import java.io.IOException;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnException;
import org.verbena.core.plugin.FailedStart;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.metrics.ExecutorReports;
import org.verbena.spark.serial.Serializers;
import org.verbena.spark.settings.VerbenaConf;
import org.verbena.spark.store.ShuffleFiles;
import org.verbena.spark.store.SlabStore;
import org.verbena.spark.write.HashShuffleMapWriter;
import org.verbena.spark.write.MapTask;
import org.verbena.spark.write.PlannedSizes;
import org.verbena.spark.write.RadixShuffleMapWriter;
import org.verbena.spark.write.SlabHolder;

/**
 * A subclass, because Spark's SQL, decommissioning and diagnosis ask for {@link SortShuffleManager} and its resolver. One
 * per SparkEnv; owns that environment's {@link ShuffleEngine}, which starts at the first use. Thread safe.
 */
public class VerbenaShuffleManager extends SortShuffleManager implements SlabHolder {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaShuffleManager.class);

    private final SparkConf conf;
    private final SparkShim shim;
    private final IndexShuffleBlockResolver resolver;
    private final PlannedSizes sizes;
    /** Written under the lock; read without it, because every block asks. */
    private volatile ShuffleEngine engine;
    /** Why there is no engine, and when to try again; written and read under the lock. */
    private String failure;
    private final FailedStart start = new FailedStart();
    private boolean stopped;

    /** Called by Spark. */
    public VerbenaShuffleManager(SparkConf conf, boolean isDriver) {
        this(conf, isDriver, SparkShim::load);
    }

    /** The same with another way to choose the shim. */
    VerbenaShuffleManager(SparkConf conf, boolean isDriver, Supplier<SparkShim> shims) {
        super(prepared(conf, isDriver));
        this.conf = conf;
        this.sizes = PlannedSizes.of(conf);
        IndexShuffleBlockResolver stock = super.shuffleBlockResolver();
        SparkShim fits = conf.contains(DriverSetup.DECLINED) ? null : shims.get();
        IndexShuffleBlockResolver own = fits == null ? null : resolver(fits, stock, isDriver);
        this.shim = own == null ? null : fits;
        this.resolver = own == null ? stock : own;
        if (!isDriver && SparkEnv.get() != null) {
            engine();
        }
    }

    /** Null when this Spark has other methods than releases of its number: a vendor's. */
    private IndexShuffleBlockResolver resolver(SparkShim fits, IndexShuffleBlockResolver stock, boolean isDriver) {
        try {
            fits.tryOut();
            return fits.newResolver(conf, stock, this::engine);
        } catch (LinkageError e) {
            String reason = "Spark " + SparkShim.sparkVersion() + " here is not as Apache releases it: " + e;
            LOG.debug("cause", e);
            if (isDriver) {
                DriverSetup.standAside(conf, reason);
            } else {
                LOG.warn("Verbena stands aside on an executor, Spark's own shuffle is used: {}", reason);
            }
            return null;
        }
    }

    private static SparkConf prepared(SparkConf conf, boolean isDriver) {
        if (isDriver) {
            DriverSetup.prepare(conf, false);
        } else if (!conf.contains(DriverSetup.DECLINED)) {
            Build.check(conf, Build.here());
        }
        return conf;
    }

    /** The environment's engine, started now if it can be; null when the plugin stands aside or Spark is not ready. */
    public final ShuffleEngine engine() {
        ShuffleEngine current = engine;
        return current != null ? current : engine(System.nanoTime());
    }

    @Override
    public final SlabStore slabs() {
        ShuffleEngine current = engine();
        return current == null ? null : current.store();
    }

    @Override
    public final ShuffleFiles packedFiles() {
        return resolver instanceof ShuffleFiles files && files.packing() != null ? files : null;
    }

    /** now: a time of System.nanoTime. */
    final synchronized ShuffleEngine engine(long now) {
        SparkEnv env = SparkEnv.get();
        if (engine != null || shim == null || start.isTooEarly(now) || stopped || env == null || env.conf() != conf
                || env.blockManager().blockManagerId() == null) {
            return engine;
        }
        try {
            engine = ShuffleEngine.start(env, new VerbenaConf(conf), shim, (ShuffleFiles) resolver);
        } catch (IllegalArgumentException e) {
            throw e;
        } catch (Exception | LinkageError e) {
            failed(env, e, now);
        }
        return engine;
    }

    /** What stood in its way may be gone later: it is tried again. Said once, as it may also stay. */
    private void failed(SparkEnv env, Throwable cause, long now) {
        boolean first = failure == null;
        failure = cause instanceof VbnException ? VerbenaConf.inUsersWords(cause.getMessage()) : cause.toString();
        start.failed(new IOException(failure), now);
        if (first) {
            LOG.warn("Verbena stands aside on {}, Spark's own shuffle is used: {}", ShuffleEngine.name(env), failure);
        }
        LOG.debug("cause", cause);
    }

    /** What this environment uses and why, in a sentence; null while its engine has not been tried. */
    final synchronized String choice() {
        return engine != null ? engine.choice() : failure == null ? null : ExecutorReports.ASIDE + failure;
    }

    @Override
    public IndexShuffleBlockResolver shuffleBlockResolver() {
        return resolver == null ? super.shuffleBlockResolver() : resolver;
    }

    @Override
    public <K, V> ShuffleWriter<K, V> getWriter(ShuffleHandle handle, long mapId, TaskContext context,
            ShuffleWriteMetricsReporter metrics) {
        SlabStore store = slabs();
        replaceSerializer(handle);
        if (store == null || !(handle instanceof BaseShuffleHandle<?, ?, ?> base)) {
            return super.getWriter(handle, mapId, context, metrics);
        }
        MapTask task = new MapTask(base.dependency(), mapId, context, SparkEnv.get().blockManager(), metrics, store, shim,
            sizes);
        if (HashShuffleMapWriter.suits(base.dependency(), conf)) {
            return new HashShuffleMapWriter<>(task);
        }
        if (RadixShuffleMapWriter.suits(base.dependency(), conf)) {
            return new RadixShuffleMapWriter<>(task, () -> super.getWriter(handle, mapId, context, metrics));
        }
        return super.getWriter(handle, mapId, context, metrics);
    }

    @Override
    public <K, C> ShuffleReader<K, C> getReader(ShuffleHandle handle, int startMap, int endMap, int startPartition,
            int endPartition, TaskContext context, ShuffleReadMetricsReporter metrics) {
        replaceSerializer(handle);
        return super.getReader(handle, startMap, endMap, startPartition, endPartition, context, metrics);
    }

    /** Depends on the application's configuration only, not on this executor: writers and readers must agree. */
    private void replaceSerializer(ShuffleHandle handle) {
        if (shim != null && handle instanceof BaseShuffleHandle<?, ?, ?> base) {
            Serializers.replace(base.dependency());
        }
    }

    @Override
    public boolean unregisterShuffle(int shuffleId) {
        ShuffleEngine current;
        synchronized (this) {
            current = engine;
        }
        if (current != null) {
            current.removeShuffle(shuffleId);
        }
        return super.unregisterShuffle(shuffleId);
    }

    @Override
    public void stop() {
        ShuffleEngine last;
        synchronized (this) {
            stopped = true;
            last = engine;
            engine = null;
        }
        if (last != null) {
            last.close();
        }
        super.stop();
    }
}
