// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.hdfs.DFSPacket;

/** Packets of one block: their sizes, places and flags are drawn, and how many leave together. */
final class DrawnPackets {
    private static final int CHUNK = WireWriter.CHUNK;
    static final int MOST = 70_000;
    static final int AHEAD = 20;

    private final Random random;
    private final byte[] content;
    private final WireWriter writer;
    private final int nodes;
    private final List<Long> sent = new ArrayList<>();
    /** Bytes of the block that were sent. */
    private int at;
    private long seqno;

    DrawnPackets(Random random, byte[] content, WireWriter writer, int nodes) {
        this.random = random;
        this.content = content;
        this.writer = writer;
        this.nodes = nodes;
    }

    /** New bytes, from the place of the last one or from the begin of its chunk, or some that were sent before. */
    private void one() throws IOException {
        int from = at;
        int most = random.nextInt(3) == 0 ? MOST : 3 * CHUNK;
        if (random.nextInt(5) == 0) {
            from = random.nextInt(at / CHUNK + 1) * CHUNK;
        } else if (at % CHUNK != 0 && random.nextBoolean()) {
            most = CHUNK - at % CHUNK;
        } else {
            from -= at % CHUNK;
        }
        int to = Math.min(content.length, from + 1 + random.nextInt(most));
        if (random.nextInt(3) == 0) {
            to = Math.min(content.length, (to + CHUNK - 1) / CHUNK * CHUNK);
        }
        if (from % CHUNK != 0 && to > from - from % CHUNK + CHUNK || to <= from) {
            return;
        }
        writer.send(writer.packet(seqno, from, Arrays.copyOfRange(content, from, to), random.nextInt(8) == 0));
        sent.add(seqno++);
        at = Math.max(at, to);
    }

    void some(int count) throws IOException {
        for (int i = 0; i < count; i++) {
            if (random.nextInt(10) == 0) {
                writer.send(DFSPacket.HEART_BEAT_SEQNO, 0, new byte[0]);
                sent.add(DFSPacket.HEART_BEAT_SEQNO);
            } else {
                one();
            }
            if (random.nextInt(8) == 0) {
                writer.sendAll();
            }
        }
    }

    void acknowledged() throws IOException {
        for (long number : sent) {
            WireAsserts.assertSuccess(writer.ack(), number, nodes);
        }
        sent.clear();
    }

    void all() throws IOException {
        while (at < content.length) {
            some(1 + random.nextInt(AHEAD));
            acknowledged();
        }
        WireAsserts.assertSuccess(writer.send(seqno, at, null).ack(), seqno, nodes);
    }

    int at() {
        return at;
    }

    long seqno() {
        return seqno;
    }
}
