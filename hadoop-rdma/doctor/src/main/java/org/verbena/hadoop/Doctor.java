// SPDX-License-Identifier: Apache-2.0
// hadoop jar hadoop-rdma-0.1.0.jar org.verbena.hadoop.Doctor: can Verbena work here, and which lines switch it on?
package org.verbena.hadoop;

import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.VersionInfo;
import org.verbena.core.plugin.Finding;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.hadoop.hdfs.ClusterCheck;
import org.verbena.hadoop.hdfs.HdfsCheck;
import org.verbena.hadoop.lustre.LustreCheck;
import org.verbena.hadoop.lustre.LustreFileSystem;
import org.verbena.hadoop.lustre.LustreFs;
import org.verbena.hadoop.rpc.Protocols;
import org.verbena.hadoop.rpc.RpcCheck;
import org.verbena.hadoop.rpc.ServersCheck;
import org.verbena.hadoop.shuffle.ShuffleCheck;

/** Looks at this host with the site files of the class path, and at the cluster that they name. */
public final class Doctor {
    private static final List<String> LINES = List.of(
        "core-site.xml  hadoop.rpc.socket.factory.class.ClientProtocol = org.verbena.hadoop.hdfs.VerbenaSocketFactory",
        "core-site.xml  verbena.hdfs.key.file = a file of mode 600 or 640 with 64 hexadecimal digits, the same on all hosts",
        "hdfs-site.xml  dfs.datanode.plugins = org.verbena.hadoop.hdfs.VerbenaDataNodePlugin",
        "yarn-site.xml  yarn.nodemanager.aux-services.mapreduce_shuffle.class = org.verbena.hadoop.shuffle.VerbenaShuffleHandler",
        "mapred-site.xml  mapreduce.job.reduce.shuffle.consumer.plugin.class = org.verbena.hadoop.shuffle.VerbenaShuffle",
        "core-site.xml  rpc.engine.PROTOCOL = org.verbena.hadoop.rpc.VerbenaRpcEngine for each protocol; 'hadoop jar JAR "
            + Protocols.class.getName() + "' prints them",
        "core-site.xml  verbena.rpc.key.file = a file such as that of HDFS",
        "core-site.xml  fs.lustre.impl = " + LustreFileSystem.class.getName(),
        "core-site.xml  fs.AbstractFileSystem.lustre.impl = " + LustreFs.class.getName(),
        "core-site.xml  verbena.lustre.root = a folder that all hosts share");

    private Doctor() {
    }

    /** Prints the report; the exit status is 1 when something does not work. */
    public static void main(String[] arguments) {
        if (arguments.length > 0) {
            System.err.println("usage: hadoop jar " + jar() + " " + Doctor.class.getName()
                + "\nLooks at this host, and at the cluster "
                + "that the site files in HADOOP_CONF_DIR name.");
            System.exit(2);
        }
        Configuration conf = new Configuration();
        for (String site : List.of("hdfs-site.xml", "yarn-site.xml", "mapred-site.xml")) {
            conf.addResource(site);
        }
        System.exit(report(conf, System.out) ? 0 : 1);
    }

    /**
     * Writes the report.
     *
     * @return false when something does not work
     */
    static boolean report(Configuration conf, PrintStream out) {
        HostReport host = new HostReport();
        host.add(Level.OK, "Hadoop " + VersionInfo.getVersion() + ", Java " + Runtime.version() + " on "
            + System.getProperty("os.arch"));
        boolean loaded = host.library(jar());
        boolean hdfs = !LustreCheck.isDefault(conf);
        if (!hdfs) {
            host.add(Level.OK, "HDFS: not looked at, since fs.defaultFS is lustre:");
        }
        Map<String, String> core = hdfs ? HdfsCheck.host(conf, host) : Map.of();
        LustreCheck.run(conf, host);
        if (loaded && core != null) {
            host.transports(core);
        }
        boolean good = print("this host, file systems", host, out);
        HostReport shuffle = new HostReport();
        try {
            ShuffleCheck.run(conf, shuffle);
        } catch (LinkageError e) {
            shuffle.add(Level.WARN, "MapReduce is not checked, because its classes are not on this class path: " + e);
        }
        good &= print("MapReduce", shuffle, out);
        HostReport rpc = new HostReport();
        RpcCheck.run(conf, rpc);
        good &= print("RPC", rpc, out);
        if (good) {
            HostReport cluster = new HostReport();
            servers(RpcCheck.asking(conf), hdfs, cluster);
            good = print("the cluster", cluster, out);
        }
        out.println("settings that switch Verbena on:");
        LINES.forEach(line -> out.println("  " + line));
        out.println("jar on the class path of all daemons and clients (HADOOP_CLASSPATH), before the properties: " + jar());
        return good;
    }

    /** hdfs: HDFS is looked at as a whole, where it is the default; else its NameNodes are asked alone, where there are any. */
    private static void servers(Configuration asking, boolean hdfs, HostReport report) {
        try {
            if (!hdfs || !ClusterCheck.run(asking, report)) {
                ServersCheck.hdfs(asking, ClusterCheck.nameNodes(asking), report);
            }
        } catch (IllegalArgumentException e) {
            report.add(Level.WARN, "NameNodes: dfs.namenode.rpc-address: " + e.getMessage() + "; give HOST:PORT");
        }
        ServersCheck.yarn(asking, report);
        RpcCheck.servers(asking, report);
    }

    private static boolean print(String who, HostReport report, PrintStream out) {
        out.println(who + ":");
        report.findings().forEach(out::println);
        return report.findings().stream().map(Finding::level).noneMatch(Level.BAD::equals);
    }

    private static String jar() {
        return Doctor.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    }
}
