// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A process, as a word without spaces: the boot of its host, its space of process ids, its id, its start in ticks of the host. Who
 * is in the same space on the same host knows at once that it has ended; for all others its silence tells ({@link Silence}).
 */
final class Owner {
    private static final Path PROC = Path.of("/proc");
    private static final String UNKNOWN = "-";
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
        return Files.readString(PROC.resolve("sys/kernel/random/boot_id")).strip() + "/"
            + Files.readSymbolicLink(PROC.resolve("self/ns/pid")).toString();
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

    /** Whether it surely has; false also where this process cannot know. */
    static boolean hasEnded(String owner) {
        String[] words = owner.split("/");
        try {
            if (words.length != 4 || !owner.startsWith(space() + "/") || !seesAll()) {
                return false;
            }
        } catch (IOException e) {
            return false;
        }
        try {
            return !startOf(words[2]).equals(words[3]);
        } catch (IOException e) {
            return !Files.exists(PROC.resolve(words[2]));
        }
    }

    /** Where /proc hides the processes of others, it hides the first one, too. */
    private static boolean seesAll() {
        return Files.isReadable(PROC.resolve("1/stat"));
    }
}
