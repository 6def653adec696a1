// SPDX-License-Identifier: Apache-2.0
// One request of a reducer and what has come for it.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import org.verbena.core.VbnPeer;

/**
 * A LOOKUP, which gets one answer, or a LOAD, whose bytes land in a buffer in order. The engine's thread delivers, a fetcher
 * waits. Thread safe.
 */
final class Exchange {
    private final long id;
    private final VbnPeer peer;
    private final ByteBuffer into;
    private final ArrayDeque<Piece> pulling = new ArrayDeque<>();
    private long announced;
    private long arrived;
    private ByteBuffer answer;
    private IOException failure;
    private int failedRange = -1;
    private long events;

    private static final class Piece {
        final long end;
        boolean done;

        Piece(long end) {
            this.end = end;
        }
    }

    /** @param into takes the bytes of a LOAD from position 0 to its limit; null for a LOOKUP */
    Exchange(long id, VbnPeer peer, ByteBuffer into) {
        this.id = id;
        this.peer = peer;
        this.into = into;
    }

    long id() {
        return id;
    }

    VbnPeer peer() {
        return peer;
    }

    boolean isLoad() {
        return into != null;
    }

    /** Where a piece lands; null when it is not the one that has to come next. */
    synchronized ByteBuffer room(long offset, long length) {
        if (into == null || failure != null || offset != announced || length <= 0 || length > into.limit() - announced) {
            return null;
        }
        announced += length;
        pulling.add(new Piece(announced));
        return into.slice((int) offset, (int) length);
    }

    /** The piece that ends there has landed. */
    synchronized void landed(long end) {
        pulling.stream().filter(piece -> piece.end == end).forEach(piece -> piece.done = true);
        while (!pulling.isEmpty() && pulling.peek().done) {
            arrived = pulling.poll().end;
        }
        event();
    }

    /** @param data copied */
    synchronized void answer(ByteBuffer data) {
        answer = ByteBuffer.allocate(data.remaining()).put(data.duplicate()).flip();
        event();
    }

    synchronized void fail(IOException cause) {
        failure = failure == null ? cause : failure;
        event();
    }

    /** The server cannot serve one range. */
    synchronized void failRange(int range, IOException cause) {
        failedRange = failure == null ? range : failedRange;
        fail(cause);
    }

    /** The range that the server could not serve; -1 when that was not the trouble. */
    synchronized int failedRange() {
        return failedRange;
    }

    /** Nothing lands any more: to be asked after {@link #fail}, when no further piece is taken. */
    synchronized boolean isQuiet() {
        return pulling.isEmpty();
    }

    private void event() {
        events++;
        notifyAll();
    }

    /**
     * Waits for the answer.
     *
     * @return null when none came within the time
     */
    synchronized ByteBuffer awaitAnswer(long limitNanos) throws IOException {
        long deadline = System.nanoTime() + limitNanos;
        while (answer == null && failure == null && sleep(deadline)) {
            continue;
        }
        if (answer == null && failure != null) {
            throw failure;
        }
        return answer;
    }

    /** Waits until so many bytes have landed; fails when nothing lands for a time. */
    synchronized void awaitBytes(long count, long limitNanos) throws IOException {
        long deadline = System.nanoTime() + limitNanos;
        for (long seen = events; arrived < count; seen = events) {
            if (failure != null) {
                throw failure;
            }
            if (!sleep(deadline)) {
                throw new IOException("nothing came for " + TimeUnit.NANOSECONDS.toSeconds(limitNanos) + " s, "
                    + arrived + " of " + into.limit() + " bytes have landed");
            }
            deadline = seen == events ? deadline : System.nanoTime() + limitNanos;
        }
    }

    /** False when the time is up. */
    private boolean sleep(long deadline) throws InterruptedIOException {
        long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        if (millis <= 0) {
            return false;
        }
        try {
            wait(millis);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while fetching");
        }
    }
}
