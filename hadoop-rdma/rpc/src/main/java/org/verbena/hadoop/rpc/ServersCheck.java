// SPDX-License-Identifier: Apache-2.0
// What the doctor says of servers that are no NameNode of the default file system: whether they answer.
package org.verbena.hadoop.rpc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.ProtobufRpcEngine2;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.ipc.ServerQuestion;
import org.apache.hadoop.net.NetUtils;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;

/** Every wait has a limit. A server that does not answer is one line, with what its clients would meet. */
public final class ServersCheck {
    private static final int LIMIT_MILLIS = 10_000;
    private static final String YARN = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";
    private static final String HDFS = "org.apache.hadoop.hdfs.protocolPB.ClientNamenodeProtocolPB";
    private static final String RESOURCE_MANAGER = "yarn.resourcemanager.";
    private static final String ADDRESS = RESOURCE_MANAGER + "address";
    private static final int PORT = 8032;
    /** What fails on this host, whatever the server does. */
    private static final Pattern CREDENTIALS = Pattern.compile("(sun\\.security\\.krb5\\.|org\\.ietf\\.jgss\\.GSSException"
        + "|javax\\.security\\.(sasl|auth\\.login)\\.|org\\.apache\\.hadoop\\.security\\.(AccessControl|KerberosAuth)Exception)");
    private static final String NOWHERE = "0.0.0.0";

    private final Configuration conf;
    private final HostReport report;

    private ServersCheck(Configuration conf, HostReport report) {
        this.conf = new Configuration(conf);
        this.report = report;
        for (String wait : List.of("ipc.client.connect.timeout", "ipc.client.rpc-timeout.ms")) {
            int given = conf.getInt(wait, 0);
            this.conf.setInt(wait, given > 0 ? Math.min(given, LIMIT_MILLIS) : LIMIT_MILLIS); // 0 is for ever
        }
        this.conf.setInt("ipc.client.connect.max.retries", 0);
        this.conf.setInt("ipc.client.connect.max.retries.on.timeouts", 0);
    }

    /**
     * Asks the ResourceManagers that the configuration names; with high availability each of them.
     *
     * @param asking of {@link RpcCheck#asking}, with yarn-site.xml
     */
    public static void yarn(Configuration asking, HostReport report) {
        Map<String, String> servers = new LinkedHashMap<>();
        if (asking.getBoolean(RESOURCE_MANAGER + "ha.enabled", false)) {
            for (String id : asking.getTrimmedStringCollection(RESOURCE_MANAGER + "ha.rm-ids")) {
                String address = address(asking, "." + id);
                if (address == null) {
                    report.add(Level.WARN, "ResourceManager " + id + ": its address is not set; set " + ADDRESS + "." + id);
                } else {
                    servers.put("ResourceManager " + id, address);
                }
            }
        } else if (address(asking, "") != null) {
            servers.put("ResourceManager", address(asking, ""));
        } else {
            report.add(Level.OK, "YARN: no " + ADDRESS + " is set, no ResourceManager is asked");
        }
        new ServersCheck(asking, report).ask(servers, YARN, ADDRESS, true);
    }

    /** Null: it is not set, or has Hadoop's default, which is no host. */
    private static String address(Configuration conf, String id) {
        String host = conf.getTrimmed(RESOURCE_MANAGER + "hostname" + id, NOWHERE);
        String address = conf.getTrimmed(ADDRESS + id, host + ":" + PORT);
        return address.startsWith(NOWHERE) ? null : address;
    }

    /**
     * Asks NameNodes beside a default file system that is none of theirs.
     *
     * @param addresses of all
     */
    public static void hdfs(Configuration asking, Collection<InetSocketAddress> addresses, HostReport report) {
        Map<String, String> servers = new LinkedHashMap<>();
        for (InetSocketAddress address : addresses) {
            servers.put("NameNode " + (servers.size() + 1), address.getHostString() + ":" + address.getPort());
        }
        new ServersCheck(asking, report).ask(servers, HDFS, "dfs.namenode.rpc-address", false);
    }

    /** servers: addresses by name. oneServes: the others stand by, and do not listen. */
    private void ask(Map<String, String> servers, String protocol, String setting, boolean oneServes) {
        Map<String, String> silent = new LinkedHashMap<>();
        servers.forEach((name, address) -> {
            String server = name + " at " + address;
            try {
                String cause = cause(address, protocol);
                if (cause == null) {
                    report.add(Level.OK, server + " answers");
                } else {
                    silent.put(server, cause);
                }
            } catch (LinkageError e) { // 'hadoop jar' has a class loader of its own for the jar; Hadoop 3.3 lacks a method
                report.add(Level.WARN, server + " is not asked: put the jar into HADOOP_CLASSPATH, and use Hadoop 3.4 or later: "
                    + line(e));
            }
        });
        boolean served = oneServes && silent.size() < servers.size();
        silent.forEach((name, cause) -> report.add(served ? Level.OK : Level.WARN, name + " does not answer: " + cause
            + "; " + (served ? "one that stands by does not listen" : cure(cause, setting))));
    }

    /** cause: an exception's text, which begins with its class. */
    static String cure(String cause, String setting) {
        return CREDENTIALS.matcher(cause).lookingAt() ? "look at this user's ticket (klist, kinit) and at krb5.conf"
            : "look at its log, and whether " + setting + " names it on this host";
    }

    /** Why a server does not answer; null: it does. */
    private String cause(String address, String protocol) {
        try {
            InetSocketAddress at = NetUtils.createSocketAddr(address, PORT);
            if (at.isUnresolved()) {
                return "this host does not know the name " + at.getHostString();
            }
            boolean core = conf.getTrimmed("rpc.engine." + protocol, "").equals(VerbenaRpcEngine.class.getName());
            ServerQuestion.ask(conf, at, protocol, core ? new VerbenaRpcEngine() : new ProtobufRpcEngine2());
            return null;
        } catch (RemoteException e) {
            return null; // it did, and has its reasons
        } catch (IOException | IllegalArgumentException e) {
            Throwable first = e;
            while (first.getCause() != null) {
                first = first.getCause(); // Hadoop wraps it in advice of several lines
            }
            return line(first);
        }
    }

    private static String line(Throwable cause) {
        return cause.toString().lines().findFirst().orElse("");
    }
}
