// SPDX-License-Identifier: Apache-2.0
// Serves the map outputs of one job to its reducers.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.apache.hadoop.mapred.MapOutputBridge;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.Message;
import org.verbena.core.Stage;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.PluginLog;

/**
 * Peers have proved the job's key; their requests are checked all the same. Files are read by a thread for each local folder
 * into slabs of this job's context: a peer of this host may map them, and all they ever hold is this job's.
 */
final class JobServer implements AutoCloseable {
    static final Logger LOG = LoggerFactory.getLogger(JobServer.class);
    static final PluginLog CORE_LOG = new PluginLog(LOG::error, LOG::warn, LOG::info, LOG::debug);
    /** Requests that may be under way; each has at most one entry in the stage's queue. */
    private static final int MAX_REQUESTS = 1024;

    private final String job;
    private final String user;
    private final MapOutputBridge outputs;
    private final ServedBytes served;
    private final SharedFolders shared;
    private final VbnContext context;
    private final VbnEngine engine;
    private final ServerMemory memory;
    private final Stage<Runnable> stage;
    private final Readers readers;
    private final AtomicInteger requests = new AtomicInteger();
    private final List<SegmentStream> waiting = new ArrayList<>();
    private volatile long lastUse = System.nanoTime();

    /**
     * Opens the job's context and starts its engine.
     *
     * @param key the job's key for the core
     * @param local where to listen
     * @param node the NodeManager's settings, with its local folders
     * @throws VbnException when the core does not start
     */
    JobServer(String job, String user, byte[] key, InetAddress local, ShuffleConf conf, MapOutputBridge outputs,
            NodeSite node, ServedBytes served) throws VbnException {
        this.job = job;
        this.user = user;
        this.outputs = outputs;
        this.served = served;
        shared = node.shared();
        VbnConfig config = new VbnConfig().jobKey(key).log(CORE_LOG);
        config.set("tl.tcp.interface", local.getHostAddress()).set("security.same_user", "false");
        conf.coreSettings().forEach(config::set);
        context = VbnContext.open(config);
        try {
            engine = context.startEngine("verbena-shuffle");
        } catch (VbnException | RuntimeException | Error e) {
            context.close();
            throw e;
        }
        memory = new ServerMemory(context, conf.serverMemory());
        BiConsumer<Runnable, Throwable> onError =
            (task, error) -> LOG.warn("a shuffle request of {} failed: {}", job, error.toString());
        stage = new Stage<>("verbena-shuffle-find", 2 * MAX_REQUESTS, Runnable::run, onError);
        readers = new Readers(node.folders(), 2 * MAX_REQUESTS, onError);
        engine.onMessage(Wire.LOOKUP, message -> receive(message, this::lookup));
        engine.onMessage(Wire.LOAD, message -> receive(message, this::load));
    }

    byte[] address() {
        return engine.address();
    }

    /** Such as "shm,tcp". */
    String transports() {
        return engine.transports().stream().filter(name -> !name.equals("self")).collect(Collectors.joining(","));
    }

    void used() {
        lastUse = System.nanoTime();
    }

    /** Nanoseconds without a request; 0 while one is under way. */
    long unusedFor(long now) {
        return requests.get() > 0 ? 0 : now - lastUse;
    }

    /** What a request's handler gets. */
    private interface Handler {
        void handle(VbnPeer peer, Wire.Header header, List<Wire.Range> ranges);
    }

    /** Engine thread. */
    private void receive(Message message, Handler handler) {
        used();
        VbnPeer peer = message.peer();
        try {
            Wire.Header header = Wire.header(message.header());
            if (message.remote() == null) {
                later(peer, header, Wire.ranges(message.data()), handler);
            } else if (message.length() > Wire.MAX_REQUEST_BYTES) {
                engine.drop(message.remote());
                fail(peer, header.request(), 0, "a request of " + message.length() + " bytes");
            } else {
                ByteBuffer list = ByteBuffer.allocateDirect((int) message.length());
                engine.pull(message.remote(), list, (error, length) -> pulled(error, peer, header, list, handler));
            }
        } catch (VbnException e) {
            if (message.remote() != null) {
                engine.drop(message.remote());
            }
            LOG.warn("{} from {}", e.getMessage(), peer);
        }
    }

