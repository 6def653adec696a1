// SPDX-License-Identifier: Apache-2.0
// Checks on the driver the settings that are meant for the native core, by the core itself.
package org.verbena.spark;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;

/** A wrong setting has to stop the application at its start, and not to slow it down silently. */
final class CoreSettings {
    private static final Logger LOG = LoggerFactory.getLogger(CoreSettings.class);
    /** What may be right on the executors' hosts and wrong on the driver's. */
    private static final Set<String> OF_A_HOST =
        Set.of("tl.tcp.interface", "tl.tcp.port", "tl.shm.socket_dir", "stats.dir");

    private CoreSettings() {
    }

    /**
     * Opens the core with the settings and closes it again.
     *
     * @throws IllegalArgumentException when the core does not know a setting or cannot take its value; any other
     *     trouble of the core on this host says nothing about the settings and is not reported
     */
    static void check(VerbenaConf settings) {
        if (settings.core().isEmpty()) {
            return;
        }
        Map<String, String> everywhere = new TreeMap<>(settings.core());
        everywhere.keySet().removeAll(OF_A_HOST);
        everywhere.put("tl.tcp.interface", "127.0.0.1");
        try {
            VbnContext.open(config(settings.core())).close();
            try (VbnContext context = VbnContext.open(config(everywhere));
                    VbnEngine engine = context.startEngine("verbena-check")) {
                LOG.debug("the settings of the core are right: {}", engine);
            }
        } catch (VbnException e) {
            if (e.kind() == VbnStatus.SETTING) {
                String name = e.getMessage().contains("tl.enable") ? "transport" : "core.*";
                throw new IllegalArgumentException(VerbenaConf.PREFIX + name + " is wrong: "
                    + e.getMessage().substring(e.statusName().length() + 2), e);
            }
            LOG.debug("the core does not start on the driver, its settings are not checked", e);
        }
    }

    private static VbnConfig config(Map<String, String> settings) {
        VbnConfig config = new VbnConfig().jobKey(new byte[VbnConfig.JOB_KEY_BYTES])
            .log(line -> LOG.debug("{}", line.text()));
        settings.forEach(config::set);
        return config;
    }
}
