// SPDX-License-Identifier: Apache-2.0
// Named in spark.plugins after Verbena's: executors stand aside after the driver has decided.
package org.verbena.spark.it;

import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/** Takes the key away without which no engine starts. */
public final class NoKey implements SparkPlugin {
    /** Called by Spark. */
    public NoKey() {
    }

    @Override
    public DriverPlugin driverPlugin() {
        return new DriverPlugin() {
            @Override
            public Map<String, String> init(SparkContext context, PluginContext plugin) {
                SparkEnv.get().conf().set("spark.verbena.internal.secret", "");
                return Map.of();
            }
        };
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return null;
    }
}
