// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * Why the core of a process did not start. A start takes time and says in the log why it fails, so it is not tried for each
 * connection; but what stood in its way, such as memory or descriptors that others had, may be gone half a minute later. To be
 * used under its owner's lock.
 */
public final class FailedStart {
    private static final long AGAIN = TimeUnit.SECONDS.toNanos(30);

    private IOException failure;
    private long at;

    /** Makes one without a failure. */
    public FailedStart() {
        // nothing has failed
    }

    /**
     * To be called before a start.
     *
     * @throws IOException the failure of the last half minute
     */
    public void check() throws IOException {
        check(System.nanoTime());
    }

    void check(long now) throws IOException {
        if (failure != null && now - at < AGAIN) {
            throw failure;
        }
        failure = null;
    }

    /**
     * The start has failed.
     *
     * @param cause why
     * @return the cause, to be thrown
     */
    public IOException failed(IOException cause) {
        return failed(cause, System.nanoTime());
    }

    IOException failed(IOException cause, long now) {
        failure = cause;
        at = now;
        return cause;
    }
}
