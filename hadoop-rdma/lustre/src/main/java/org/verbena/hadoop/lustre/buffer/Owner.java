// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * A process, as a word without spaces: the boot of its host, a sum of the host's name and addresses, its space of process ids, its
 * id, its start in ticks of the host. Who is in the same space on the same host knows at once that it has ended; for all others its
 * silence tells ({@link Silence}).
 */
final class Owner {
    private static final Path PROC = Path.of("/proc");
    private static final String UNKNOWN = "-";
    private static final int WORDS = 5;
    // Words of stat behind the program's name.
    private static final int STATE = 0;
    private static final int THREADS = 17;
    private static final int START = 19;

    private Owner() {
    }

    /** This process. */
    static String here() {
        try {
            return of(ProcessHandle.current().pid());
        } catch (IOException e) {
            return UNKNOWN; // a sandbox that hides its host
        }
    }

    /** A /proc of another space, as a container may have that was started without one of its own, tells of others. */
    private static String space() throws IOException {
        if (!Files.readSymbolicLink(PROC.resolve("self")).toString().equals(Long.toString(ProcessHandle.current().pid()))) {
            throw new IOException(PROC + " has the ids of another space");
        }
        return space(Files.readString(PROC.resolve("sys/kernel/hostname")).strip(), addresses());
    }

    /** Virtual machines that go on from one image of a memory have one boot, and differ in name and addresses. */
    static String space(String host, String addresses) throws IOException {
        UUID network = UUID.nameUUIDFromBytes((host + " " + addresses).getBytes(StandardCharsets.UTF_8));
        return Files.readString(PROC.resolve("sys/kernel/random/boot_id")).strip() + "/" + network + "/"
            + Files.readSymbolicLink(PROC.resolve("self/ns/pid")).toString();
    }

    /** IPv4 alone: many a JVM of Hadoop is told to know no others, and those of links come and go with containers. */
    static String addresses() throws IOException {
        return NetworkInterface.networkInterfaces().flatMap(NetworkInterface::inetAddresses)
            .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress() && !address.isLinkLocalAddress())
            .map(InetAddress::getHostAddress).sorted().collect(Collectors.joining(" "));
    }

    static String of(long pid) throws IOException {
        return space() + "/" + pid + "/" + startOf(Long.toString(pid));
    }

    /** Empty: only its remains are there. */
    private static String startOf(String pid) throws IOException {
        String stat = Files.readString(PROC.resolve(pid).resolve("stat"));
        String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return words[STATE].equals("Z") && Integer.parseInt(words[THREADS]) <= 1 ? "" : words[START];
    }

    /** Whether this process can tell if that one has ended. */
    static boolean isKnown(String owner) {
        try {
            return owner.split("/").length == WORDS && owner.startsWith(space() + "/") && seesAll();
        } catch (IOException e) {
            return false;
        }
    }

    /** Whether it surely has; false also where this process cannot know. */
    static boolean hasEnded(String owner) {
        if (!isKnown(owner)) {
            return false;
        }
        String[] words = owner.split("/");
        try {
            return !startOf(words[WORDS - 2]).equals(words[WORDS - 1]);
        } catch (IOException e) {
            return !Files.exists(PROC.resolve(words[WORDS - 2]));
        }
    }

    /** Where /proc hides the processes of others, it hides the first one, too. */
    private static boolean seesAll() {
        return Files.isReadable(PROC.resolve("1/stat"));
    }
}
