// SPDX-License-Identifier: Apache-2.0
// What the doctor says of RPC: settings, key, protocols that are switched, and how the servers that it called are reached.
package org.verbena.hadoop.rpc;

import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.CoreRpcEngine;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.RpcConf;

/** Looks with the code that clients and servers run. */
public final class RpcCheck {
    private static final long DECIDED_MILLIS = 10_000;

    private RpcCheck() {
    }

    /**
     * Looks at the settings of a host.
     *
     * @param conf with all site files
     */
    public static void run(Configuration conf, HostReport report) {
        RpcConf settings;
        try {
            settings = RpcConf.of(conf);
        } catch (IllegalArgumentException e) {
            report.add(Level.BAD, "settings: " + e.getMessage());
            return;
        }
        report.add(Level.OK, "settings: none of verbena.rpc.* is wrong");
        List<String> keys = Protocols.keys();
        long ours = keys.stream().filter(key -> conf.getTrimmed(key, "").equals(VerbenaRpcEngine.class.getName())).count();
        if (ours == 0) {
            report.add(Level.WARN, "rpc.engine.* names VerbenaRpcEngine for no protocol: calls go by TCP; 'hadoop jar JAR "
                + Protocols.class.getName() + "' prints the properties for core-site.xml");
            return;
        }
        report.add(Level.OK, "rpc.engine.* names VerbenaRpcEngine for " + ours + " of " + keys.size() + " protocols");
        if (!settings.enabled()) {
            report.add(Level.WARN, "RPC: " + PluginSetting.RPC_ENABLED + " is false, calls go by TCP");
        }
        if (CoreRpcEngine.missing() != null) {
            report.add(Level.WARN, "RPC: calls go by TCP, this Hadoop differs: " + CoreRpcEngine.missing());
        }
        report.key(settings.key(), "call servers, as by Hadoop's own ports");
    }

    /**
     * Makes a configuration whose first call to a server asks whether that offers the core.
     *
     * @param conf any
     */
    public static Configuration asking(Configuration conf) {
        Configuration asking = new Configuration(conf);
        asking.set(PluginSetting.RPC_FIRST_CALLS.key(), "1");
        return asking;
    }

    /**
     * Says how the servers are reached that were called with {@link #asking}.
     *
     * @param asking that configuration
     */
    public static void servers(Configuration asking, HostReport report) {
        RpcConf settings;
        try {
            settings = RpcConf.of(asking);
        } catch (IllegalArgumentException e) {
            return; // run has told it
        }
        CoreNode.of(settings).eachServer(server -> {
            if (!server.hasAnswered()) {
                return;
            }
            String transport = server.transport(DECIDED_MILLIS);
            String name = "RPC server " + server.address();
            if (transport != null) {
                report.add(Level.OK, name + " is reached by the core: " + transport);
            } else {
                report.add(Level.WARN, name + " is reached by TCP: " + server.obstacle() + "; it needs hadoop-rdma, its rpc.engine "
                    + "property and the same key");
            }
        });
    }
}
