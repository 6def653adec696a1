// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/**
 * The name by which hosts are told apart on the shared file system: the kernel's own, which needs no name service and is what
 * HOSTNAME says. Names differ by more than capitals.
 */
public final class ThisHost {
    private static final Path KERNEL = Path.of("/proc/sys/kernel/hostname");

    private ThisHost() {
    }

    /** Returns the name; empty where a sandbox hides it. */
    public static String name() {
        try {
            return Files.readString(KERNEL).strip();
        } catch (IOException e) {
            return "";
        }
    }

    /**
     * Whether two names may be those of one host, of which the domain may be left out.
     *
     * @param one a name, or empty: not known
     * @param other a name, or empty: not known
     */
    public static boolean isSame(String one, String other) {
        boolean whole = one.contains(".") && other.contains(".");
        return one.isEmpty() || other.isEmpty() || (whole ? one : first(one)).equalsIgnoreCase(whole ? other : first(other));
    }

    private static String first(String name) {
        return name.split("\\.", 2)[0];
    }

    /** Whether a folder's name has that of a host in it, as a word of its own; true where the host's is not known. */
    static boolean isIn(String folder, String host) {
        Pattern word = Pattern.compile("(.*\\W)?" + Pattern.quote(first(host)) + "(\\W.*)?", Pattern.CASE_INSENSITIVE);
        return host.isEmpty() || word.matcher(folder).matches();
    }
}
