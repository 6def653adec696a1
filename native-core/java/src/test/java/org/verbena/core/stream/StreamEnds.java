// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.util.concurrent.CompletableFuture;
import org.verbena.core.Fixture;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;

/** A writer's streams and a reader's in one JVM, and a service of the reader's that accepts one stream after the other. */
final class StreamEnds implements AutoCloseable {
    static final int SERVICE = 1;

    final VbnStreams in;
    final VbnStreams out;
    final VbnPeer peer;
    private volatile CompletableFuture<VbnStream> accepted = new CompletableFuture<>();

    /** Connects the writer's engine to the reader's. */
    StreamEnds(VbnStreams in, VbnStreams out) throws VbnException {
        this.in = in;
        this.out = out;
        in.serve(SERVICE, (stream, hello) -> accepted.complete(stream));
        peer = out.engine().connect(in.engine().address(), null);
    }

    /** Ends with the usual limits. */
    static StreamEnds of(VbnEngine reader, VbnEngine writer) throws VbnException {
        return new StreamEnds(new VbnStreams(reader, StreamServer.MESSAGE, StreamLimits.DEFAULT),
            new VbnStreams(writer, StreamServer.MESSAGE, StreamLimits.DEFAULT));
    }

    /** The writer's end of a new stream. */
    VbnStream open() {
        accepted = new CompletableFuture<>();
        return out.open(peer, SERVICE, new byte[0]);
    }

    /** As {@link VbnStreams#openAtOnce}. */
    VbnStream openAtOnce() {
        accepted = new CompletableFuture<>();
        return out.openAtOnce(peer, SERVICE, new byte[0]);
    }

    /** The reader's end of the stream that was opened last; waits for it where an engine's own thread brings it. */
    VbnStream accepted() throws Exception {
        return Fixture.get(accepted);
    }

    /** What the reader has got of the stream that was opened last. */
    long received() {
        VbnStream reader = accepted.getNow(null);
        return reader == null ? 0 : reader.received();
    }

    /** Frames of both sides that were wrong. */
    long violations() {
        return in.counters().get("stream.violations") + out.counters().get("stream.violations");
    }

    @Override
    public void close() {
        out.close();
        in.close();
    }
}
