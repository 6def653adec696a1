// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hadoop;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;

/** Files that clients, each a thread, write, read and delete; what is read is compared with what was written. */
final class Load implements AutoCloseable {
    private static final Path FOLDER = new Path("/ohb");
    private static final int BUFFER = 1 << 16;

    private final FileSystem files;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final AtomicLong local = new AtomicLong();

    Load(FileSystem files) {
        this.files = files;
    }

    /** One cell: {@code clients} threads, each with {@code count} files of {@code size} bytes. */
    record Cell(long size, int count, int replicas, int clients, long seed) {
        long bytes() {
            return size * count * clients;
        }
    }

    private static Path path(int client, int number) {
        return new Path(FOLDER, client + "-" + number);
    }

    /** Writes the files. Returns nanoseconds, from before the first is created until the last is closed. */
    long write(Cell cell) throws IOException {
        Content content = new Content(cell.seed());
        return timed(cell, (client, number) -> {
            try (OutputStream out = files.create(path(client, number), true, BUFFER, (short) cell.replicas(),
                files.getDefaultBlockSize(FOLDER))) {
                for (long done = 0; done < cell.size(); done += Content.PIECE) {
                    int length = (int) Math.min(Content.PIECE, cell.size() - done);
                    out.write(content.array(), content.start(done / Content.PIECE), length);
                }
            }
        });
    }

    /** Reads the files from their beginning to their end and compares them. Returns nanoseconds. */
    long read(Cell cell) throws IOException {
        Content content = new Content(cell.seed());
        return timed(cell, (client, number) -> {
            byte[] buffer = new byte[BUFFER];
            long place = 0;
            try (FSDataInputStream in = files.open(path(client, number), BUFFER)) {
                for (int got = in.read(buffer); got >= 0; got = in.read(buffer)) {
                    check(content, place, buffer, got, path(client, number));
                    place += got;
                }
                count(in);
            }
            if (place != cell.size()) {
                throw new IOException(path(client, number) + " has " + place + " bytes, not " + cell.size());
            }
        });
    }

    /** Reads {@code reads} times so many bytes of each file, at places that the seed chooses. Returns nanoseconds. */
    long positioned(Cell cell, int reads, int bytes) throws IOException {
        Content content = new Content(cell.seed());
        return timed(cell, (client, number) -> {
            byte[] buffer = new byte[bytes];
            Random random = new Random(cell.seed() + client);
            try (FSDataInputStream in = files.open(path(client, number), BUFFER)) {
                for (int i = 0; i < reads; i++) {
                    long place = (long) (random.nextDouble() * (cell.size() - bytes));
                    in.readFully(place, buffer, 0, bytes);
                    check(content, place, buffer, bytes, path(client, number));
                }
                count(in);
            }
        });
    }

    /** Makes {@code reads} vectored reads of each file, with so many ranges each. Returns nanoseconds. */
    long vectored(Cell cell, int reads, int ranges, int bytes) throws IOException {
        Content content = new Content(cell.seed());
        return timed(cell, (client, number) -> {
            Random random = new Random(cell.seed() + client);
            try (FSDataInputStream in = files.open(path(client, number), BUFFER)) {
                for (int i = 0; i < reads; i++) {
                    List<FileRange> parts = parts(random, cell.size() / ranges, ranges, bytes);
                    in.readVectored(parts, ByteBuffer::allocate);
                    for (FileRange part : parts) {
                        check(content, part.getOffset(), part.getData().join().array(), bytes, path(client, number));
                    }
                }
                count(in);
            }
        });
    }

    /** Each at a place of its own part of the file, so that none overlap. */
    private static List<FileRange> parts(Random random, long part, int ranges, int bytes) {
        List<FileRange> parts = new ArrayList<>();
        for (int i = 0; i < ranges; i++) {
            parts.add(FileRange.createFileRange(i * part + (long) (random.nextDouble() * (part - bytes)), bytes));
        }
        return parts;
    }

    private void count(FSDataInputStream in) {
        if (in instanceof HdfsDataInputStream known) {
            local.addAndGet(known.getReadStatistics().getTotalShortCircuitBytesRead());
        }
    }

    /** Returns how many bytes were read by short-circuit since the last call: out of the DataNode's files, not from it. */
    long takeShortCircuit() {
        return local.getAndSet(0);
    }

    private static void check(Content content, long place, byte[] bytes, int count, Path path) throws IOException {
        int wrong = content.difference(place, bytes, count);
        if (wrong >= 0) {
            throw new IOException(path + ": byte " + (place + wrong) + " differs from the one that was written");
        }
    }

    /** Deletes all files. */
    void delete() throws IOException {
        files.delete(FOLDER, true);
    }

    private interface Work {
        void of(int client, int number) throws IOException;
    }

    private long timed(Cell cell, Work work) throws IOException {
        List<Callable<Void>> clients = new ArrayList<>();
        for (int i = 0; i < cell.clients(); i++) {
            int client = i;
            clients.add(() -> {
                for (int number = 0; number < cell.count(); number++) {
                    work.of(client, number);
                }
                return null;
            });
        }
        long start = System.nanoTime();
        try {
            for (Future<Void> done : threads.invokeAll(clients)) {
                done.get();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } catch (ExecutionException e) {
            throw new IOException(e.getCause().getMessage(), e.getCause());
        }
        return System.nanoTime() - start;
    }

    @Override
    public void close() throws IOException {
        threads.shutdownNow();
        files.close();
    }
}
