// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * Why the core of a process did not start. A start takes time and says in the log why it fails, so it is not tried for each
 * connection; but what stood in its way, such as memory or descriptors that others had, may be gone later. It is tried again
 * after half a minute, doubled with each failure up to 8 minutes. To be used under its owner's lock.
 */
public final class FailedStart {
    private static final long AGAIN = TimeUnit.SECONDS.toNanos(30);

    private static final int MAX_DOUBLINGS = 4;

    private IOException failure;
    private int failures;
    private long until;

    /** Makes one without a failure. */
    public FailedStart() {
        // nothing has failed
    }

    /**
     * To be called before a start.
     *
     * @throws IOException the last failure, while it is too early to try again
     */
    public void check() throws IOException {
        check(System.nanoTime());
    }

    void check(long now) throws IOException {
        if (isTooEarly(now)) {
            throw failure;
        }
        failure = null;
    }

    /**
     * Tells whether the last failure holds on.
     *
     * @param now a time of System.nanoTime
     */
    public boolean isTooEarly(long now) {
        return failure != null && now - until < 0;
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

    /**
     * The same at another time.
     *
     * @param now a time of System.nanoTime
     */
    public IOException failed(IOException cause, long now) {
        failure = cause;
        until = now + (AGAIN << Math.min(failures++, MAX_DOUBLINGS));
        return cause;
    }
}
