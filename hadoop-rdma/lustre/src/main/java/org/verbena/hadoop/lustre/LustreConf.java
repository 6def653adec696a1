// SPDX-License-Identifier: Apache-2.0
// The settings verbena.lustre.* of a Hadoop configuration, checked.
package org.verbena.hadoop.lustre;

import static org.verbena.core.plugin.PluginSetting.LUSTRE_BLOCK_SIZE;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_BUFFER_CHUNK;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_BUFFER_FAULT;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_BUFFER_LEASE_S;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_BUFFER_LOCAL;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_BUFFER_SERVERS;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_LFS;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_ROOT;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_STRIPE_COUNT;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_STRIPE_SIZE;

import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.verbena.core.plugin.PluginSetting.Plugin;
import org.verbena.core.plugin.SettingTable;
import org.verbena.hadoop.lustre.buffer.BufferConf;
import org.verbena.hadoop.lustre.buffer.Fault;
import org.verbena.memcached.config.ClientConfig;

/**
 * Immutable.
 *
 * @param root the folder that lustre:/// names; null when it is not set
 * @param blockSize bytes by which Hadoop plans tasks
 * @param stripeSize bytes on one storage target, 0: as the folder says
 * @param stripeCount storage targets of a new file, 0: as the folder says
 * @param lfs "auto", "off", or the path of the tool
 * @param buffer the burst buffer
 */
public record LustreConf(Path root, long blockSize, long stripeSize, int stripeCount, String lfs, BufferConf buffer) {
    /** The unit of Lustre's stripes. */
    private static final long STRIPE_UNIT = 64 << 10;
    /** Hadoop forgets an empty value on the way to a task, so that a job needs a word. */
    private static final String NO_SERVERS = "none";

    /**
     * Reads a configuration.
     *
     * @throws IllegalArgumentException when a setting is wrong; the text names it and what would be right
     */
    public static LustreConf of(Configuration conf) {
        SettingTable table = new SettingTable(Plugin.LUSTRE, conf::getTrimmed);
        for (Map.Entry<String, String> entry : conf) {
            table.check(entry.getKey(), entry.getValue());
        }
        String root = table.text(LUSTRE_ROOT);
        if (root != null && !root.isEmpty() && !root.startsWith("/")) {
            throw table.bad(LUSTRE_ROOT, "an absolute path, such as /lustre/hadoop");
        }
        long stripe = table.size(LUSTRE_STRIPE_SIZE);
        if (stripe % STRIPE_UNIT != 0) {
            throw table.bad(LUSTRE_STRIPE_SIZE, "a multiple of 64k");
        }
        return new LustreConf(root == null || root.isEmpty() ? null : Path.of(root).normalize(), table.size(LUSTRE_BLOCK_SIZE),
            stripe, (int) table.number(LUSTRE_STRIPE_COUNT), table.text(LUSTRE_LFS), buffer(table));
    }

    private static BufferConf buffer(SettingTable table) {
        String servers = table.text(LUSTRE_BUFFER_SERVERS);
        servers = servers.equals(NO_SERVERS) ? "" : servers;
        String local = table.text(LUSTRE_BUFFER_LOCAL);
        if (!local.startsWith("/")) {
            throw table.bad(LUSTRE_BUFFER_LOCAL, "an absolute path, such as /var/tmp/verbena-buffer");
        }
        if (!servers.isEmpty()) {
            try {
                new ClientConfig(servers);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(LUSTRE_BUFFER_SERVERS.key() + ": " + e.getMessage(), e);
            }
        }
        return new BufferConf(servers, Fault.of(table.choice(LUSTRE_BUFFER_FAULT)), Path.of(local),
            (int) table.size(LUSTRE_BUFFER_CHUNK), table.number(LUSTRE_BUFFER_LEASE_S) * 1000L);
    }
}
