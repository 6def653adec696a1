// SPDX-License-Identifier: Apache-2.0
// Answers one request for the lengths of segments.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.mapred.MapOutputBridge;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;

/** The indexes of each local folder are read by its thread ({@link Readers}); the last one answers. */
final class Lookup {
    private static final Wire.Size MISSING = new Wire.Size(-1, 0);

    private final JobServer server;
    private final VbnEngine engine;
    private final VbnPeer peer;
    private final Wire.Header header;
    private final List<Wire.Range> ranges;
    /** Each member is written by one folder's thread; the counter hands them over. */
    private final Wire.Size[] sizes;
    private final Wire.Place[] places;
    private final AtomicInteger folders = new AtomicInteger(1);

    Lookup(JobServer server, VbnEngine engine, VbnPeer peer, Wire.Header header, List<Wire.Range> ranges) {
        this.server = server;
        this.engine = engine;
        this.peer = peer;
        this.header = header;
        this.ranges = ranges;
        sizes = new Wire.Size[ranges.size()];
        places = new Wire.Place[sizes.length];
        Arrays.fill(sizes, MISSING);
    }

    /** Finds out which folders to ask; opens no file. */
    void start() {
        Map<String, List<Integer>> numbers = new LinkedHashMap<>();
        for (int i = 0; i < sizes.length; i++) {
            String attempt = ranges.get(i).attempt();
            try {
                numbers.computeIfAbsent(server.folder(attempt), folder -> new ArrayList<>()).add(i);
            } catch (IOException | RuntimeException e) {
                missing(attempt, e);
            }
        }
        folders.addAndGet(numbers.size());
        numbers.forEach((folder, some) -> server.readers().offer(folder, () -> read(some))); // false: closing, and nobody waits
        done();
    }

    private void read(List<Integer> some) {
        for (int i : some) {
            String attempt = ranges.get(i).attempt();
            try {
                MapOutputBridge.Segment segment = server.find(attempt, header.number());
                sizes[i] = new Wire.Size(segment.partLength(), segment.rawLength());
                places[i] = server.shared().place(segment.file(), segment.offset());
            } catch (IOException | RuntimeException e) {
                missing(attempt, e);
            }
        }
        done();
    }

    private void missing(String attempt, Exception cause) {
        JobServer.LOG.warn("{} of reducer {} cannot be served: {}", attempt, header.number(), cause.toString());
    }

    private void done() {
        if (folders.decrementAndGet() == 0) {
            boolean told = header.offset() == Wire.PLACES && Arrays.stream(places).anyMatch(Objects::nonNull);
            ByteBuffer lengths = Wire.sizes(Arrays.asList(sizes));
            engine.send(peer, Wire.SIZES, Wire.header(sizes.length, header.request(), 0), !told ? new ByteBuffer[] {lengths}
                : new ByteBuffer[] {lengths, WirePlaces.write(server.shared().announced(), Arrays.asList(places))}, null);
            server.ended();
        }
    }
}
