// SPDX-License-Identifier: Apache-2.0
// What this host offers to an executor and what is in the way, found with the code that executors run.
package org.verbena.spark;

import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.spark.SparkConf;
import org.verbena.core.NativeLibrary;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnLog;

/** Used by {@link Doctor}, on the driver's host and on executors'. */
final class HostCheck {
    private static final Path DEVICES = Path.of("/sys/class/infiniband");

    /** How a finding is meant. */
    enum Level {
        OK, WARN, BAD
    }

    /** One line of the report. */
    record Finding(Level level, String text) implements Serializable {
        @Override
        public String toString() {
            return (level == Level.OK ? "  ok    " : level == Level.WARN ? "  warn  " : "  BAD   ") + text;
        }
    }

    private final SparkConf conf;
    private final List<Finding> findings = new ArrayList<>();

    private HostCheck(SparkConf conf) {
        this.conf = conf;
    }

    /** Looks at everything; never throws for what it finds. */
    static List<Finding> run(SparkConf conf) {
        HostCheck check = new HostCheck(conf);
        check.software();
        VerbenaConf settings = check.settings();
        if (settings != null && check.library()) {
            check.memory(settings);
            check.transports(settings);
        }
        return check.findings;
    }

    private void add(Level level, String text) {
        findings.add(new Finding(level, text));
    }

    private void software() {
        String what = "Spark " + SparkShim.sparkVersion() + ", Scala " + scala.util.Properties.versionNumberString()
            + ", Java " + Runtime.version() + " on " + System.getProperty("os.arch");
        if (SparkShim.load() == null) {
            add(Level.BAD, what + ": this Spark is not known, its own shuffle will be used (" + SparkShim.KNOWN + ")");
        } else {
            add(Level.OK, what);
        }
    }

    /** Null when they are wrong. */
    private VerbenaConf settings() {
        try {
            VerbenaConf settings = new VerbenaConf(conf);
            settings.checkCore();
            add(Level.OK, "settings: none of spark.verbena.* is wrong");
            return settings;
        } catch (IllegalArgumentException e) {
            add(Level.BAD, e.getMessage());
            return null;
        }
    }

    private boolean library() {
        try {
            NativeLibrary.load();
            add(Level.OK, "native library: loaded from " + jar());
            return true;
        } catch (VbnException | LinkageError e) {
            add(Level.BAD, "native library: " + e.getMessage());
            return false;
        }
    }

    /** Where these classes come from. */
    static String jar() {
        return HostCheck.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    }

    private void memory(VerbenaConf settings) {
        try {
            SlabBudget budget = SlabBudget.here(settings.memory(), ContainerMemory.here(conf), ShuffleEngine.executorsPerHost(conf),
                ShuffleEngine.ROOT);
            if (budget.warning() != null) {
                add(budget.bytes() == 0 ? Level.BAD : Level.WARN, budget.warning());
            } else {
                add(Level.OK, "map outputs: at most " + (budget.bytes() >> 20) + " MiB per executor in "
                    + ShuffleEngine.ROOT + " (" + budget.why() + "); containers have to count them");
            }
        } catch (IOException e) {
            add(Level.BAD, "map outputs: " + e);
        }
    }

    private void transports(VerbenaConf settings) {
        List<String> complaints = new ArrayList<>();
        VbnConfig config = new VbnConfig().jobKey(new byte[VbnConfig.JOB_KEY_BYTES]).log(line -> {
            if (line.level() == VbnLog.WARN || line.level() == VbnLog.ERROR) {
                complaints.add(line.text());
            }
        });
        settings.core().forEach(config::set);
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
        TreeSet<String> names = new TreeSet<>();
        try (DirectoryStream<Path> devices = Files.newDirectoryStream(DEVICES)) {
            devices.forEach(device -> names.add(device.getFileName().toString()));
        } catch (IOException e) {
            names.clear(); // no such directory: no driver
        }
        if (names.isEmpty()) {
            add(Level.OK, "RDMA: no device on this host (" + DEVICES + " lists none)");
        } else if (used) {
            add(Level.OK, "RDMA: " + String.join(", ", names));
            locked();
        } else {
            add(Level.WARN, "RDMA: " + String.join(", ", names) + " not used; vbn-info says why");
        }
    }

    private void locked() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/limits"), StandardCharsets.US_ASCII)) {
                if (line.startsWith("Max locked memory") && !line.split("\\s{2,}")[1].equals("unlimited")) {
                    add(Level.WARN, "locked memory: ulimit -l is " + line.split("\\s{2,}")[1] + " bytes; for RDMA set it "
                        + "to unlimited (systemd: LimitMEMLOCK=infinity; docker run --ulimit memlock=-1)");
                }
            }
        } catch (IOException e) {
            add(Level.WARN, "locked memory: the limit is not known: " + e);
        }
    }
}
