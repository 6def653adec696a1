// SPDX-License-Identifier: Apache-2.0
// A fetcher thread of a reducer: by the core from nodes that serve by it, else as the stock fetcher it is.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.reduce.ExceptionReporter;
import org.apache.hadoop.mapreduce.task.reduce.Fetcher;
import org.apache.hadoop.mapreduce.task.reduce.MapHost;
import org.apache.hadoop.mapreduce.task.reduce.MapOutput;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleClientMetrics;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleSchedulerImpl;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnPeer;
import org.verbena.hadoop.shuffle.SourceChoice.Source;

/**
 * What fails is told to the stock scheduler as the stock fetcher tells it: a map output that is damaged or not there is a
 * failed copy, after which the map runs again; a connection that fails is none, its map outputs are fetched by HTTP.
 */
final class CoreFetcher<K, V> extends Fetcher<K, V> {
    private static final Logger LOG = LoggerFactory.getLogger(CoreFetcher.class);
    /** Bytes of one request, all of which land in one buffer. */
    private static final long BATCH = 32L << 20;

    private final FetchShare<K, V> share;
    private final Rooms rooms = new Rooms();
    /** Of the map outputs that are being fetched, as far as they lie in shared folders. */
    private final Map<TaskAttemptID, Wire.Place> places = new HashMap<>();

    CoreFetcher(JobConf job, TaskAttemptID reduceId, ShuffleSchedulerImpl<K, V> scheduler, Reporter reporter,
            ShuffleClientMetrics metrics, ExceptionReporter errors, FetchShare<K, V> share) {
        super(job, reduceId, scheduler, share.merge(), reporter, metrics, errors, share.secret());
        this.share = share;
    }

    @Override
    protected void copyFromHost(MapHost host) throws IOException {
        Link link = share.link(host.getHostName(), new URL(host.getBaseUrl()));
        VbnPeer peer = link == null ? null : link.peer(reduce);
        if (Thread.currentThread().isInterrupted()) {
            return; // the shuffle has ended
        }
        if (peer == null) {
            share.counters().http(link == null ? ShuffleCounters.Reason.TOO_MANY : link.reason());
            super.copyFromHost(host);
            return;
        }
        List<TaskAttemptID> maps = scheduler.getMapsForHost(host);
        Map<TaskAttemptID, Wire.Size> left = new LinkedHashMap<>();
        maps.forEach(map -> left.put(map, null));
        try {
            if (!maps.isEmpty()) {
                lookup(link, peer, left);
                copy(host, link, peer, left);
            }
        } catch (InterruptedIOException e) {
            LOG.debug("the shuffle has ended");
        } catch (IOException e) {
            link.down(peer, e.getMessage());
        } finally {
            left.keySet().forEach(map -> scheduler.putBackKnownMapOutput(host, map));
        }
    }

    /** Asks for the lengths and places of the segments. */
    private void lookup(Link link, VbnPeer peer, Map<TaskAttemptID, Wire.Size> left) throws IOException {
        List<Wire.Range> ranges = left.keySet().stream().map(map -> new Wire.Range(map.toString(), 0, 0)).toList();
        int next = 0;
        Link.Found found = link.lookup(peer, reduce, ranges, share.limitNanos());
        places.clear();
        for (Map.Entry<TaskAttemptID, Wire.Size> entry : left.entrySet()) {
            places.put(entry.getKey(), found.places().get(next));
            entry.setValue(found.sizes().get(next++));
        }
    }

    /**
     * Fetches what there is room for; takes what is done out of `left`. What could not be used stays there, because the
     * scheduler gives a node back after a pause with what is known of it, and forgets a map output that nobody puts back.
     */
    private void copy(MapHost host, Link link, VbnPeer peer, Map<TaskAttemptID, Wire.Size> left) throws IOException {
        while (!left.isEmpty()) {
            Map.Entry<TaskAttemptID, Wire.Size> next = left.entrySet().iterator().next();
            if (next.getValue().part() < 0) {
                failed(host, next.getKey(), new IOException("the node does not have it"));
                return;
            }
            List<KeptOutput<K, V>> batch = reserve(left);
            boolean done = batch.isEmpty() ? pass(host, link, peer, next, left) : keep(host, link, peer, batch, left);
            if (!done) {
                return; // stock has no room now, or the node has a pause: the scheduler comes again
            }
        }
    }

