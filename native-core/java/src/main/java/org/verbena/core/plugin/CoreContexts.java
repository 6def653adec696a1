// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.net.InetAddress;
import java.util.Map;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnException;

/** Opens the core for a plugin: its log goes to the host system's, it listens where the host system does. */
public final class CoreContexts {
    private static final String INTERFACE = "tl.tcp.interface";

    private CoreContexts() {
    }

    /**
     * Opens a context.
     *
     * @param config with the cluster's key and the plugin's settings
     * @param core the settings of the core that the user has made
     * @param key names its settings when a peer is refused
     * @param log takes the core's lines
     * @param local the address that the core listens on, when none is set
     * @return the context, which the caller closes
     */
    public static VbnContext open(VbnConfig config, Map<String, String> core, ClusterKey key, PluginLog log, InetAddress local)
            throws VbnException {
        config.log(new RefusalLog(log, key));
        if (!core.containsKey(INTERFACE)) {
            config.set(INTERFACE, local.getHostAddress());
        }
        return VbnContext.open(config);
    }
}
