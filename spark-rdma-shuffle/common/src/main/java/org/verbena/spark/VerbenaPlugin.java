// SPDX-License-Identifier: Apache-2.0
// The entry point: spark.plugins=org.verbena.spark.VerbenaPlugin.
package org.verbena.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.io.IOException;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.ui.SparkUI;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.metrics.DeadShuffles;
import org.verbena.spark.metrics.ExecutorReports;
import org.verbena.spark.metrics.LoggedReports;
import org.verbena.spark.metrics.Numbers;
import org.verbena.spark.metrics.Reporter;
import org.verbena.spark.settings.VerbenaConf;
import org.verbena.spark.store.SlabStore;
import org.verbena.spark.ui.TrafficPage;

/** Prepares the configuration on the driver, starts the engine where the manager has not, publishes metrics. */
public final class VerbenaPlugin implements SparkPlugin {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaPlugin.class);
    /** A part of the names of metrics: Spark warns of a source that is registered while it is not set. */
    private static final String APPLICATION = "spark.app.id";

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

    private static Map<String, Long> numbers(SparkEnv env) {
        ShuffleEngine engine = engine(env);
        return engine == null ? Numbers.none() : engine.numbers();
    }

    private static void publish(MetricRegistry registry, SparkEnv env) {
        for (String name : Numbers.none().keySet()) {
            registry.register(name, (Gauge<Long>) () -> numbers(env).get(name));
        }
    }

    private static String choice(SparkEnv env) {
        return env.shuffleManager() instanceof VerbenaShuffleManager manager ? manager.choice() : null;
    }

    /** Adds up what the executors tell, also those that are gone, and shows it in Spark's UI. */
    private static final class Driver implements DriverPlugin {
        private final ExecutorReports executors = new ExecutorReports();
        private DeadShuffles dead;
        private SparkContext context;
        private String declined;

        @Override
        public Map<String, String> init(SparkContext context, PluginContext plugin) {
            this.context = context;
            DriverSetup.prepare(SparkEnv.get().conf(), true);
            declined = SparkEnv.get().conf().get(DriverSetup.DECLINED, null);
            dead = new DeadShuffles(new VerbenaConf(SparkEnv.get().conf()).driverGc());
            JarSender.send(context, SparkEnv.get().conf());
            Shells.greet(declined);
            showTab();
            return Map.of();
        }

        private void showTab() {
            SparkShim shim = SparkShim.load();
            if (shim == null || context.ui().isEmpty()) {
                return;
            }
            try {
                SparkUI ui = context.ui().get();
                ui.attachTab(shim.newTab(ui, () -> TrafficPage.html(declined, executors)));
            } catch (RuntimeException | LinkageError e) {
                LOG.debug("no tab in this Spark's UI", e);
            }
        }

        @Override
        public void registerMetrics(String application, PluginContext plugin) {
            engine(SparkEnv.get());
            MetricRegistry registry = plugin.metricRegistry();
            publish(registry, SparkEnv.get());
            registry.register("executors", (Gauge<Integer>) executors::count);
            for (String name : Numbers.none().keySet()) {
                registry.register("executors." + name, (Gauge<Long>) () -> executors.sum(name));
            }
        }

        @Override
        public Object receive(Object message) {
            executors.take(message);
            if (context.cleaner().isDefined()) {
                dead.take(message);
            }
            return null;
        }

        @Override
        public void shutdown() {
            String summary = executors.summary();
            if (summary != null) {
                LOG.info("{}", summary);
            }
            if (context != null) {
                context.listenerBus().post(new LoggedReports(declined, executors));
            }
        }
    }

    private static final class Executor implements ExecutorPlugin {
        private Reporter reporter;
        private PluginContext driver;
        /** Written by whichever task finds the engine first; twice does no harm. */
        private volatile boolean asks;

        @Override
        public void init(PluginContext plugin, Map<String, String> extra) {
            SparkEnv env = SparkEnv.get();
            engine(env);
            if (env.conf().contains(APPLICATION)) { // else it is local[n], and the driver, in this JVM, will publish the same
                publish(plugin.metricRegistry(), env);
            }
            if (!env.conf().contains(DriverSetup.DECLINED)) {
                reporter = new Reporter(plugin, () -> numbers(env), () -> choice(env));
                driver = plugin;
            }
        }

        @Override
        public void onTaskStart() {
            if (reporter != null) {
                reporter.taskStarted();
                letAsk();
            }
        }

        /** The engine may have come after this plugin. */
        private void letAsk() {
            ShuffleEngine engine = asks ? null : engine(SparkEnv.get());
            if (engine != null) {
                asks = true;
                engine.whenNearlyFull(() -> ask(engine.existingStore()));
            }
        }

        private void ask(SlabStore store) {
            try {
                driver.send(DeadShuffles.question(driver.executorID(), store.removedShuffles()));
            } catch (IOException | RuntimeException e) {
                LOG.debug("the driver is not asked for dead shuffles: {}", e.toString());
            }
        }

        @Override
        public void onTaskSucceeded() {
            if (reporter != null) {
                reporter.taskEnded();
            }
        }

        @Override
        public void onTaskFailed(TaskFailedReason reason) {
            onTaskSucceeded();
        }

        @Override
        public void shutdown() {
            if (reporter != null) {
                reporter.close();
            }
        }
    }
}
