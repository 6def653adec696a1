// SPDX-License-Identifier: Apache-2.0
// What this host offers to a process with the core and what is in the way, found with the code that such processes run.
package org.verbena.core.plugin;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.verbena.core.NativeLibrary;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnLog;
import org.verbena.core.plugin.Finding.Level;

/** Collects findings; none of its methods throws for what it finds. Not thread safe. */
public final class HostReport {
    private static final Path LIMITS = Path.of("/proc/self/limits");

    private final List<Finding> findings = new ArrayList<>();

    /** Makes an empty one. */
    public HostReport() {
    }

    /** Returns what was found so far; the list grows with this report. */
    public List<Finding> findings() {
        return findings;
    }

    /**
     * Adds a line of the caller's.
     *
     * @param level how it is meant
     * @param text what was found, and what to do
     */
    public void add(Level level, String text) {
        findings.add(new Finding(level, text));
    }

    /**
     * Loads the native library.
     *
     * @param jar where it comes from, for the text
     * @return whether it is loaded
     */
    public boolean library(String jar) {
        try {
            NativeLibrary.load();
            add(Level.OK, "native library: loaded from " + jar);
            return true;
        } catch (VbnException | LinkageError e) {
            add(Level.BAD, "native library: " + e.getMessage());
            return false;
        }
    }

    /**
     * Starts the core and ends it: its transports and devices, and what it complains about.
     *
     * @param settings settings of the core and their values
     */
    public void transports(Map<String, String> settings) {
        List<String> complaints = new ArrayList<>();
        VbnConfig config = new VbnConfig().jobKey(new byte[VbnConfig.JOB_KEY_BYTES]).log(line -> {
            if (line.level() == VbnLog.WARN || line.level() == VbnLog.ERROR) {
                complaints.add(line.text());
            }
        });
        settings.forEach(config::set);
        try (VbnContext context = VbnContext.open(config); VbnEngine engine = context.startEngine("verbena-doctor")) {
            List<String> found = engine.transports();
            add(Level.OK, "transports: " + String.join(",", found.stream().filter(name -> !name.equals("self")).toList())
                + "; wanted " + context.setting("tl.enable"));
            devices(found.contains("rc") || found.contains("ud"));
        } catch (VbnException e) {
            add(Level.BAD, "native core: " + e.getMessage());
        }
        complaints.forEach(text -> add(Level.WARN, text));
    }

    private void devices(boolean used) {
        List<String> names = Carriers.devices();
        if (names.isEmpty()) {
            add(Level.OK, "RDMA: no device on this host (" + Carriers.DEVICES + " lists none)");
        } else if (used) {
            add(Level.OK, "RDMA: " + String.join(", ", names));
            locked();
        } else {
            add(Level.WARN, "RDMA: " + String.join(", ", names) + " not used; vbn-info says why");
        }
    }

    private void locked() {
        String limit = limit("Max locked memory");
        if (!limit.equals("unlimited")) {
            add(Level.WARN, "locked memory: ulimit -l is " + limit + " bytes; for RDMA set it to unlimited (systemd: "
                + "LimitMEMLOCK=infinity; docker run --ulimit memlock=-1)");
        }
    }

    /**
     * Looks at the cluster's key.
     *
     * @param key where it is said to be
     * @param open what everybody can do who reaches the hosts, when none is needed
     */
    public void key(ClusterKey key, String open) {
        try {
            key.config("verbena doctor");
            if (key.openToAll()) {
                add(Level.WARN, "cluster key: none is needed (" + key.prefix() + "auth=none): every process that reaches "
                    + "the hosts can " + open);
            } else {
                add(Level.OK, "cluster key: in " + key.file());
            }
        } catch (IOException | GeneralSecurityException e) {
            add(Level.BAD, "cluster key: " + e.getMessage());
        }
    }

    /**
     * Looks at how many files this process may open.
     *
     * @param enough with so many nothing is said against it
     * @param why what they are needed for
     */
    public void openFiles(long enough, String why) {
        String limit = limit("Max open files");
        if (limit.matches("[0-9]{1,18}") && Long.parseLong(limit) < enough) {
            add(Level.WARN, "open files: ulimit -n is " + limit + "; set it to " + enough + " or more (systemd: LimitNOFILE="
                + enough + "; docker run --ulimit nofile=" + enough + "): " + why);
        } else {
            add(Level.OK, "open files: ulimit -n is " + limit);
        }
    }

    private static String limit(String name) {
        try {
            for (String line : Files.readAllLines(LIMITS, StandardCharsets.US_ASCII)) {
                if (line.startsWith(name)) {
                    return line.substring(name.length()).strip().split("\\s+")[0];
                }
            }
        } catch (IOException e) {
            return "not known (" + e + ")";
        }
        return "not known (" + LIMITS + " does not say)";
    }
}
