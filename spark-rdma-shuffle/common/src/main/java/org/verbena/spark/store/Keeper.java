// SPDX-License-Identifier: Apache-2.0
// Removes an executor's directory when the executor can no longer do so.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A shell that sleeps in the read of a pipe. The pipe's other end is ours and closes with this process, however that ends: then
 * the shell waits as long as tasks may go on reading, and removes the directory. It has a session of its own, because whoever
 * kills an executor kills its process group; where a whole container is killed it goes, too, and whoever cleans next finds the
 * directory ({@link DeadExecutors}).
 */
final class Keeper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Keeper.class);
    private static final String SCRIPT = "read none; sleep \"$1\"; rm -rf -- \"$2\"; rmdir -- \"${2%/*}\"";

    private final Process shell;

    private Keeper(Process shell) {
        this.shell = shell;
    }

    /**
     * Starts one.
     *
     * @param directory what it removes; the directory above it goes, too, if it is empty then
     * @param seconds from the end of this process on
     * @return null when no process can be started: then the directory stays until somebody else removes it
     */
    static Keeper start(Path directory, long seconds) {
        ProcessBuilder builder = new ProcessBuilder("setsid", "sh", "-c", SCRIPT, "verbena-keeper", Long.toString(seconds),
            directory.toString());
        builder.directory(Path.of("/").toFile()).redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().retainAll(Set.of("PATH")); // that of an executor has secrets
        try {
            return new Keeper(builder.start());
        } catch (IOException e) {
            LOG.debug("{} stays if this process is killed, until another executor starts: {}", directory, e.toString());
            return null;
        }
    }

    /** The directory is gone: ends the shell. */
    @Override
    public void close() {
        shell.destroy();
    }
}
