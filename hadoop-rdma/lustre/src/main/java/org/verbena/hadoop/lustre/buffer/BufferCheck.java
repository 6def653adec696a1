// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.memcached.MemcachedClient;
import org.verbena.memcached.MemcachedException;

/**
 * The doctor's lines about the burst buffer: gives each server as many chunks as a writer has on their way, and counts files that
 * wait.
 */
public final class BufferCheck {
    private static final String NAME = "burst buffer: ";

    private BufferCheck() {
    }

    /**
     * Looks at servers, at the local folder and at the root.
     *
     * @param root null: it is away, and the caller has said so
     */
    public static void run(BufferConf conf, Path root, HostReport report) {
        if (conf.isOn()) {
            String[] parts = conf.servers().split(";", 2);
            for (String server : parts[0].split(",")) {
                tryServer(server, parts.length > 1 ? server + ";" + parts[1] : server, conf.chunk(), report);
            }
            if (conf.fault() != Fault.ASYNC) {
                local(conf.local(), report);
            }
        }
        if (root != null) {
            waiting(conf, root, report);
        }
    }

    private static void tryServer(String server, String text, int chunk, HostReport report) {
        String key = "vb/doctor/" + UUID.randomUUID() + "/";
        int stored = 0;
        try (MemcachedClient client = MemcachedClient.open(text)) {
            try {
                for (; stored < BufferSink.WINDOW; stored++) {
                    client.setPinned(key + stored, new byte[chunk]);
                }
            } finally {
                for (int i = 0; i < stored; i++) {
                    client.delete(key + i);
                }
            }
            report.add(Level.OK, NAME + client.explain().get(0));
        } catch (IOException e) {
            String room = stored == 0 ? "" : ": it has room for " + stored + " of the " + BufferSink.WINDOW
                + " chunks that a writer has on their way";
            report.add(Level.BAD, NAME + e.getMessage() + (e.getMessage().startsWith(server) ? "" : " (" + server + ")") + room
                + cure(e) + "; chunks of this server go to the shared directory until it is right");
        }
    }

    /** The other causes have their cure in their text. */
    private static String cure(IOException cause) {
        boolean silent = cause instanceof MemcachedException known
            && (known.kind() == MemcachedException.Kind.SERVER_DEAD || known.kind() == MemcachedException.Kind.TIMEOUT);
        return silent ? "; start verbena-memcached there, or correct verbena.lustre.buffer.servers on all hosts" : "";
    }

    private static void local(Path folder, HostReport report) {
        Path known = folder;
        while (!Files.exists(known)) {
            known = known.getParent();
        }
        boolean right = Files.isDirectory(known) && Files.isWritable(known);
        report.add(right ? Level.OK : Level.BAD, NAME + "copies of this host lie in " + folder + (right ? ""
            : ", where this user cannot write: make it with mode 1777, or set verbena.lustre.buffer.local to another folder"));
    }

    private static void waiting(BufferConf conf, Path root, HostReport report) {
        Path folder = root.resolve(Records.FOLDER);
        if (!Files.isDirectory(folder)) {
            return;
        }
        try {
            List<Path> all = Listing.of(folder);
            long count = all.stream().filter(file -> file.toString().endsWith(".data")).count();
            long minutes = TimeUnit.MILLISECONDS.toMinutes(longest(all));
            String text = NAME + count + " files wait for a flusher (LustreFlusher)";
            if (count > 0 && !conf.isOn()) {
                report.add(Level.BAD, text + ", and this host knows no servers: set verbena.lustre.buffer.servers as the writers "
                    + "have it");
            } else if (TimeUnit.MINUTES.toMillis(minutes) > conf.leaseMs()) {
                report.add(Level.WARN, text + ", one of them for " + minutes + " min: look for a flusher on each host that writes; "
                    + "'LustreFlusher --once' flushes now, and names the files that stay");
            } else {
                report.add(Level.OK, text);
            }
        } catch (IOException e) {
            report.add(Level.WARN, NAME + folder + " cannot be listed (" + e + "): run the doctor as the user of the flusher");
        }
    }

    /** Milliseconds since the last change of a file that its writer has closed; clocks of hosts may differ. */
    private static long longest(List<Path> files) throws IOException {
        long oldest = System.currentTimeMillis();
        for (Path file : files.stream().filter(one -> one.toString().endsWith(".closed")).toList()) {
            try {
                oldest = Math.min(oldest, Files.getLastModifiedTime(file).toMillis());
            } catch (NoSuchFileException e) {
                continue; // it was flushed
            }
        }
        return System.currentTimeMillis() - oldest;
    }
}
