// SPDX-License-Identifier: Apache-2.0
// Runs lfs, the tool of a Lustre client.
package org.verbena.hadoop.lustre;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.plugin.PluginSetting;

/** Without the tool layouts are not known, and cannot be chosen. Thread safe. */
public final class LfsTool {
    private static final Logger LOG = LoggerFactory.getLogger(LfsTool.class);
    private static final long PATIENCE_SECONDS = 60;
    private static final int MOST_OUTPUT = 1 << 20;

    /** Null when there is none. */
    private final String program;
    private final String reason;

    private LfsTool(String program, String reason) {
        this.program = program;
        this.reason = reason;
    }

    /**
     * Finds the tool.
     *
     * @param setting "auto", "off", or its path
     * @throws IOException when the path that was given is not that of a program
     */
    public static LfsTool find(String setting) throws IOException {
        if (setting.equals("off")) {
            return new LfsTool(null, PluginSetting.LUSTRE_LFS.key() + " is off");
        }
        if (!setting.equals("auto")) {
            if (!Files.isExecutable(Path.of(setting))) {
                throw new IOException(PluginSetting.LUSTRE_LFS.key() + "=" + setting
                    + " is not a program; give the path of lfs, auto or off");
            }
            return new LfsTool(setting, null);
        }
        String path = System.getenv("PATH");
        for (String folder : (path == null ? "" : path).split(File.pathSeparator)) {
            Path found = Path.of(folder.isEmpty() ? "." : folder, "lfs");
            if (Files.isExecutable(found) && Files.isRegularFile(found)) {
                return new LfsTool(found.toString(), null);
            }
        }
        return new LfsTool(null, "there is no lfs in the PATH");
    }

    /** False when layouts are unknown; {@link #reason} says why. */
    public boolean isThere() {
        return program != null;
    }

    /** Why there is no tool; null when there is one. */
    public String reason() {
        return reason;
    }

    /** The layout of a file; an empty one when the tool does not tell it, with one line in the log. */
    Layout layout(Path file) {
        try {
            return Layout.parse(run(List.of("getstripe", file.toString())));
        } catch (IOException e) {
            LOG.warn("Verbena: the layout of {} is not known: {}", file, e.getMessage());
            return new Layout(List.of());
        }
    }

    /**
     * Makes an empty file with a striping.
     *
     * @param size bytes on one target, 0: as the folder says
     * @param count targets, 0: as the folder says
     * @throws IOException with the tool's words
     */
    void make(Path file, long size, int count) throws IOException {
        List<String> words = new ArrayList<>(List.of("setstripe"));
        if (size > 0) {
            words.addAll(List.of("-S", Long.toString(size)));
        }
        if (count > 0) {
            words.addAll(List.of("-c", Integer.toString(count)));
        }
        words.add(file.toString());
        run(words);
    }

    private String run(List<String> words) throws IOException {
        List<String> command = new ArrayList<>(List.of(program));
        command.addAll(words);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectInput(new File("/dev/null")).start();
        try {
            String output = new String(process.getInputStream().readNBytes(MOST_OUTPUT), StandardCharsets.UTF_8);
            if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException(String.join(" ", command) + " has not ended within " + PATIENCE_SECONDS + " s");
            }
            if (process.exitValue() != 0) {
                throw new IOException(String.join(" ", command) + " failed: " + output.strip());
            }
            return output;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new java.io.InterruptedIOException("interrupted while lfs ran");
        } finally {
            process.destroyForcibly();
        }
    }
}
