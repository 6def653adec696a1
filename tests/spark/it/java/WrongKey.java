// SPDX-License-Identifier: Apache-2.0
// Gives executor 0 another job key than the rest of the application has.
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/** Named in spark.plugins before Verbena's, so that the engine starts with the wrong key. */
public final class WrongKey implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return null;
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new ExecutorPlugin() {
            @Override
            public void init(PluginContext context, Map<String, String> extra) {
                if (context.executorID().equals("0")) {
                    SparkEnv.get().conf().set("spark.verbena.internal.secret", "wrong");
                }
            }
        };
    }
}