    private void pulled(VbnException error, VbnPeer peer, Wire.Header header, ByteBuffer list, Handler handler) {
        if (error != null) {
            return; // the peer is lost
        }
        try {
            later(peer, header, Wire.ranges(list), handler);
        } catch (VbnException e) {
            LOG.warn("{} from {}", e.getMessage(), peer);
        }
    }

    private void later(VbnPeer peer, Wire.Header header, List<Wire.Range> ranges, Handler handler) {
        if (requests.incrementAndGet() > MAX_REQUESTS || !offer(() -> handler.handle(peer, header, ranges))) {
            ended();
            fail(peer, header.request(), 0, "the node serves " + MAX_REQUESTS + " requests of this job already");
        }
    }

    /** False when the stage is full, which its size excludes, or closed. */
    private boolean offer(Runnable task) {
        try {
            return stage.offer(task, 0, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** A request has come to its end. */
    void ended() {
        used();
        requests.decrementAndGet();
    }

    void fail(VbnPeer peer, long request, int range, String cause) {
        engine.send(peer, Wire.FAILED, Wire.header(range, request, 0), new ByteBuffer[] {Wire.cause(cause)}, null);
    }

    /** Stage thread. */
    private void lookup(VbnPeer peer, Wire.Header header, List<Wire.Range> ranges) {
        new Lookup(this, engine, peer, header, ranges).start();
    }

    /** Stage thread. */
    private void load(VbnPeer peer, Wire.Header header, List<Wire.Range> ranges) {
        long bytes = ranges.stream().mapToLong(Wire.Range::length).sum();
        served.count(ranges.size(), bytes);
        outputs.served(bytes);
        new SegmentStream(this, engine, memory, peer, header, ranges).resume();
    }

    /** The local folder in which a map output lies; opens no file. */
    String folder(String attempt) throws IOException {
        check(attempt);
        return readers.folder(outputs.place(job, user, attempt));
    }

    /** Finds a segment; may read the index, so it is for the folder's thread. */
    MapOutputBridge.Segment find(String attempt, int reduce) throws IOException {
        check(attempt);
        if (reduce < 0) {
            throw new IOException("not the number of a reducer");
        }
        return outputs.find(job, user, attempt, reduce);
    }

    /** The attempt's name becomes part of a path, so it has to be one of this job, written as Hadoop does. */
    private void check(String attempt) throws IOException {
        TaskAttemptID id;
        try {
            id = TaskAttemptID.forName(attempt);
        } catch (IllegalArgumentException e) {
            throw new IOException("not the name of a map attempt", e);
        }
        if (id == null || !id.toString().equals(attempt) || !id.getJobID().toString().equals(job)) {
            throw new IOException("not a map attempt of " + job);
        }
    }

    SharedFolders shared() {
        return shared;
    }

    Readers readers() {
        return readers;
    }

    MapOutputBridge outputs() {
        return outputs;
    }

    String user() {
        return user;
    }

    /** A stream found no memory: it goes on when another one gives some back. */
    void await(SegmentStream stream) {
        synchronized (waiting) {
            waiting.add(stream);
        }
    }

    /** Memory was given back. */
    void wakeWaiting() {
        List<SegmentStream> now;
        synchronized (waiting) {
            now = List.copyOf(waiting);
            waiting.clear();
        }
        now.forEach(SegmentStream::resume);
    }

    /**
     * Ends the engine; reducers that still want something get it by HTTP. Memory that a disk which stands still may yet write to is
     * given back when that has ended, and nobody waits for it.
     */
    @Override
    public void close() {
        engine.close();
        stage.close();
        readers.close(() -> {
            memory.close();
            context.close();
        });
    }
}
