// SPDX-License-Identifier: Apache-2.0
// The settings verbena.lustre.* of a Hadoop configuration, checked.
package org.verbena.hadoop.lustre;

import static org.verbena.core.plugin.PluginSetting.LUSTRE_BLOCK_SIZE;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_LFS;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_ROOT;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_STRIPE_COUNT;
import static org.verbena.core.plugin.PluginSetting.LUSTRE_STRIPE_SIZE;

import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.verbena.core.plugin.PluginSetting.Plugin;
import org.verbena.core.plugin.SettingTable;

/**
 * Immutable.
 *
 * @param root the folder that lustre:/// names; null when it is not set
 * @param blockSize bytes by which Hadoop plans tasks
 * @param stripeSize bytes on one storage target, 0: as the folder says
 * @param stripeCount storage targets of a new file, 0: as the folder says
 * @param lfs "auto", "off", or the path of the tool
 */
public record LustreConf(Path root, long blockSize, long stripeSize, int stripeCount, String lfs) {
    /** The unit of Lustre's stripes. */
    private static final long STRIPE_UNIT = 64 << 10;

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
            stripe, (int) table.number(LUSTRE_STRIPE_COUNT), table.text(LUSTRE_LFS));
    }
}
