// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnException;

/** What carries the data of a process, in words for the line that it logs when it starts. */
public final class Carriers {
    static final Path DEVICES = Path.of("/sys/class/infiniband");

    private Carriers() {
    }

    /**
     * Names transports, the interface of TCP and, with RDMA, its device.
     *
     * @param transports those that an engine has opened
     * @param context the engine's
     * @return for example {@code self,shm,rc,tcp from 10.0.0.7 and mlx5_0}
     */
    public static String words(List<String> transports, VbnContext context) throws VbnException {
        return words(transports, context.setting("tl.tcp.interface"), context.setting("tl.verbs.device"), devices());
    }

    static String words(List<String> transports, String address, String wanted, List<String> devices) {
        boolean rdma = transports.contains("rc") || transports.contains("ud");
        String device = !wanted.isEmpty() ? wanted
            : devices.size() == 1 ? devices.get(0) : "the first active port of " + String.join(", ", devices);
        return String.join(",", transports) + " from " + address + (rdma ? " and " + device : "");
    }

    /** The RDMA devices of this host, by name; none without a driver. */
    static List<String> devices() {
        TreeSet<String> names = new TreeSet<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(DEVICES)) {
            found.forEach(device -> names.add(device.getFileName().toString()));
        } catch (IOException e) {
            return List.of(); // no such directory
        }
        return List.copyOf(names);
    }
}
