// SPDX-License-Identifier: Apache-2.0
// hbase org.verbena.hbase.Doctor [HOST:PORT ...]: can Verbena work here, and how is each server reached?
package org.verbena.hbase;

import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.util.VersionInfo;
import org.apache.hbase.thirdparty.io.netty.bootstrap.Bootstrap;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelFuture;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelInboundHandlerAdapter;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelOption;
import org.verbena.core.plugin.Finding;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.core.plugin.LocalAddress;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hbase.netty.VbnChannel;
import org.verbena.hbase.node.CoreNode;
import org.verbena.hbase.node.HBaseConf;

/** Looks at this host with the site files of the class path, and at the servers that it is told or that the cluster has. */
public final class Doctor {
    private static final int CONNECT_MILLIS = 10_000;
    private static final int FILES = 4096;
    /** Settings, and our classes for them. */
    private static final List<List<String>> SWITCHES = List.of(
        List.of("hbase.rpc.client.impl", "org.apache.hadoop.hbase.ipc.VbnRpcClient", "calls of clients with these files go by TCP"),
        List.of("hbase.rpc.server.impl", "org.apache.hadoop.hbase.ipc.VbnRpcServer",
            "a server with these files answers by TCP alone"),
        List.of("hbase.region.server.rpc.scheduler.factory.class", "org.verbena.hbase.InlineRpcSchedulerFactory",
            "a region server with these files hands all reads to handlers"));

    private final Configuration conf;
    private final HostReport report = new HostReport();

    private Doctor(Configuration conf) {
        this.conf = conf;
    }

    /**
     * Prints the report; the exit status is 1 when something does not work.
     *
     * @param servers HOST:PORT each; none: all of the cluster
     */
    public static void main(String[] servers) {
        System.exit(report(HBaseConfiguration.create(), List.of(servers), System.out) ? 0 : 1);
    }

    /**
     * Writes the report.
     *
     * @return false when something does not work
     */
    static boolean report(Configuration conf, List<String> servers, PrintStream out) {
        Doctor doctor = new Doctor(conf);
        HBaseConf settings = doctor.host();
        if (settings != null && doctor.good()) {
            doctor.servers(settings, servers);
        }
        doctor.report.findings().forEach(out::println);
        return doctor.good();
    }

    private boolean good() {
        return report.findings().stream().map(Finding::level).noneMatch(Level.BAD::equals);
    }

    /** Returns the settings; null when they are wrong, or nothing can work. */
    private HBaseConf host() {
        report.add(Level.OK, "HBase " + VersionInfo.getVersion() + ", Java " + Runtime.version() + " on "
            + System.getProperty("os.arch"));
        boolean loaded = report.library(Doctor.class.getProtectionDomain().getCodeSource().getLocation().getPath());
        HBaseConf settings;
        try {
            settings = HBaseConf.of(conf);
        } catch (IllegalArgumentException e) {
            report.add(Level.BAD, "settings: " + e.getMessage());
            return null;
        }
        report.add(Level.OK, "settings: none of verbena.hbase.* is wrong");
        if (!settings.enabled()) {
            report.add(Level.WARN, PluginSetting.HBASE_ENABLED + " is false: calls go by TCP");
        }
        SWITCHES.forEach(line -> named(line.get(0), line.get(1), line.get(2)));
        report.key(settings.key(), "call, as by HBase's own port");
        report.openFiles(FILES, "each process that calls takes some");
        if (loaded) {
            report.transports(settings.core());
        }
        return loaded ? settings : null;
    }

    private void named(String name, String ours, String otherwise) {
        String value = conf.getTrimmed(name, "not set");
        if (value.equals(ours)) {
            report.add(Level.OK, name + " names " + ours.substring(ours.lastIndexOf('.') + 1));
        } else {
            report.add(Level.WARN, name + " is " + value + ": " + otherwise + "; set it in hbase-site.xml to " + ours);
        }
    }

    private void servers(HBaseConf settings, List<String> told) {
        try {
            CoreNode node = CoreNode.of(settings);
            for (String server : told.isEmpty() ? ofCluster() : told) {
                reach(node, server);
            }
        } catch (IOException e) {
            report.add(Level.BAD, "the cluster does not answer: " + e.getMessage()
                + ": start it, correct hbase.zookeeper.quorum, or "
                + "name a server as HOST:PORT");
        }
    }

    private List<String> ofCluster() throws IOException {
        try (Connection connection = ConnectionFactory.createConnection(conf); Admin admin = connection.getAdmin()) {
            ClusterMetrics metrics = admin.getClusterMetrics();
            List<ServerName> all = new ArrayList<>(metrics.getLiveServerMetrics().keySet());
            all.add(0, metrics.getMasterName());
            return all.stream().map(server -> server.getHostname() + ":" + server.getPort()).toList();
        }
    }

    private void reach(CoreNode node, String server) {
        int colon = server.lastIndexOf(':');
        if (colon < 1 || !server.substring(colon + 1).matches("[0-9]{1,5}")) {
            report.add(Level.BAD, server + " is no HOST:PORT");
            return;
        }
        InetSocketAddress address = new InetSocketAddress(server.substring(0, colon),
            Integer.parseInt(server.substring(colon + 1)));
        try {
            ChannelFuture made = new Bootstrap().group(node.start(LocalAddress.towards(address))).channel(VbnChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
                .connect(address);
            if (made.awaitUninterruptibly(2L * CONNECT_MILLIS, TimeUnit.MILLISECONDS) && made.isSuccess()) {
                report.add(Level.OK, "server " + server + " is reached by the core: "
                    + ((VbnChannel) made.channel()).peer().explain());
            } else {
                report.add(Level.WARN, "server " + server + " is reached by TCP: "
                    + (made.cause() == null ? "no answer" : node.conf().key().words(made.cause())));
            }
            made.channel().close().awaitUninterruptibly(CONNECT_MILLIS);
        } catch (IOException | RuntimeException e) {
            report.add(Level.BAD, "server " + server + ": " + e.getMessage());
        }
    }
}