    /** Room outside the heap for the first ones. What is compressed is fetched in smaller batches, all but a large segment. */
    private List<KeptOutput<K, V>> reserve(Map<TaskAttemptID, Wire.Size> left) {
        long most = isCompressed() ? Rooms.BYTES : BATCH;
        List<KeptOutput<K, V>> batch = new ArrayList<>();
        long bytes = 0;
        long held = 0;
        for (Map.Entry<TaskAttemptID, Wire.Size> entry : left.entrySet()) {
            Wire.Size size = entry.getValue();
            boolean fits = size.part() >= 0 && batch.size() < Wire.MAX_RANGES
                && (batch.isEmpty() || bytes + size.part() <= most && held + size.raw() <= BATCH);
            KeptOutput<K, V> output = fits ? share.merge().keep(entry.getKey(), size.part(), size.raw()) : null;
            if (output == null) {
                break;
            }
            bytes += size.part();
            held += output.reserved();
            batch.add(output);
        }
        return batch;
    }

    private boolean isCompressed() {
        return share.merge().codec() != null;
    }

    /** Fetches a batch into one buffer, that of its records if they are not compressed. False when a segment could not be used. */
    private boolean keep(MapHost host, Link link, VbnPeer peer, List<KeptOutput<K, V>> batch,
            Map<TaskAttemptID, Wire.Size> left) throws IOException {
        long held = batch.stream().mapToLong(KeptOutput::reserved).sum();
        ByteBuffer room = share.merge().allocate((int) held); // a batch beyond 2 GiB is a single segment below that
        if (room == null) {
            return true; // the budget is smaller from now on
        }
        KeptOutput<K, V> first = batch.get(0);
        if (isCompressed() && first.part() > Rooms.BYTES) {
            first.room(room);
            return stream(host, link, peer, first, left);
        }
        List<KeptOutput<K, V>> open = new ArrayList<>(batch);
        List<Wire.Range> ranges = batch.stream().map(o -> new Wire.Range(o.getMapId().toString(), 0, o.part())).toList();
        boolean shared = choosesFiles(batch);
        Exchange exchange = null;
        try {
            int bytes = batch.stream().mapToInt(o -> (int) o.part()).sum();
            ByteBuffer landing = isCompressed() ? rooms.take(0, bytes) : room;
            long started = Time.monotonicNow();
            long began = System.nanoTime();
            if (shared && !reads(batch, landing)) {
                return true; // the core brings them
            }
            exchange = shared ? null : share.client().send(peer, Wire.LOAD, reduce, ranges, landing);
            for (int at = 0, recordsAt = 0; !open.isEmpty(); open.remove(0)) {
                KeptOutput<K, V> output = open.get(0);
                int part = (int) output.part();
                if (!shared && !arrives(exchange, at + part, host, output)) {
                    return false;
                }
                Throwable wrong = takes(output, landing.slice(at, part), room.slice(recordsAt, (int) output.reserved()));
                if (wrong != null) {
                    return shared ? refuse(output, wrong) : failed(host, output.getMapId(), wrong);
                }
                at += part;
                recordsAt += (int) output.reserved();
                left.remove(output.getMapId());
                metrics.inputBytes(part);
                succeeded(host, shared ? null : link, output, part, started);
            }
            share.choice().measured(shared ? Source.SHARED : Source.CORE, bytes, System.nanoTime() - began);
            return true;
        } finally {
            end(exchange);
            open.forEach(KeptOutput::forget);
            if (open.size() == batch.size()) {
                unused(exchange, room);
            }
        }
    }

    /** Whether these are to be read from the shared file system. */
    private boolean choosesFiles(List<KeptOutput<K, V>> batch) {
        for (KeptOutput<K, V> output : batch) {
            if (!share.files().offers(places.get(output.getMapId()))) {
                return false;
            }
        }
        return share.choice().next() == Source.SHARED;
    }

    /** Reads a batch from the shared file system. False when that fails; the core then has to bring it. */
    private boolean reads(List<KeptOutput<K, V>> batch, ByteBuffer landing) throws IOException {
        int at = 0;
        for (KeptOutput<K, V> output : batch) {
            try {
                share.files().read(places.get(output.getMapId()), landing.slice(at, (int) output.part()));
            } catch (ClosedByInterruptException e) {
                throw new InterruptedIOException("interrupted while reading");
            } catch (IOException | RuntimeException e) {
                refuse(output, e);
                return false;
            }
            at += (int) output.part();
        }
        return true;
    }

    /** True: the core brings it. */
    private boolean refuse(MapOutput<K, V> output, Throwable cause) {
        share.files().refuse(places.get(output.getMapId()), cause);
        share.counters().sharedFailed();
        return true;
    }

    /** Memory of a batch of which nothing is kept. The collector finds it where pieces may still come, of an exchange cut off. */
    private void unused(Exchange exchange, ByteBuffer room) {
        if (exchange == null || exchange.isQuiet()) {
            share.merge().giveBack(room.capacity(), room);
        } else {
            share.merge().giveBack(room.capacity());
        }
    }

    /** Of a batch. */
    private void end(Exchange exchange) {
        if (exchange != null) {
            share.client().end(exchange);
        }
        if (exchange != null && isCompressed()) {
            rooms.leave(0, exchange);
        }
    }

