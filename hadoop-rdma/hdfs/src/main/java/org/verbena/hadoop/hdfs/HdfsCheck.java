// SPDX-License-Identifier: Apache-2.0
// What the doctor says of HDFS: settings, key, limits, tiers, and how each DataNode of a running cluster is reached.
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.hdfs.memory.PrivateFolder;
import org.verbena.hadoop.hdfs.memory.TierSize;
import org.verbena.hadoop.hdfs.settings.HdfsConf;
import org.verbena.hadoop.hdfs.settings.Mode;
import org.verbena.hadoop.hdfs.settings.MoveConf;
import org.verbena.hadoop.hdfs.settings.TierConf;

/** Looks with the code that clients and DataNodes run. */
public final class HdfsCheck {
    private static final String FACTORY = "hadoop.rpc.socket.factory.class.ClientProtocol";
    private static final String PLUGINS = "dfs.datanode.plugins";
    private static final String PACKAGE = "org.verbena.hadoop.hdfs.";
    private static final long FILES = 4096;
    private static final int REPLICATION = 3;

    private final Configuration conf;
    private final HostReport report;

    private HdfsCheck(Configuration conf, HostReport report) {
        this.conf = conf;
        this.report = report;
    }

    /**
     * Looks at this host and these settings.
     *
     * @return the settings of the core; null when those of HDFS are wrong
     */
    public static Map<String, String> host(Configuration conf, HostReport report) {
        HdfsCheck check = new HdfsCheck(conf, report);
        HdfsConf settings = check.settings();
        if (settings == null) {
            return null;
        }
        check.switches(settings);
        report.key(settings.key(), "open streams, as on Hadoop's own port");
        check.tiers();
        report.openFiles(FILES, "each connected process takes some, and each open block two");
        return settings.core();
    }

    private HdfsConf settings() {
        try {
            HdfsConf settings = HdfsConf.of(conf);
            TierConf.of(conf);
            report.add(Level.OK, "settings: none of verbena.hdfs.* is wrong");
            return settings;
        } catch (IllegalArgumentException e) {
            report.add(Level.BAD, "settings: " + e.getMessage());
            return null;
        }
    }

    private void switches(HdfsConf settings) {
        if (!settings.enabled()) {
            report.add(Level.WARN, "HDFS: " + PluginSetting.HDFS_ENABLED + " is false, blocks go by TCP");
        }
        named(FACTORY, PACKAGE + "VerbenaSocketFactory", "core-site.xml", "clients and DataNodes make TCP connections");
        named(PLUGINS, PACKAGE + "VerbenaDataNodePlugin", "hdfs-site.xml", "a DataNode with these files serves by TCP alone");
    }

    /** The class by its name: those of the daemons cannot be loaded with a client's class path. */
    private void named(String key, String ours, String file, String otherwise) {
        if (List.of(conf.getTrimmedStrings(key)).contains(ours)) {
            report.add(Level.OK, key + " names " + ours.substring(ours.lastIndexOf('.') + 1));
        } else {
            report.add(Level.WARN, key + " is " + conf.getTrimmed(key, "not set") + ": " + otherwise + "; set it in " + file
                + " to " + ours);
        }
    }

    private void hsync(TierConf tiers) {
        String key = PluginSetting.HDFS_MEMORY_HSYNC.key();
        if (tiers.mode() == Mode.HHH_M) {
            report.add(Level.OK, "mode hhh-m: hsync of a block in memory " + (tiers.refusesSync() ? "fails"
                : "is an hflush: a power cut of all hosts takes the data") + " (" + key + ")");
        } else if (conf.getTrimmed(key, "").equals("refuse")) {
            report.add(Level.WARN, key + "=refuse has no effect without mode hhh-m: files of the storage policy ALL_NVDIMM lie in "
                + "memory, and their hsync succeeds");
        }
        if (tiers.refusesSync() && conf.getBoolean("dfs.datanode.synconclose", false)) {
            report.add(Level.BAD, "mode hhh-m: dfs.datanode.synconclose forces each block at its end, which " + key + "=refuse "
                + "refuses: memory takes no block and no copy of one; set either back");
        }
    }

    private void tiers() {
        TierConf tiers = TierConf.of(conf);
        if (!tiers.tiered()) {
            return;
        }
        named("dfs.datanode.fsdataset.factory", PACKAGE + "tier.VerbenaDatasetFactory", "hdfs-site.xml",
            "DataNodes keep replicas as Hadoop does");
        named("dfs.block.replicator.classname", PACKAGE + "tier.VerbenaPlacementPolicy", "hdfs-site.xml",
            "the NameNode asks for no replica in memory");
        named("dfs.net.topology.impl", PACKAGE + "tier.VerbenaTopology", "hdfs-site.xml",
            "the NameNode tells readers of equally near replicas any first");
        if (tiers.mode() == Mode.HHH_M && !tiers.memoryAlone() && conf.getInt("dfs.replication", REPLICATION) < 2) {
            report.add(Level.BAD, "mode hhh-m: dfs.replication is 1, and the NameNode refuses files with one replica; set it to 2 "
                + "or more, or " + PluginSetting.HDFS_MEMORY_ALONE + "=true");
        }
        hsync(tiers);
        if (tiers.mode() == Mode.HHH_L) {
            SharedCheck.look(tiers.shared(), report);
        }
        moves();
        try {
            Path folder = Path.of(tiers.memoryDir());
            if (Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
                PrivateFolder.check(folder);
            }
            Path there = Files.isDirectory(folder) ? folder : folder.getParent();
            long free = Files.getFileStore(there).getUsableSpace() >> 20;
            String kind = Files.getFileStore(there).type();
            long needed = Math.max(tiers.memorySize(), conf.getLongBytes("dfs.blocksize", 128L << 20)) >> 20;
            String text = "memory tier: " + folder + " has " + free + " MiB free, its file system is " + kind;
            if (!kind.equals("tmpfs") || free < needed) {
                report.add(Level.WARN, text + ": a DataNode needs " + needed + " MiB in a tmpfs; " + TierSize.larger(needed << 20)
                    + ", or set " + PluginSetting.HDFS_MEMORY_DIR + " and " + PluginSetting.HDFS_MEMORY_SIZE);
            } else {
                report.add(Level.OK, text);
            }
        } catch (IOException | RuntimeException e) {
            report.add(Level.BAD, "memory tier: " + PluginSetting.HDFS_MEMORY_DIR + "=" + tiers.memoryDir() + ": " + e);
        }
    }

    private void moves() {
        try {
            MoveConf moves = MoveConf.of(conf);
            report.add(Level.OK, "memory tier: " + (moves.high() == MoveConf.WHOLE ? "no block leaves it"
                : "blocks leave it above " + moves.high() + " % of its size, down to " + moves.low() + " %") + "; "
                + (moves.promote() == 0 ? "no block comes in" : "a block comes in after " + moves.promote() + " reads")
                + "; copies on SSDs and disks: " + switch (moves.persist()) {
                    case OFF -> "of blocks that leave (";
                    case ASYNC -> "soon after the write (";
                    case SYNC -> "before a file is closed (";
                } + PluginSetting.HDFS_MEMORY_PERSIST + ")");
        } catch (IllegalArgumentException e) {
            report.add(Level.BAD, "memory tier: " + e.getMessage());
        }
    }
}
