// SPDX-License-Identifier: Apache-2.0
// A folder that plays the shared one, with servers before it.
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import java.util.function.IntConsumer;
import java.util.stream.Stream;
import org.verbena.memcached.ServerProcess;

/** Chunks have 4 KiB. A buffer of it stands for a process. */
final class Place {
    static final int CHUNK = 4096;
    static final long LEASE_MS = 600_000;
    private static final int PIECE = 9000;
    private static final String TIMES = ";carrier=sockets" + ServerProcess.PATIENT;

    final Path root;
    final Path local;

    Place(Path folder) throws IOException {
        root = Files.createDirectories(folder.resolve("root"));
        local = folder.resolve("local");
    }

    static byte[] bytes(int seed, int length) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    /** A process that is ended by an error at a step, which nothing catches. */
    static final class Killed extends Error {
        private static final long serialVersionUID = 1L;
    }

    /** Ends its process at a step, counted from 1. */
    static final class KillAt implements Steps {
        private final int step;
        int seen;

        KillAt(int step) {
            this.step = step;
        }

        @Override
        public void at(String what) {
            if (++seen == step) {
                throw new Killed();
            }
        }
    }

    private BufferConf conf(String servers, Fault fault, long leaseMs) {
        return new BufferConf(servers + TIMES, fault, local, CHUNK, leaseMs);
    }

    Buffer process(String servers, Fault fault, Steps steps) {
        return new Buffer(root, conf(servers, fault, LEASE_MS), steps);
    }

    /** With a clock. */
    Buffer timed(String servers, Fault fault, java.util.function.LongSupplier clock) {
        return new Buffer(root, conf(servers, fault, LEASE_MS), Steps.NONE, clock);
    }

    /** With a writer's lease that is over at once. */
    Buffer late(String servers, Fault fault) {
        return new Buffer(root, conf(servers, fault, -1), Steps.NONE);
    }

    Sink create(Buffer process, String name) throws IOException {
        Path file = root.resolve(name);
        return process.sink(FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), file, name);
    }

    void write(Buffer process, String name, byte[] bytes) throws IOException {
        Sink sink = create(process, name);
        sink.write(ByteBuffer.wrap(bytes));
        sink.close();
    }

    /** Tells after each piece how many bytes are acknowledged. */
    void writeInPieces(Buffer process, String name, byte[] bytes, IntConsumer acknowledged) throws IOException {
        Sink sink = create(process, name);
        for (int from = 0; from < bytes.length; from += PIECE) {
            int length = Math.min(PIECE, bytes.length - from);
            sink.write(ByteBuffer.wrap(bytes, from, length));
            sink.flush();
            acknowledged.accept(from + length);
        }
        sink.close();
    }

    byte[] read(Buffer process, String name) throws IOException {
        try (Content content = process.open(root.resolve(name), name)) {
            ByteBuffer all = ByteBuffer.allocate((int) content.size());
            while (all.hasRemaining() && content.read(all, all.position()) > 0) {
                continue;
            }
            assertFalse(all.hasRemaining(), name);
            return all.array();
        }
    }

    void cut(String name, long length) {
        try (FileChannel file = FileChannel.open(root.resolve(name), StandardOpenOption.WRITE)) {
            file.truncate(length);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** Flushes all, and looks that only the files are left. */
    void flushAll(String servers, Fault fault) throws IOException {
        try (Buffer process = late(servers, fault)) {
            assertEquals(new Flusher.Pass(0, java.util.List.of(), java.util.List.of()), new Flusher(process).pass());
        }
        assertFalse(Files.exists(root.resolve(Records.FOLDER)));
        if (Files.isDirectory(local)) {
            try (Stream<Path> files = Files.list(local)) {
                assertEquals(0, files.count());
            }
        }
    }

    void expectFile(String name, byte[] bytes) throws IOException {
        assertArrayEquals(bytes, Files.readAllBytes(root.resolve(name)), name);
        assertEquals(1, Records.linksOf(root.resolve(name)));
    }
}
