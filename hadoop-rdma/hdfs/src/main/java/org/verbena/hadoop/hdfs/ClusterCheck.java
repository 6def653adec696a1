// SPDX-License-Identifier: Apache-2.0
// What the doctor says of a running cluster: how each DataNode is reached, and how its own connections have gone.
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.URI;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.DFSUtil;
import org.apache.hadoop.hdfs.DFSUtilClient;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.security.AccessControlException;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.hdfs.settings.HdfsConf;
import org.verbena.hadoop.hdfs.settings.MoveConf;
import org.verbena.hadoop.hdfs.settings.TierConf;

/** Every wait has a limit: a NameNode that does not answer is one line. */
public final class ClusterCheck {
    private static final int CONNECT_MILLIS = 5000;
    private static final String PATIENCE = "100000";
    private static final int ANSWER_MAX = 1 << 20;
    private static final Pattern NUMBER = Pattern.compile("\"connections\\.(core|tcp\\.[a-z_]+)\"\\s*:\\s*([0-9]+)");

    private final Configuration conf;
    private final HostReport report;

    private ClusterCheck(Configuration conf, HostReport report) {
        this.conf = new Configuration(conf);
        this.report = report;
        this.conf.setInt("ipc.client.connect.timeout", CONNECT_MILLIS);
        this.conf.setInt("ipc.client.connect.max.retries", 1);
        this.conf.setInt("ipc.client.connect.max.retries.on.timeouts", 1);
        this.conf.setInt("ipc.client.rpc-timeout.ms", 4 * CONNECT_MILLIS);
        this.conf.set(PluginSetting.HDFS_CONNECT_WAIT_MS.key(), PATIENCE);
    }

    /**
     * Asks the NameNode of {@code fs.defaultFS}, or those of all name spaces behind viewfs, for DataNodes, and each of those.
     *
     * @return false when the default file system is none of HDFS
     */
    public static boolean run(Configuration conf, HostReport report) {
        return new ClusterCheck(conf, report).run();
    }

    /** Returns the addresses of all NameNodes that the configuration names, without one of {@code fs.defaultFS} alone. */
    public static Collection<InetSocketAddress> nameNodes(Configuration conf) {
        return DFSUtilClient.getHaNnRpcAddresses(conf).values().stream().flatMap(all -> all.values().stream())
            .filter(Objects::nonNull).toList();
    }

    private boolean run() {
        URI uri = FileSystem.getDefaultUri(conf);
        Collection<URI> all = "hdfs".equals(uri.getScheme()) ? List.of(uri)
            : "viewfs".equals(uri.getScheme()) ? DFSUtil.getInternalNsRpcUris(conf) : List.of();
        if (all.isEmpty()) {
            report.add(Level.OK, "cluster: fs.defaultFS is " + uri + ", no HDFS is looked at; HADOOP_CONF_DIR names the folder of "
                + "a cluster's site files");
        }
        all.forEach(this::look);
        return !all.isEmpty();
    }

    private void look(URI uri) {
        try (FileSystem files = FileSystem.newInstance(uri, conf)) {
            DatanodeInfo[] nodes = ((DistributedFileSystem) files).getDataNodeStats();
            report.add(nodes.length == 0 ? Level.BAD : Level.OK, "cluster: " + uri + " has " + nodes.length + " DataNodes"
                + (nodes.length == 0 ? ": look at their logs" : ""));
            HdfsConf settings = HdfsConf.of(conf);
            settings.coreConfig();
            CoreNode core = CoreNode.of(settings);
            for (DatanodeInfo node : nodes) {
                look(core.dataNodes(), node);
            }
            if (TierConf.of(conf).tiered()) {
                MemoryAlone.look(files, TierConf.of(conf).mode(), MoveConf.of(conf).persist(), report);
                TypeQuotas.look(files, report);
            }
        } catch (RemoteException e) {
            boolean denied = e.unwrapRemoteException() instanceof AccessControlException;
            report.add(denied ? Level.WARN : Level.BAD, "cluster: " + uri
                + (denied ? " tells its DataNodes to HDFS' superuser alone; "
                + "run the doctor as that user" : ": " + cause(e)));
        } catch (IOException | GeneralSecurityException | RuntimeException e) {
            report.add(Level.BAD, "cluster: " + uri + ": " + e + "; are its daemons running?");
        }
    }

    /** What an exception says, without the lines of a server's stack that Hadoop adds. */
    static String cause(IOException e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    }

    private void look(DataNodes nodes, DatanodeInfo node) throws IOException {
        String name = "DataNode " + node.getXferAddr();
        String said = numbers(node.getInfoAddr());
        boolean useHostname = conf.getBoolean("dfs.client.use.datanode.hostname", false);
        InetSocketAddress address = new InetSocketAddress(useHostname ? node.getHostName() : node.getIpAddr(), node.getXferPort());
        String transport = nodes.transport(address);
        if (transport != null) {
            report.add(Level.OK, name + " is reached by the core: " + transport + said);
        } else {
            report.add(Level.WARN, name + " is reached by TCP: " + nodes.obstacle(address) + "; the DataNode needs "
                + "hadoop-rdma, dfs.datanode.plugins and the same key; its log names the obstacle" + said);
        }
    }

    /** What a DataNode has counted of the connections that it made; empty when it does not tell. */
    private static String numbers(String infoAddress) {
        try {
            URLConnection connection = URI.create("http://" + infoAddress + "/jmx?qry=Hadoop:service=DataNode,name=Verbena").toURL()
                .openConnection(Proxy.NO_PROXY);
            connection.setConnectTimeout(CONNECT_MILLIS);
            connection.setReadTimeout(CONNECT_MILLIS);
            try (InputStream in = connection.getInputStream()) {
                return sentence(new String(in.readNBytes(ANSWER_MAX), StandardCharsets.UTF_8));
            }
        } catch (IOException | RuntimeException e) {
            return ""; // no such bean, or its page is closed to us: it is extra
        }
    }

    /** In words what the bean's text says; empty when it is not the plugin's. */
    static String sentence(String bean) {
        long core = 0;
        StringBuilder tcp = new StringBuilder();
        boolean found = false;
        for (Matcher number = NUMBER.matcher(bean); number.find(); found = true) {
            if (number.group(1).equals("core")) {
                core = Long.parseLong(number.group(2));
            } else if (!number.group(2).equals("0")) {
                tcp.append(", ").append(number.group(2)).append(" by TCP (").append(number.group(1).substring(4).replace('_', ' '))
                    .append(')');
            }
        }
        return found ? "; its own connections: " + core + " by the core" + tcp : "";
    }
}
