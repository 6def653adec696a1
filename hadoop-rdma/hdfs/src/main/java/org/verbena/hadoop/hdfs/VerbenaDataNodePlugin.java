// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.SocketFactory;
import org.apache.hadoop.hdfs.DFSUtil;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.XceiverBridge;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.TieredDataset;
import org.apache.hadoop.metrics2.MetricsCollector;
import org.apache.hadoop.metrics2.MetricsRecordBuilder;
import org.apache.hadoop.metrics2.MetricsSource;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.metrics2.lib.Interns;
import org.apache.hadoop.util.ServicePlugin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.greeting.Greeter;
import org.verbena.core.plugin.LocalAddress;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.core.plugin.RepeatedStart;
import org.verbena.core.plugin.SettingTable;
import org.verbena.core.plugin.StreamBudget;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;
import org.verbena.hadoop.hdfs.settings.HdfsConf;
import org.verbena.hadoop.hdfs.settings.TierConf;
import org.verbena.hadoop.hdfs.tier.VerbenaDatasetFactory;

/**
 * Serves blocks over the core beside the DataNode's data port, by {@code dfs.datanode.plugins}. When it cannot, it says why
 * in one line, the DataNode works as without it, and it tries again later ({@link RepeatedStart}).
 */
public final class VerbenaDataNodePlugin implements ServicePlugin, MetricsSource {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaDataNodePlugin.class);
    private static final String METRICS = "Verbena";
    private static final String FACTORY = "dfs.datanode.fsdataset.factory";

    private DataNode dataNode;
    private CoreNode node;
    private CorePeerServer server;
    private GreetingServer greeting;
    private RepeatedStart starting;

    /** Hadoop makes it by reflection. */
    public VerbenaDataNodePlugin() {
    }

    /** {@inheritDoc} Throws nothing: an exception here would be one line of Hadoop's without a cure. */
    @Override
    public void start(Object service) {
        dataNode = (DataNode) service;
        try {
            HdfsConf conf = HdfsConf.of(dataNode.getConf());
            checkTiers();
            if (conf.enabled()) {
                starting = RepeatedStart.begin("verbena-start", () -> startOrRelease(conf), cause -> LOG.warn(
                    "Verbena stands aside, blocks go by TCP: {}; tried again in half a minute, and then less often", cause));
            } else {
                LOG.info("Verbena is off ({}=false)", PluginSetting.HDFS_ENABLED);
            }
        } catch (RuntimeException | LinkageError e) {
            LOG.warn("Verbena stands aside, blocks go by TCP: {}", e.getMessage() == null ? e.toString() : e.getMessage());
        }
    }

    /** The mode alone does nothing: Hadoop has to be told who keeps its replicas. */
    private void checkTiers() {
        String factory = dataNode.getConf().getTrimmed(FACTORY, "");
        if (TierConf.of(dataNode.getConf()).tiered() && !factory.equals(VerbenaDatasetFactory.class.getName())) {
            LOG.warn("Verbena hhh: {} is {}, but this DataNode keeps its replicas as Hadoop does: set {} to {} in hdfs-site.xml",
                PluginSetting.HDFS_MODE, TierConf.of(dataNode.getConf()).mode(), FACTORY, VerbenaDatasetFactory.class.getName());
        }
    }

    private void startOrRelease(HdfsConf conf) throws IOException {
        try {
            start(conf);
        } catch (IOException | RuntimeException | LinkageError e) {
            release();
            throw e;
        }
    }

    private void start(HdfsConf conf) throws IOException {
        InetSocketAddress data = dataNode.getXferAddress();
        InetAddress local = data.getAddress().isAnyLocalAddress() ? known(conf) : data.getAddress();
        node = CoreNode.of(conf);
        List<byte[]> engines = node.serve(local).stream().map(streams -> streams.engine().address()).toList();
        AtomicInteger next = new AtomicInteger();
        InetSocketAddress shown = new InetSocketAddress(local, data.getPort());
        Greeter<InetAddress> greeter = new Greeter<>(Hello.MESSAGES, Hello.SERVICE,
            () -> engines.get(Math.floorMod(next.getAndIncrement(), engines.size())));
        server = new CorePeerServer(node.ports(), shown, greeter);
        XceiverBridge.serve(dataNode, server, usesOwnReceiver(), answersReads() ? this::countRead : null);
        int port = data.getPort() + conf.portOffset();
        greeting = new GreetingServer(new InetSocketAddress(data.getAddress(), port), greeter);
        String hops = XceiverBridge.replaceSocketFactory(dataNode, factory(dataNode)) ? "" : "; to other DataNodes by TCP, "
            + "because this Hadoop's DataNode has no socket factory";
        DefaultMetricsSystem.instance().register(METRICS, "HDFS data by the native core", this);
        LOG.info("Verbena 0.1.0 serves blocks of {} by {}, greeting at port {}, {}{}", shown, node.carriers(), port,
            conf.openToAll() ? "open to all (verbena.hdfs.auth=none)" : "with the key of " + conf.keyFile(), hops);
        LOG.info("Verbena: {}", StreamBudget.words());
    }

    /** Who takes the blocks that clients write by the core. */
    private boolean usesOwnReceiver() {
        boolean ours = isOurs(PluginSetting.HDFS_RECEIVER, "Hadoop's receiver takes all blocks",
            XceiverBridge.receiverObstacle(dataNode));
        if (ours) {
            LOG.info("Verbena's receiver takes blocks that come by the core");
        }
        return ours;
    }

    /** Who answers small reads by the core. */
    private boolean answersReads() {
        return isOurs(PluginSetting.HDFS_READER, "Hadoop answers all reads by the core", XceiverBridge.readsObstacle(dataNode));
    }

    /** Whether the setting is auto and nothing stands in the way, which is told: consequence, cause. */
    private boolean isOurs(PluginSetting setting, String consequence, String obstacle) {
        SettingTable table = HdfsConf.table(dataNode.getConf());
        if (!table.choice(setting).equals("auto")) {
            return false;
        }
        if (obstacle != null && table.isSet(setting)) {
            LOG.warn("{}, in spite of {}=auto: {}", consequence, setting, obstacle);
        } else if (obstacle != null) {
            LOG.info("{}: {}", consequence, obstacle);
        }
        return obstacle == null;
    }

    private void countRead(String pool, ReplicaInfo replica) {
        if (dataNode.getFSDataset() instanceof TieredDataset tiers) {
            tiers.countRead(pool, replica);
        }
    }

    /** Of a DataNode that listens on all addresses, which is Hadoop's default: the one by which the NameNode knows it. */
    private InetAddress known(HdfsConf conf) throws IOException {
        List<InetSocketAddress> nameNodes = new ArrayList<>();
        DFSUtil.getNNServiceRpcAddressesForCluster(dataNode.getConf()).values().forEach(all -> nameNodes.addAll(all.values()));
        InetAddress seen = LocalAddress.seenBy(nameNodes);
        InetAddress local = seen == null ? InetAddress.getLocalHost() : seen;
        if (local.isLoopbackAddress() && !conf.core().containsKey(HdfsConf.INTERFACE)) {
            LOG.warn("Verbena: clients of other hosts do not reach this DataNode by the core: the DataNode listens on all "
                + "addresses, and {} is {}; set {}core.{} to the address by which clients know the DataNode",
                seen == null ? "the one of this host's own name" : "the one that the NameNode sees", local.getHostAddress(),
                HdfsConf.PREFIX, HdfsConf.INTERFACE);
        }
        return local;
    }

    private static SocketFactory factory(DataNode dataNode) {
        VerbenaSocketFactory factory = new VerbenaSocketFactory();
        factory.setConf(dataNode.getConf());
        return factory;
    }

    @Override
    public void getMetrics(MetricsCollector collector, boolean all) {
        MetricsRecordBuilder record = collector.addRecord(METRICS);
        for (Map.Entry<String, Long> number : node.tally().numbers().entrySet()) {
            add(record, number.getKey(), number.getValue());
        }
        add(record, "receiver.blocks", XceiverBridge.blocksTaken());
        add(record, "receiver.stock.blocks", XceiverBridge.blocksLeft());
        add(record, "receiver.packets.uncopied", XceiverBridge.packetsUncopied());
        add(record, "reader.reads", XceiverBridge.readsTaken());
        add(record, "reader.stock.reads", XceiverBridge.readsLeft());
        add(record, "stream.memory.bytes", StreamBudget.shared().bound());
        add(record, "stream.memory.used_bytes", StreamBudget.shared().used());
        if (dataNode.getFSDataset() instanceof TieredDataset tiers) {
            MemoryLedger memory = tiers.ledger();
            add(record, "tier.memory.bytes", memory == null ? 0 : memory.limit());
            add(record, "tier.memory.used_bytes", memory == null ? 0 : used(memory));
            add(record, "tier.takeovers", tiers.takeovers());
            tiers.moved().forEach((name, value) -> add(record, name, value));
            if (tiers.sharedTier() != null) {
                add(record, "tier.shared.volumes", tiers.sharedTier().held());
                add(record, "tier.shared.syncs", tiers.sharedTier().syncs());
            }
        }
    }

    private static void add(MetricsRecordBuilder record, String name, long value) {
        record.addGauge(Interns.info(name, name), value);
    }

    private static long used(MemoryLedger memory) {
        try {
            return memory.used();
        } catch (IOException e) {
            return 0; // the folder is gone: the DataNode will find that out
        }
    }

    /** The DataNode ends. */
    @Override
    public void stop() {
        if (starting != null) {
            starting.close();
        }
        release();
    }

    private void release() {
        if (greeting != null) {
            greeting.close();
            greeting = null;
            DefaultMetricsSystem.instance().unregisterSource(METRICS);
        }
        if (server != null) {
            try {
                server.close();
            } catch (IOException e) {
                LOG.debug("streams that wait: {}", e.toString());
            }
            server = null;
        }
    }

    @Override
    public void close() {
        stop();
    }
}
