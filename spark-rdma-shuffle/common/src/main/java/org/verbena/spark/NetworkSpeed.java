// SPDX-License-Identifier: Apache-2.0
// How fast the network to other hosts is, as far as this host's kernel tells.
package org.verbena.spark;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The fastest of what may carry blocks: the network interface of the address that Spark uses, else that of the default route, and
 * active ports of RDMA devices, whose hosts often have a slow route beside them. Of the driver's host, for all.
 *
 * @param mbit 0 where nothing is known
 * @param of what has that speed
 */
record NetworkSpeed(long mbit, String of) {
    private static final Logger LOG = LoggerFactory.getLogger(NetworkSpeed.class);
    private static final Pattern RATE = Pattern.compile("([0-9]+)(\\.[0-9]+)? Gb/sec.*");
    private static final NetworkSpeed UNKNOWN = new NetworkSpeed(0, "a network of unknown speed");

    /**
     * Asks the kernel.
     *
     * @param root where proc and sys are: "/"
     * @param host as Spark names this one
     * @param devices RDMA devices that may be used, as tl.verbs.device names them; null: none
     */
    static NetworkSpeed here(Path root, String host, String devices) {
        NetworkSpeed best = UNKNOWN;
        String name = interfaceOf(host);
        try {
            best = interfaceSpeed(root, name == null ? defaultRoute(root) : name);
        } catch (IOException | NumberFormatException e) {
            LOG.debug("the network's speed is not known", e);
        }
        for (NetworkSpeed port : devices == null ? List.<NetworkSpeed>of() : ports(root, devices)) {
            best = port.mbit > best.mbit ? port : best;
        }
        return best;
    }

    /** Null when the name has no address of this host. */
    private static String interfaceOf(String host) {
        try {
            NetworkInterface found = host.isEmpty() ? null : NetworkInterface.getByInetAddress(InetAddress.getByName(host));
            return found == null || found.isLoopback() ? null : found.getName();
        } catch (IOException e) {
            return null;
        }
    }

    private static String defaultRoute(Path root) throws IOException {
        for (String line : Files.readAllLines(root.resolve("proc/net/route"), StandardCharsets.US_ASCII)) {
            String[] fields = line.split("\t");
            if (fields.length > 1 && fields[1].equals("00000000")) {
                return fields[0];
            }
        }
        throw new IOException("there is no default route");
    }

    private static NetworkSpeed interfaceSpeed(Path root, String name) throws IOException {
        long mbit = Long.parseLong(Files.readString(root.resolve("sys/class/net").resolve(name).resolve("speed")).trim());
        return mbit > 0 ? new NetworkSpeed(mbit, "network interface " + name) : UNKNOWN;
    }

    private static List<NetworkSpeed> ports(Path root, String devices) {
        List<NetworkSpeed> all = new ArrayList<>();
        for (Path device : children(root.resolve("sys/class/infiniband"))) {
            for (Path port : children(device.resolve("ports"))) {
                String name = device.getFileName() + ":" + port.getFileName();
                long mbit = mayUse(devices, device.getFileName().toString(), name) ? portMbit(port) : 0;
                if (mbit > 0) {
                    all.add(new NetworkSpeed(mbit, "RDMA device " + name));
                }
            }
        }
        return all;
    }

    private static boolean mayUse(String devices, String device, String port) {
        return devices.isEmpty() || devices.equals("all") || List.of(devices.split(",")).stream().map(String::strip)
            .anyMatch(named -> named.equals(device) || (named + ":").startsWith(port + ":"));
    }

    /** 0 when the port is down, or says nothing. */
    private static long portMbit(Path port) {
        try {
            Matcher rate = RATE.matcher(Files.readString(port.resolve("rate")).trim());
            return Files.readString(port.resolve("state")).contains("ACTIVE") && rate.matches()
                ? Long.parseLong(rate.group(1)) * 1000 : 0;
        } catch (IOException e) {
            return 0;
        }
    }

    private static List<Path> children(Path folder) {
        List<Path> all = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
            entries.forEach(all::add);
        } catch (IOException e) {
            LOG.debug("{} has nothing: {}", folder, e.toString());
        }
        return all;
    }
}
