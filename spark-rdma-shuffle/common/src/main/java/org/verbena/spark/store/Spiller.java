// SPDX-License-Identifier: Apache-2.0
// Moves finished map outputs to Spark's files when memory for them runs out.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.SlabPool;

/**
 * A thread, started at the first need, that keeps an eighth of the budget free, so that tasks seldom wait for the disk.
 * Whole outputs go, large and long unused ones first. Thread safe.
 */
final class Spiller implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Spiller.class);
    /** How long a disk that failed is left alone. */
    private static final long DISK_PAUSE_NANOS = 10_000_000_000L;
    private static final int SHARE_FREE = 8;
    private static final long ASK_PAUSE_NANOS = 1_000_000_000L;

    private final SlabPool pool;
    private final ShuffleFiles files;
    private final Consumer<MapOutput> spilled;
    private final Set<MapOutput> live = ConcurrentHashMap.newKeySet();
    /** Held while an output moves; taken before this object's own lock, which guards what is below `thread`. */
    private final Object moveLock = new Object();
    private final Deque<MapOutput> chosen = new ArrayDeque<>(); // under moveLock
    private volatile Runnable nearlyFull = () -> { };
    private volatile long lastAsked = System.nanoTime() - ASK_PAUSE_NANOS;
    private volatile boolean diskFailed;
    private volatile long diskFailedSince;
    private Thread thread;
    private boolean wanted;
    private boolean closed;
    private long moves;
    private long failures;

    /**
     * Makes an idle one.
     *
     * @param spilled called when an output's files are complete
     */
    Spiller(SlabPool pool, ShuffleFiles files, Consumer<MapOutput> spilled) {
        this.pool = pool;
        this.files = files;
        this.spilled = spilled;
    }

    /**
     * What to do when a quarter of the memory is left, at most once a second.
     *
     * @param ask returns at once
     */
    void whenNearlyFull(Runnable ask) {
        nearlyFull = ask;
    }

    /** From now on the output may be moved. */
    void add(MapOutput output) {
        live.add(output);
        if (output.state() != MapOutput.State.LIVE) {
            live.remove(output); // it went before it was here
        }
        long now = System.nanoTime();
        if (now - lastAsked >= ASK_PAUSE_NANOS && pool.usedBytes() > pool.budgetBytes() / 4 * 3) {
            lastAsked = now; // two who ask at a time do no harm
            nearlyFull.run();
        }
        if (needsRoom()) {
            synchronized (this) {
                want();
            }
        }
    }

    /** The output is gone. */
    void remove(MapOutput output) {
        live.remove(output);
    }

    private boolean needsRoom() {
        return pool.usedBytes() > pool.budgetBytes() - pool.budgetBytes() / SHARE_FREE;
    }

    /**
     * Waits until an output has moved.
     *
     * @return false when none could, or the caller was interrupted, which it still is then
     */
    boolean awaitRoom() {
        if (live.isEmpty() || diskFailedRecently()) {
            return false;
        }
        synchronized (this) {
            long before = moves;
            long failedBefore = failures;
            want();
            try {
                while (moves == before && failures == failedBefore && !closed) {
                    wait();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
            return moves != before;
        }
    }

    /** Under the lock. */
    private void want() {
        wanted = true;
        if (thread == null && !closed) {
            thread = new Thread(this::run, "verbena-spill");
            thread.setDaemon(true);
            thread.start();
        }
        notifyAll();
    }

    private void run() {
        try {
            while (awaitWork()) {
                boolean moved;
                synchronized (moveLock) {
                    moved = !diskFailedRecently() && move();
                }
                tell(moved);
            }
        } finally { // after an Error, too, nobody may wait for this thread
            synchronized (this) {
                thread = null;
                tell(false);
            }
        }
    }

    private synchronized boolean awaitWork() {
        while (!wanted && !closed) {
            try {
                wait();
            } catch (InterruptedException e) {
                LOG.debug("only close() interrupts this thread");
            }
        }
        return !closed;
    }

    private synchronized void tell(boolean moved) {
        moves += moved ? 1 : 0;
        failures += moved ? 0 : 1;
        wanted = moved && needsRoom();
        notifyAll();
    }

    /** Moves everything, in the caller's thread; ends at the first failure. */
    void moveAll() {
        synchronized (moveLock) {
            while (move()) {
                LOG.debug("moved one map output");
            }
        }
        synchronized (this) {
            moves++;
            notifyAll();
        }
    }

    private boolean diskFailedRecently() {
        return diskFailed && System.nanoTime() - diskFailedSince < DISK_PAUSE_NANOS;
    }

    /** Moves one output, in the caller's thread, unless it has ended meanwhile. */
    void move(MapOutput output) {
        boolean moved;
        synchronized (moveLock) {
            moved = output.pin() && movePinned(output);
        }
        if (moved) {
            synchronized (this) {
                moves++;
                notifyAll();
            }
        }
    }

    /** Outputs that live. */
    List<MapOutput> live() {
        return live.stream().filter(output -> output.state() == MapOutput.State.LIVE).toList();
    }

    /** Under moveLock: moves one output; false when there is none that could be moved. */
    private boolean move() {
        MapOutput output = choose();
        return output != null && movePinned(output);
    }

    /** Under moveLock; takes the pin. */
    private boolean movePinned(MapOutput output) {
        try {
            if (SpillToFiles.write(output, files)) {
                spilled.accept(output);
            }
            diskFailed = false;
            return true;
        } catch (ClosedByInterruptException e) {
            LOG.debug("interrupted while map output {} of shuffle {} went to disk", output.mapId(), output.shuffleId());
            return false; // says nothing about the disk; the output stays where it was
        } catch (IOException | RuntimeException e) {
            diskFailedSince = System.nanoTime();
            diskFailed = true;
            LOG.warn("cannot move map output {} of shuffle {} to disk: {}; free space in spark.local.dir or raise "
                + "spark.verbena.memory", output.mapId(), output.shuffleId(), e.toString());
            return false;
        } finally {
            output.unpin();
        }
    }

    /** Under moveLock: the next output, pinned; stays among the others until it is spilled or removed. */
    private MapOutput choose() {
        while (true) {
            if (chosen.isEmpty()) {
                chosen.addAll(coldest());
            }
            MapOutput output = chosen.poll();
            if (output == null || output.pin()) {
                return output;
            }
        }
    }

    /** As many as hold an eighth of the budget: what is used meanwhile changes the order of the others. */
    private List<MapOutput> coldest() {
        List<MapOutput> all = live().stream()
            .map(output -> new Candidate(output, output.coldness()))
            .sorted(Comparator.comparingDouble(Candidate::coldness).reversed()).map(Candidate::output).toList();
        long enough = pool.budgetBytes() / SHARE_FREE;
        int count = 0;
        for (long bytes = 0; count < all.size() && bytes < enough; count++) {
            bytes += all.get(count).bytes();
        }
        return all.subList(0, count);
    }

    /** With what it is sorted by, which others change meanwhile. */
    private record Candidate(MapOutput output, double coldness) {
    }

    /** Ends the thread, if need be in the middle of an output, which then stays where it is. */
    @Override
    public void close() {
        Thread last;
        synchronized (this) {
            closed = true;
            last = thread;
            notifyAll();
        }
        boolean interrupted = false;
        while (last != null && last.isAlive()) {
            last.interrupt();
            try {
                last.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
