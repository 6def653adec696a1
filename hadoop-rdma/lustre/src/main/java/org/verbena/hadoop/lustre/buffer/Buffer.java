// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** The burst buffer as a process uses it: sinks of new files, contents of files that are in it. Any thread. */
public final class Buffer implements AutoCloseable {
    private static final long WAIT_MS = 20;

    final BufferConf conf;
    final Records records;
    final ChunkStore store;
    final LocalCopies local;
    final Steps steps;
    final Silence silence;
    private final Set<RecordWriter> writers = ConcurrentHashMap.newKeySet();
    private Thread signs;
    private boolean closed;

    /**
     * Makes the buffer of a root.
     *
     * @param steps told what is done; {@link Steps#NONE} but in tests
     */
    public Buffer(Path root, BufferConf conf, Steps steps) {
        this(root, conf, steps, System::nanoTime);
    }

    Buffer(Path root, BufferConf conf, Steps steps, LongSupplier clock) {
        this.conf = conf;
        this.steps = steps;
        silence = new Silence(conf.leaseMs(), clock);
        records = new Records(root);
        store = new ChunkStore(conf.servers());
        local = new LocalCopies(conf.local());
    }

    /** The folder of records. */
    public Records records() {
        return records;
    }

    /**
     * Where the bytes of a new file go.
     *
     * @param file open and empty
     * @param target its name
     * @param path for messages
     */
    public Sink sink(FileChannel file, Path target, String path) throws IOException {
        return conf.isOn() ? new BufferSink(this, file, target, path) : new PlainSink(file);
    }

    /** Opens a file for reading. */
    public Content open(Path source, String path) throws IOException {
        while (true) {
            Map<String, Object> before = Files.readAttributes(source, "unix:ino,nlink");
            FileChannel file = FileChannel.open(source, StandardOpenOption.READ);
            try {
                if ((Integer) before.get("nlink") < 2) {
                    return new PlainContent(file);
                }
                long inode = ((Number) before.get("ino")).longValue();
                Records.Found found = records.find(inode);
                if (found == null) {
                    return new PlainContent(file);
                }
                if (Records.inodeOf(source) == inode) {
                    return new BufferContent(this, file, inode, found, path);
                }
            } catch (IOException | RuntimeException e) {
                file.close();
                throw e;
            }
            file.close(); // the name has another file now
        }
    }

    /**
     * Waits until the shared directory has all of a file, and helps.
     *
     * @throws IOException when the file has a writer, or chunks of it are lost
     */
    public void settle(Path file) throws IOException {
        if (Files.isRegularFile(file) && Records.linksOf(file) > 1) {
            settle(Records.inodeOf(file), false);
        }
    }

    /** mine: this process writes the file, and may go on. */
    void settle(long inode, boolean mine) throws IOException {
        for (Records.Found found = records.find(inode); found != null; found = records.find(inode)) {
            if (found.isOpen() && !mine) {
                throw new IOException(found.record().path() + " is being written: close it first; after the death of its writer "
                    + "wait for verbena.lustre.buffer.lease.s");
            }
            if (!flush(inode)) {
                pause();
            } else if (mine) {
                break;
            }
        }
        silence.forget(records.claim(inode));
    }

    /** Flushes what the record of a file says; false: another process does so. */
    boolean flush(long inode) throws IOException {
        try (Claim claim = Claim.take(records.claim(inode), silence)) {
            if (claim == null) {
                return false;
            }
            steps.at("claimed");
            new Flush(this, inode, claim).run();
            return true;
        }
    }

    static void pause() throws IOException {
        try {
            Thread.sleep(WAIT_MS); // another process flushes the file
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new java.io.InterruptedIOException("the thread was interrupted while another process flushed the file");
        }
    }

    void begun(RecordWriter writer) {
        writers.add(writer);
        synchronized (this) {
            if (signs == null) {
                signs = new Thread(this::sign, "verbena-buffer-signs");
                signs.setDaemon(true);
                signs.start();
            }
        }
    }

    void ended(RecordWriter writer) {
        writers.remove(writer);
    }

    /** Writers that have nothing to write give signs of life. */
    private synchronized void sign() {
        try {
            while (!closed) {
                TimeUnit.MILLISECONDS.timedWait(this, Math.max(1, conf.leaseMs() / 4));
                writers.forEach(RecordWriter::touch);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        store.close();
    }
}
