// SPDX-License-Identifier: Apache-2.0
// The daemon that writes files out of the burst buffer.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.lustre.buffer.Buffer;
import org.verbena.hadoop.lustre.buffer.Flusher;
import org.verbena.hadoop.lustre.buffer.Steps;

/**
 * Flushes all files of the root, with the settings of Hadoop's configuration. One runs on each host that writes; with
 * {@code --once} it ends when the buffer is empty, or cannot become so.
 */
public final class LustreFlusher {
    private static final Logger LOG = LoggerFactory.getLogger(LustreFlusher.class);
    private static final int PAUSE_MS = 500;
    private static final String USAGE = "usage: LustreFlusher [--once]";

    private LustreFlusher() {
    }

    /**
     * The program: for ever without arguments; {@code --once}: status 0 when the shared directory has all, 1 with a line for each
     * file otherwise, 2 for wrong settings.
     */
    public static void main(String[] arguments) throws InterruptedException {
        boolean once = List.of(arguments).equals(List.of("--once"));
        if (arguments.length > 0 && !once) {
            System.err.println(USAGE);
            System.exit(2);
        }
        try (Buffer buffer = open(new Configuration())) {
            System.exit(run(new Flusher(buffer), once));
        } catch (IOException | IllegalArgumentException e) {
            System.err.println("LustreFlusher: " + e.getMessage());
            System.exit(2);
        }
    }

    private static Buffer open(Configuration conf) throws IOException {
        LustreConf settings = LustreConf.of(conf);
        if (!settings.buffer().isOn()) {
            throw new IOException(PluginSetting.LUSTRE_BUFFER_SERVERS.key()
                + " is not set: set it as the writers of files have it");
        }
        return new Buffer(new SharedRoot(settings).path(), settings.buffer(), Steps.NONE);
    }

    /** The daemon waits for a root that is away. */
    private static Flusher.Pass passed(Flusher flusher, boolean once) throws IOException {
        try {
            return flusher.pass();
        } catch (IOException e) {
            if (once) {
                throw e;
            }
            return new Flusher.Pass(1, List.of(String.valueOf(e.getMessage())), List.of());
        }
    }

    /** Problems are told once, not at each pass. */
    private static int run(Flusher flusher, boolean once) throws IOException, InterruptedException {
        Set<String> told = new HashSet<>();
        while (true) {
            Flusher.Pass pass = passed(flusher, once);
            if (!once) {
                told.removeIf(line -> !pass.problems().contains(line) && !pass.notes().contains(line));
            }
            pass.notes().stream().filter(told::add).forEach(note -> LOG.warn("Verbena: {}", note));
            for (String problem : pass.problems()) {
                if (told.add(problem)) {
                    LOG.error("Verbena: {}", problem);
                }
            }
            if (once && (pass.left() == 0 || !pass.problems().isEmpty())) {
                pass.problems().forEach(System.err::println);
                return pass.left() == 0 ? 0 : 1;
            }
            if (once) {
                flusher.awaited().stream().filter(told::add).forEach(System.err::println);
            }
            Thread.sleep(PAUSE_MS); // files come at any time, from any host
        }
    }
}
