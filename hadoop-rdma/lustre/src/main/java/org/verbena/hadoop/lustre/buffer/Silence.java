// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * For how long a file has shown no sign of life of its process. Clocks of hosts differ, so times of files are compared with each
 * other alone, and this process times the waiting by its own clock. Time without looks counts little: this process stood still
 * then, and the other one did so too, perhaps. Any thread.
 */
final class Silence {
    /** The fewest looks in which a lease ends. */
    private static final int LOOKS = 4;

    private record Seen(String sign, long waited, long looked) {
    }

    private final Map<Path, Seen> all = new HashMap<>();
    private final long lease;
    private final LongSupplier clock;

    /**
     * With a lease.
     *
     * @param leaseMs below zero: over at the first look
     * @param clock nanoseconds
     */
    Silence(long leaseMs, LongSupplier clock) {
        lease = TimeUnit.MILLISECONDS.toNanos(leaseMs);
        this.clock = clock;
    }

    /**
     * Looks at a file.
     *
     * @return whether it has not changed for the lease, as far as this process has looked
     */
    boolean isOver(Path file) throws IOException {
        BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
        return isOver(file, now.lastModifiedTime() + " " + now.size());
    }

    private synchronized boolean isOver(Path file, String sign) {
        long now = clock.getAsLong();
        Seen before = all.get(file);
        long waited = before == null || !before.sign.equals(sign) ? 0
            : before.waited + Math.min(now - before.looked, lease / LOOKS);
        all.put(file, new Seen(sign, waited, now));
        return waited >= lease;
    }

    synchronized void forget(Path file) {
        all.remove(file);
    }

    /** Forgets all files but some. */
    synchronized void keep(Collection<Path> some) {
        all.keySet().retainAll(some);
    }
}
