// SPDX-License-Identifier: Apache-2.0
// The way of a reducer to one node: by the core, or why not.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.crypto.SecretKey;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleHeader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnPeer;

/**
 * Not connected, connecting, up, or paused (30 s, doubled with every failure up to 8 min). One fetcher uses it at a time, as
 * the scheduler gives a node to one fetcher; the engine's thread tells it when the peer is lost.
 */
final class Link {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final long FIRST_PAUSE = TimeUnit.SECONDS.toNanos(30);
    private static final int MAX_DOUBLINGS = 4;
    private static final int HTTP_MILLIS = 10_000;
    private static final int MAX_ADDRESS = 1024;

    private final String name;
    private final URL base;
    private final String job;
    private final CoreClient client;
    private final SecretKey secret;
    private VbnPeer peer;
    private Exchange first;
    private String transport;
    private ShuffleCounters.Reason reason = ShuffleCounters.Reason.CONNECTING;
    private int failures;
    private long pausedUntil;

    /** @param base any URL of the node's shuffle service */
    Link(String name, URL base, String job, CoreClient client, SecretKey secret) {
        this.name = name;
        this.base = base;
        this.job = job;
        this.client = client;
        this.secret = secret;
    }

    /** Why it is not up. */
    synchronized ShuffleCounters.Reason reason() {
        return reason;
    }

    /** The peer, which may still be connecting; null in a pause. */
    VbnPeer peer() {
        synchronized (this) {
            if (peer != null || failures > 0 && System.nanoTime() - pausedUntil < 0) {
                return peer;
            }
        }
        try {
            byte[] address = address();
            VbnPeer connected = client.connect(base.getHost(), base.getPort(), address,
                (lost, cause) -> down(lost, cause.getMessage()));
            synchronized (this) {
                peer = connected;
                transport = null;
            }
            return connected;
        } catch (IOException e) {
            refused(e);
            return null;
        }
    }

    /** Asks the node's shuffle service for the address of the job's engine, signed as every shuffle request is. */
    private byte[] address() throws IOException {
        URL url = new URL(base.getProtocol(), base.getHost(), base.getPort(), AddressHandler.PATH + "?job=" + job);
        HttpURLConnection http = (HttpURLConnection) url.openConnection();
        http.setConnectTimeout(HTTP_MILLIS);
        http.setReadTimeout(HTTP_MILLIS);
        String hash = SecureShuffleUtils.hashFromString(SecureShuffleUtils.buildMsgFrom(url), secret);
        http.addRequestProperty(SecureShuffleUtils.HTTP_HEADER_URL_HASH, hash);
        http.addRequestProperty(ShuffleHeader.HTTP_HEADER_NAME, ShuffleHeader.DEFAULT_HTTP_HEADER_NAME);
        http.addRequestProperty(ShuffleHeader.HTTP_HEADER_VERSION, ShuffleHeader.DEFAULT_HTTP_HEADER_VERSION);
        try {
            int status = http.getResponseCode();
            if (status != HttpURLConnection.HTTP_OK) {
                throw new IOException(cause(status, http));
            }
            String reply = http.getHeaderField(SecureShuffleUtils.HTTP_HEADER_REPLY_URL_HASH);
            SecureShuffleUtils.verifyReply(reply == null ? "" : reply, hash, secret);
            return http.getInputStream().readNBytes(MAX_ADDRESS);
        } finally {
            http.disconnect();
        }
    }

    private static String cause(int status, HttpURLConnection http) throws IOException {
        boolean ours = status == HttpURLConnection.HTTP_UNAVAILABLE || status == HttpURLConnection.HTTP_UNAUTHORIZED;
        InputStream text = http.getErrorStream();
        return ours && text != null ? new String(text.readNBytes(MAX_ADDRESS), StandardCharsets.UTF_8)
            : "its shuffle service is the stock one (HTTP status " + status + "); put hadoop-rdma's jar on the NodeManager's class "
                + "path and set yarn.nodemanager.aux-services.mapreduce_shuffle.class to " + VerbenaShuffleHandler.class.getName();
    }

    /**
     * Asks for the lengths of segments. The first request waits for the connection, but not long.
     *
     * @param waitNanos how long the first one waits
     * @param limitNanos how long every other one waits
     * @return null when the connection is not up yet
     */
    List<Wire.Size> lookup(VbnPeer to, int reduce, List<Wire.Range> ranges, long waitNanos, long limitNanos) throws IOException {
        if (!isUp() && !becomesUp(to, reduce, waitNanos)) {
            return null;
        }
        Exchange exchange = client.send(to, Wire.LOOKUP, reduce, ranges, null);
        try {
            ByteBuffer answer = exchange.awaitAnswer(limitNanos);
            if (answer == null) {
                throw new IOException("no answer within " + TimeUnit.NANOSECONDS.toSeconds(limitNanos) + " s");
            }
            return Wire.sizes(answer, ranges.size());
        } finally {
            client.end(exchange);
        }
    }

    /** Sends a request for its answer alone and waits for that; a later call waits for the same answer. */
    private boolean becomesUp(VbnPeer to, int reduce, long waitNanos) throws IOException {
        Exchange greeting;
        synchronized (this) {
            if (first == null) {
                first = client.send(to, Wire.LOOKUP, reduce, List.of(), null);
            }
            greeting = first;
        }
        if (greeting.awaitAnswer(waitNanos) == null) {
            return false;
        }
        client.end(greeting);
        up(to);
        return true;
    }

    private synchronized boolean isUp() {
        return transport != null;
    }

    private void up(VbnPeer to) {
        String by = to.transport();
        synchronized (this) {
            first = null;
            transport = by.isEmpty() ? "tcp" : by;
        }
        LOG.info("Verbena: map outputs of {} come by {}", name, by);
    }

    /** How bytes come when it is up. */
    synchronized String transport() {
        return transport;
    }

    private void refused(IOException cause) {
        if (pause(null, ShuffleCounters.Reason.REFUSED)) {
            LOG.info("Verbena: map outputs of {} come by HTTP: {}", name, cause.getMessage());
        }
    }

    /** The connection failed or was lost: a pause begins. */
    void down(VbnPeer lost, String cause) {
        if (pause(lost, ShuffleCounters.Reason.DOWN)) {
            LOG.warn("Verbena: map outputs of {} come by HTTP for now: {}", name, cause);
        }
    }

    /** True for the first pause. */
    private boolean pause(VbnPeer lost, ShuffleCounters.Reason why) {
        VbnPeer last;
        boolean firstTime;
        synchronized (this) {
            if (lost != null && lost != peer) {
                return false;
            }
            last = peer;
            peer = null;
            first = null;
            transport = null;
            reason = why;
            pausedUntil = System.nanoTime() + (FIRST_PAUSE << Math.min(failures, MAX_DOUBLINGS));
            firstTime = failures++ == 0;
        }
        if (last != null) {
            last.close();
        }
        return firstTime;
    }

    @Override
    public String toString() {
        return name;
    }
}
