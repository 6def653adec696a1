// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.verbena.core.VbnLog;

/**
 * Passes log lines on, and warns that a peer was refused for its key or version: of the two processes this may be the one whose
 * settings are wrong. Once a minute, as strangers may knock all the time. Thread safe.
 */
public final class RefusalLog implements VbnLog {
    private static final String BEGINNING = "refused a peer over ";
    private static final long PAUSE = TimeUnit.MINUTES.toNanos(1);

    private final PluginLog log;
    private final ClusterKey key;
    private final AtomicLong next = new AtomicLong(System.nanoTime());

    /**
     * Makes one.
     *
     * @param log takes all lines
     * @param key names its settings in the warning
     */
    public RefusalLog(PluginLog log, ClusterKey key) {
        this.log = log;
        this.key = key;
    }

    @Override
    public void line(Line line) {
        long now = System.nanoTime();
        long after = next.get();
        if (line.text().startsWith(BEGINNING) && now - after >= 0 && next.compareAndSet(after, now + PAUSE)) {
            log.warn().accept("Verbena " + key.words(line.text()));
        } else {
            log.line(line);
        }
    }
}
