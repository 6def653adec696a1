// SPDX-License-Identifier: Apache-2.0
// What an older Java than 17 finds behind spark.plugins.
package org.verbena.spark;

import java.util.Collections;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/** Does nothing. */
public final class VerbenaPlugin implements SparkPlugin {
    /** Called by Spark. */
    public VerbenaPlugin() {
    }

    @Override
    public DriverPlugin driverPlugin() {
        return new DriverPlugin() {
            @Override
            public Map<String, String> init(SparkContext context, PluginContext plugin) {
                String manager = plugin.conf().get("spark.shuffle.manager", "sort");
                if (!manager.equals(VerbenaShuffleManager.class.getName())) { // which says it itself
                    TooOld.say();
                }
                return Collections.emptyMap();
            }
        };
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return null;
    }
}
