// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.util.function.Consumer;
import org.verbena.core.VbnLog;

/**
 * Passes the core's log lines to the host system's logger, level by level. Warnings about lost and refused peers become
 * debug lines: whoever wanted to reach the peer counts them, and says it once.
 *
 * @param error takes lines of level ERROR
 * @param warn takes lines of level WARN
 * @param info takes lines of level INFO
 * @param debug takes all others, and warnings about peers
 */
public record PluginLog(Consumer<String> error, Consumer<String> warn, Consumer<String> info, Consumer<String> debug)
        implements VbnLog {
    @Override
    public void line(Line line) {
        boolean aboutPeer = line.level() == WARN && line.category() == PEER_LOST;
        Consumer<String> to = switch (aboutPeer ? DEBUG : line.level()) {
            case ERROR -> error;
            case WARN -> warn;
            case INFO -> info;
            default -> debug;
        };
        to.accept(line.text());
    }
}
