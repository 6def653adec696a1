// SPDX-License-Identifier: Apache-2.0
// The entry point: spark.plugins=org.verbena.spark.VerbenaPlugin.
package org.verbena.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.verbena.spark.metrics.Traffic;
import org.verbena.spark.store.SlabStore;

/** Prepares the configuration on the driver, starts the engine where the manager has not, publishes metrics. */
public final class VerbenaPlugin implements SparkPlugin {
    /** Called by Spark. */
    public VerbenaPlugin() {
    }

    @Override
    public DriverPlugin driverPlugin() {
        return new Driver();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new Executor();
    }

    private static ShuffleEngine engine(SparkEnv env) {
        // On Spark 4 executors the manager comes after the plugins; it starts the engine itself then.
        return env != null && env.shuffleManager() instanceof VerbenaShuffleManager manager ? manager.engine() : null;
    }

    private static void publish(MetricRegistry registry, SparkEnv env) {
        for (Traffic.Path path : Traffic.Path.values()) {
            String name = path.name().toLowerCase(Locale.ROOT);
            gauge(registry, env, name + ".bytes", engine -> engine.traffic().bytes(path));
            gauge(registry, env, name + ".blocks", engine -> engine.traffic().blocks(path));
        }
        gauge(registry, env, "fallback.blocks", engine -> engine.traffic().fallbacks());
        storeGauge(registry, env, "slab.used.bytes", SlabStore::usedBytes);
        storeGauge(registry, env, "slab.reserved.bytes", SlabStore::reservedBytes);
        storeGauge(registry, env, "slab.written.bytes", SlabStore::writtenBytes);
        storeGauge(registry, env, "spilled.bytes", SlabStore::spilledBytes);
    }

    private static void gauge(MetricRegistry registry, SparkEnv env, String name, ToLongFunction<ShuffleEngine> value) {
        registry.register(name, (Gauge<Long>) () -> {
            ShuffleEngine engine = engine(env);
            return engine == null ? 0L : value.applyAsLong(engine);
        });
    }

    private static void storeGauge(MetricRegistry registry, SparkEnv env, String name,
            ToLongFunction<SlabStore> value) {
        gauge(registry, env, name, engine -> {
            SlabStore store = engine.existingStore();
            return store == null ? 0L : value.applyAsLong(store);
        });
    }

    private static final class Driver implements DriverPlugin {
        @Override
        public Map<String, String> init(SparkContext context, PluginContext plugin) {
            DriverSetup.prepare(SparkEnv.get().conf(), true);
            return Map.of();
        }

        @Override
        public void registerMetrics(String application, PluginContext plugin) {
            engine(SparkEnv.get());
            publish(plugin.metricRegistry(), SparkEnv.get());
        }
    }

    private static final class Executor implements ExecutorPlugin {
        @Override
        public void init(PluginContext plugin, Map<String, String> extra) {
            engine(SparkEnv.get());
            publish(plugin.metricRegistry(), SparkEnv.get());
        }
    }
}
