// SPDX-License-Identifier: Apache-2.0
// Starts the native core with the user's settings, Spark's encryption, and a port that is free.
package org.verbena.spark;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;
import org.verbena.spark.settings.VerbenaConf;

/**
 * A started core.
 *
 * @param context to be closed last
 * @param engine null where blocks of others are Spark's business
 */
record CoreStart(VbnContext context, VbnEngine engine) {
    private static final String TRANSPORTS = "tl.enable";
    private static final String ALL_TRANSPORTS = "self,shm,rc,ud,tcp";
    private static final String INTERFACE = "tl.tcp.interface";
    private static final String PORT = "tl.tcp.port";
    private static final int HIGHEST_PORT = 65535;
    /** What may carry data where Spark encrypts: memory of the host, and TCP with TLS. */
    private static final List<String> PRIVATE = List.of("self", "shm", "tcp");

    /**
     * The core's settings; where data must not travel in clear text, TCP with TLS and no RDMA.
     *
     * @param encrypted whether Spark encrypts and the user has not allowed clear text
     */
    static Map<String, String> settings(VerbenaConf settings, boolean encrypted) {
        Map<String, String> core = new LinkedHashMap<>(settings.core());
        if (encrypted) {
            List<String> left = new ArrayList<>(List.of(core.getOrDefault(TRANSPORTS, ALL_TRANSPORTS).split(",")));
            left.replaceAll(String::strip);
            left.retainAll(PRIVATE);
            core.put(TRANSPORTS, String.join(",", left));
            core.put("tl.tcp.tls", "true");
        }
        return core;
    }

    /**
     * Where to listen: the address that Spark tells others, not that of the default route.
     *
     * @param host as Spark names it, also an IPv6 address in brackets
     * @param core the user may choose another one
     * @throws IOException when it is none of this host, as behind NAT: nobody would get here
     */
    static String address(String host, Map<String, String> core) throws IOException {
        InetAddress address = InetAddress.getByName(host);
        boolean here = address.isLoopbackAddress() || NetworkInterface.getByInetAddress(address) != null;
        if (!here && !core.containsKey(INTERFACE)) {
            throw new IOException("Spark tells others " + host + " (" + address.getHostAddress() + "), which is no address of this "
                + "host, as behind NAT");
        }
        return core.getOrDefault(INTERFACE, address.getHostAddress());
    }

    /** Whether these settings leave a way to other executors. */
    static boolean reachesOthers(Map<String, String> core) {
        List<String> transports = List.of(core.getOrDefault(TRANSPORTS, ALL_TRANSPORTS).split(","));
        return transports.stream().anyMatch(name -> !name.equals("self") && !name.isEmpty());
    }

    /** Whether these settings allow RDMA between hosts. */
    static boolean usesRdma(Map<String, String> core) {
        return List.of(core.getOrDefault(TRANSPORTS, ALL_TRANSPORTS).split(",")).stream().map(String::strip)
            .anyMatch(name -> name.equals("rc") || name.equals("ud"));
    }

    /**
     * Opens the core and starts its engine. Executors of one host cannot all listen on the port that is set: as Spark
     * does with its own, the following ones are tried.
     *
     * @param config gives the configuration, anew for each try
     * @param transfers whether an engine is wanted
     * @param listens false where nobody connects to: then any port does
     */
    static CoreStart open(Supplier<VbnConfig> config, Map<String, String> core, boolean transfers, boolean listens,
            SparkConf conf) throws VbnException {
        int port = Integer.parseInt(core.getOrDefault(PORT, "0"));
        int tries = port == 0 || !listens || !transfers ? 0 : new VerbenaConf(conf).portRetries();
        for (int attempt = 0; ; attempt++) {
            VbnConfig one = config.get();
            core.forEach(one::set);
            if (port > 0) {
                one.set(PORT, Integer.toString(listens && transfers ? port + attempt : 0));
            }
            boolean last = attempt == tries || port + attempt == HIGHEST_PORT;
            CoreStart start = null;
            try {
                start = open(one, transfers);
            } catch (VbnException e) {
                if (last || e.kind() != VbnStatus.IN_USE) { // TCP is the only transport, and the port taken
                    throw e;
                }
            }
            if (start != null && (last || !lacksTcp(start))) {
                return start;
            } else if (start != null) {
                start.engine.close();
                start.context.close();
            }
        }
    }

    private static CoreStart open(VbnConfig config, boolean transfers) throws VbnException {
        VbnContext context = VbnContext.open(config);
        try {
            return new CoreStart(context, transfers ? context.startEngine("verbena-engine") : null);
        } catch (VbnException | RuntimeException e) {
            context.close();
            throw e;
        }
    }

    /** Whether the port was taken: the core goes on without TCP then. */
    private static boolean lacksTcp(CoreStart start) throws VbnException {
        return List.of(start.context.setting(TRANSPORTS).split(",")).contains("tcp")
            && !start.engine.transports().contains("tcp");
    }
}
