// SPDX-License-Identifier: Apache-2.0
// How Lustre lays out the blocks of a volume.
package org.verbena.hadoop.hdfs.shared;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Sets it by Lustre's own command, where there is one: blocks are files, and inherit the layout of their folder. */
final class LustreLayout {
    private static final String COMMAND = "lfs";
    private static final int PATIENCE_SECONDS = 30;
    private static final int ANSWER_MAX = 1000;

    private LustreLayout() {
    }

    /**
     * Sets the layout of files that will be made in a folder.
     *
     * @param path the folders of commands, as in PATH
     * @param folder the folder
     * @param stripes objects of one file
     * @return what was done, for the log; empty when this host has no such command
     */
    static String set(String path, Path folder, int stripes) {
        Path command = Stream.of(path.split(":")).filter(place -> !place.isEmpty()).map(place -> Path.of(place, COMMAND))
            .filter(Files::isExecutable).findFirst().orElse(null);
        if (command == null) {
            return "";
        }
        List<String> words = List.of(command.toString(), "setstripe", "--stripe-count", Integer.toString(stripes),
            folder.toString());
        try {
            return run(words, stripes);
        } catch (IOException e) {
            return String.join(" ", words) + " failed: " + e.getMessage() + "; files keep the layout of their folder";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return String.join(" ", words) + " was interrupted";
        }
    }

    private static String run(List<String> words, int stripes) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(words).redirectErrorStream(true).redirectInput(new java.io.File("/dev/null")).start();
        if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new IOException("no end within " + PATIENCE_SECONDS + " s");
        }
        String answer = new String(process.getInputStream().readNBytes(ANSWER_MAX), StandardCharsets.UTF_8).trim();
        if (process.exitValue() != 0) {
            throw new IOException(answer.isEmpty() ? "status " + process.exitValue() : answer.lines().findFirst().orElse(""));
        }
        return "Lustre stripes each block over " + stripes + (stripes == 1 ? " object" : " objects");
    }
}