    /** False when the node cannot serve this segment. */
    private boolean arrives(Exchange exchange, long end, MapHost host, KeptOutput<K, V> output) throws IOException {
        try {
            exchange.awaitBytes(end, share.limitNanos());
            return true;
        } catch (InterruptedIOException e) {
            throw e;
        } catch (IOException e) {
            if (exchange.failedRange() < 0) {
                throw e;
            }
            failed(host, output.getMapId(), e);
            return false;
        }
    }

    /** What is wrong with a segment; null when nothing is. */
    private Throwable takes(KeptOutput<K, V> output, ByteBuffer segment, ByteBuffer room) {
        try {
            if (isCompressed()) {
                output.decompress(segment, room);
            } else {
                output.take(segment);
            }
            return null;
        } catch (InternalError | RuntimeException | IOException e) { // codecs throw what they like
            return e;
        }
    }

    /** Hands one segment to the stock merge manager. False when that has no room now, or the segment could not be used. */
    private boolean pass(MapHost host, Link link, VbnPeer peer, Map.Entry<TaskAttemptID, Wire.Size> segment,
            Map<TaskAttemptID, Wire.Size> left) throws IOException {
        MapOutput<K, V> output;
        try {
            output = share.merge().pass(segment.getKey(), segment.getValue().raw(), id);
        } catch (IOException e) {
            scheduler.reportLocalError(e); // this reduce attempt ends
            return false;
        }
        return output != null && stream(host, link, peer, output, left);
    }

    /** Gives one segment to stock as a stream from a shared file. True also when that fails: the core then brings it. */
    private boolean streamFile(MapHost host, MapOutput<K, V> output, Map<TaskAttemptID, Wire.Size> left) throws IOException {
        Wire.Size size = left.get(output.getMapId());
        long started = Time.monotonicNow();
        long began = System.nanoTime();
        try (InputStream input = share.files().open(places.get(output.getMapId()), size.part())) {
            output.shuffle(host, input, size.part(), size.raw(), metrics, reporter);
        } catch (ClosedByInterruptException e) {
            output.abort();
            throw new InterruptedIOException("interrupted while reading");
        } catch (InternalError | RuntimeException | IOException e) { // codecs throw what they like
            output.abort();
            return refuse(output, e);
        }
        share.choice().measured(Source.SHARED, size.part(), System.nanoTime() - began);
        left.remove(output.getMapId());
        succeeded(host, null, output, size.part(), started);
        return true;
    }

    /** Fetches one segment window by window. False when it could not be used. */
    private boolean stream(MapHost host, Link link, VbnPeer peer, MapOutput<K, V> output, Map<TaskAttemptID, Wire.Size> left)
            throws IOException {
        TaskAttemptID map = output.getMapId();
        if (share.files().offers(places.get(map)) && share.choice().next() == Source.SHARED) {
            return streamFile(host, output, left);
        }
        Wire.Size size = left.get(map);
        long started = Time.monotonicNow();
        long began = System.nanoTime();
        try (CoreInput input = open(peer, output, size)) {
            try {
                output.shuffle(host, input, size.part(), size.raw(), metrics, reporter);
            } catch (InternalError | RuntimeException | IOException e) { // codecs throw what they like
                output.abort();
                if (input.failure() != null && input.failedRange() < 0) {
                    throw input.failure();
                }
                failed(host, map, e);
                return false;
            }
        }
        share.choice().measured(Source.CORE, size.part(), System.nanoTime() - began);
        left.remove(map);
        succeeded(host, link, output, size.part(), started);
        return true;
    }

    private CoreInput open(VbnPeer peer, MapOutput<K, V> output, Wire.Size size) throws IOException {
        try {
            return new CoreInput(share, peer, reduce, output.getMapId().toString(), size.part(), rooms);
        } catch (IOException e) {
            output.abort(); // its memory was reserved
            throw e;
        }
    }

    /** link: null if it was read from the shared file system. */
    private void succeeded(MapHost host, Link link, MapOutput<K, V> output, long bytes, long started) throws IOException {
        if (link == null) {
            share.counters().shared(bytes);
        } else {
            share.counters().core(String.valueOf(link.transport()), bytes);
        }
        scheduler.copySucceeded(output.getMapId(), host, bytes, started, Time.monotonicNow(), output);
        metrics.successFetch();
    }

    /** As the stock fetcher tells what it could not read. False, as the segment is not there. */
    private boolean failed(MapHost host, TaskAttemptID map, Throwable cause) {
        LOG.warn("Verbena: output of {} from {} cannot be used: {}", map, host, cause.toString());
        scheduler.hostFailed(host.getHostName());
        scheduler.copyFailed(map, host, true, false);
        metrics.failedFetch();
        return false;
    }
}
