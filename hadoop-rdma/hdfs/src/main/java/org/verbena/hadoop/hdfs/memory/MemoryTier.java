// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.plugin.HostMemory;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.core.plugin.StreamBudget;
import org.verbena.hadoop.hdfs.settings.TierConf;

/**
 * A DataNode's tier of memory: its folder, its size and what is said about both. Its storage type is NVDIMM: RAM_DISK is for
 * replicas that Hadoop itself writes to disks soon after, wants locked memory and takes writers of the same host alone.
 */
public final class MemoryTier {
    /** The storage type; Hadoop has it since 3.4. */
    public static final String TYPE = "NVDIMM";
    private static final Logger LOG = LoggerFactory.getLogger(MemoryTier.class);
    private static final List<String> TIERS = List.of(TYPE, "SSD", "DISK");

    private final TierConf settings;
    private final long block;
    private StorageLocation location;
    private Path folder;
    private TierSize size;
    private MemoryLedger ledger;

    /** For a DataNode's configuration. */
    public MemoryTier(Configuration conf, TierConf settings) {
        this.settings = settings;
        block = conf.getLongBytes("dfs.blocksize", 128L << 20);
    }

    /**
     * Makes the folder, which is nobody else's, and chooses the size.
     *
     * @param node the DataNode's own identity, with which it finds its replicas again after a restart
     * @return the folder as Hadoop names it; null when there can be no memory tier, which was said
     */
    public StorageLocation prepare(String node) {
        try {
            Path all = Path.of(settings.memoryDir()).toAbsolutePath();
            folder = all.resolve(node);
            PrivateFolder.make(all);
            PrivateFolder.make(folder);
            long held = new MemoryLedger(folder, 0).used() - MemoryLedger.OWN;
            size = TierSize.choose(settings.memorySize(), HostMemory.bytes(), Runtime.getRuntime().maxMemory(),
                StreamBudget.bytes(), folder, Files.getFileStore(folder).getUsableSpace() + held, block);
            if (size.warning() != null) {
                LOG.warn("Verbena hhh: {}", size.warning());
            }
            if (size.bytes() > 0) {
                ledger = new MemoryLedger(folder, size.bytes());
                location = StorageLocation.parse("[" + TYPE + "]" + folder.toUri());
            }
        } catch (IOException | RuntimeException e) {
            failed(e);
        }
        return location;
    }

    /** Whether a volume is this tier. */
    public boolean is(StorageLocation other) {
        return location != null && location.equals(other);
    }

    /** Whether {@code hsync} of a replica in this tier fails. */
    public boolean refusesSync() {
        return settings.refusesSync();
    }

    /** The folder, after {@link #prepare}. */
    public Path folder() {
        return folder;
    }

    /** The books, after {@link #prepare}. */
    public MemoryLedger ledger() {
        return ledger;
    }

    /** There is none, for a reason that nobody foresaw. */
    public void failed(Exception cause) {
        location = null;
        LOG.warn("Verbena hhh: no memory tier, because the folder {} cannot be used: {}; set {} to a folder in tmpfs that this "
            + "user may write to", folder == null ? settings.memoryDir() : folder, cause.toString(),
            PluginSetting.HDFS_MEMORY_DIR);
    }

    /**
     * Says once which tiers there are.
     *
     * @param volumes the DataNode's volumes by storage type: how many, and bytes
     */
    public void announce(Map<StorageType, LongSummaryStatistics> volumes) {
        List<String> tiers = new ArrayList<>();
        for (String name : TIERS) {
            LongSummaryStatistics of = volumes.get(StorageType.valueOf(name));
            if (name.equals(TYPE) && location != null) {
                tiers.add(TYPE + " " + mib(size.bytes()) + " MiB in " + folder + " (" + size.why() + kind() + ")");
            } else if (of != null) {
                tiers.add(name + " " + mib(of.getSum()) + " MiB in " + of.getCount()
                    + (of.getCount() == 1 ? " folder" : " folders"));
            }
        }
        LOG.info("Verbena 0.1.0 {}: tiers {}; when one is full the next takes over", settings.mode(), String.join(", ", tiers));
    }

    private String kind() {
        try {
            String type = Files.getFileStore(folder).type();
            return type.equals("tmpfs") || type.equals("ramfs") ? "" : "; the file system is " + type + ", which is no memory";
        } catch (IOException e) {
            return "";
        }
    }

    private static long mib(long bytes) {
        return bytes >> 20;
    }
}
