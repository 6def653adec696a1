// SPDX-License-Identifier: Apache-2.0
// The way of a reducer to one node: by the core, or why not.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.crypto.SecretKey;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleHeader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.Attempt;
import org.verbena.core.plugin.Remote;

/** Connected when the first fetcher wants it, which waits for that ({@link Attempt}). Thread safe. */
final class Link {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final String DOWN = "Verbena: map outputs of {} come by HTTP for now: {}";
    static final int HTTP_MILLIS = 10_000;
    private static final int ANSWER_SECONDS = 60;
    private static final int MAX_ADDRESS = 1024;

    private final String name;
    private final URL base;
    private final String job;
    private final CoreClient client;
    private final SecretKey secret;
    private final long waitMillis;
    private final Remote<VbnPeer> remote = new Remote<>(VbnPeer::close);
    private volatile String transport;

    /**
     * Makes one that is not connected.
     *
     * @param base any URL of the node's shuffle service
     * @param waitMillis how long fetchers wait for the connection
     */
    Link(String name, URL base, String job, CoreClient client, SecretKey secret, long waitMillis) {
        this.name = name;
        this.base = base;
        this.job = job;
        this.client = client;
        this.secret = secret;
        this.waitMillis = waitMillis;
    }

    Remote<VbnPeer> remote() {
        return remote;
    }

    /** Why it is not up. */
    ShuffleCounters.Reason reason() {
        return switch (remote.state()) {
            case REFUSED -> ShuffleCounters.Reason.REFUSED;
            case DOWN -> ShuffleCounters.Reason.DOWN;
            case UNCONNECTED, CONNECTING, UP -> ShuffleCounters.Reason.CONNECTING;
        };
    }

    /** The peer, waited for while it is being connected; null when map outputs come by HTTP now. */
    VbnPeer peer(int reduce) {
        if (remote.peer() == null) {
            begin(reduce);
        }
        return remote.await();
    }

    private void begin(int reduce) {
        Attempt begun = remote.begin(waitMillis);
        if (begun == null) {
            return;
        }
        Thread thread = new Thread(() -> {
            try {
                connect(begun, reduce);
            } finally {
                begun.end();
            }
        }, "verbena-connect");
        thread.setDaemon(true);
        thread.start();
    }

    private void connect(Attempt begun, int reduce) {
        byte[] address;
        try {
            address = address(begun);
        } catch (IOException e) {
            if (remote.refused()) {
                LOG.info("Verbena: map outputs of {} come by HTTP: {}", name, e.getMessage());
            }
            return;
        }
        try {
            VbnPeer peer = client.connect(base.getHost(), base.getPort(), address, this::ended);
            awaitAnswer(peer, reduce);
            transport = peer.transport().isEmpty() ? "tcp" : peer.transport();
            LOG.info("Verbena: map outputs of {} come by {}", name, transport);
            remote.up(peer);
            if (peer.isLost()) {
                ended(peer, peer.lossCause(), true);
            }
        } catch (IOException | LinkageError e) {
            if (remote.down() && !client.isClosed()) {
                LOG.warn(DOWN, name, words(e));
            }
        }
    }

    /** The core's text, which names a function of C where two keys differ. */
    private static String words(Throwable cause) {
        if (cause == null) {
            return "the reducer's engine has ended";
        }
        String text = cause instanceof VbnException core ? core.text() : cause.getMessage();
        return text == null ? cause.toString() : text.replace("(vbn_config_set_job_key)", "(the job's shuffle secret)");
    }

    /** Sends a request for its answer alone: then the connection stands. */
    private void awaitAnswer(VbnPeer peer, int reduce) throws IOException {
        Exchange first = client.send(peer, Wire.LOOKUP, reduce, List.of(), null);
        try {
            if (first.awaitAnswer(TimeUnit.SECONDS.toNanos(ANSWER_SECONDS)) == null) {
                throw new IOException("no answer within " + ANSWER_SECONDS + " s");
            }
        } catch (IOException e) {
            peer.close();
            throw e;
        } finally {
            client.end(first);
        }
    }

    /** Asks the node's shuffle service for the address of the job's engine, signed as every shuffle request is. */
    private byte[] address(Attempt begun) throws IOException {
        URL url = new URL(base.getProtocol(), base.getHost(), base.getPort(), AddressHandler.PATH + "?job=" + job);
        HttpURLConnection http = (HttpURLConnection) url.openConnection();
        http.setConnectTimeout(HTTP_MILLIS);
        http.setReadTimeout(readMillis(begun));
        String hash = SecureShuffleUtils.hashFromString(SecureShuffleUtils.buildMsgFrom(url), secret);
        http.addRequestProperty(SecureShuffleUtils.HTTP_HEADER_URL_HASH, hash);
        http.addRequestProperty(ShuffleHeader.HTTP_HEADER_NAME, ShuffleHeader.DEFAULT_HTTP_HEADER_NAME);
        http.addRequestProperty(ShuffleHeader.HTTP_HEADER_VERSION, ShuffleHeader.DEFAULT_HTTP_HEADER_VERSION);
        begun.asks();
        http.connect();
        begun.answered(); // it may have to start the core for this job first
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

    /** A node starts the core for a job before it answers: fetchers that are told to wait longer than for HTTP do so. */
    static int readMillis(Attempt begun) {
        return (int) Math.max(HTTP_MILLIS, begun.leftMillis());
    }

    private static String cause(int status, HttpURLConnection http) throws IOException {
        boolean ours = status == HttpURLConnection.HTTP_UNAVAILABLE || status == HttpURLConnection.HTTP_UNAUTHORIZED;
        InputStream text = http.getErrorStream();
        return ours && text != null ? new String(text.readNBytes(MAX_ADDRESS), StandardCharsets.UTF_8)
            : "its shuffle service is the stock one (HTTP status " + status + "); put hadoop-rdma's jar on the NodeManager's class "
                + "path and set yarn.nodemanager.aux-services.mapreduce_shuffle.class to " + VerbenaShuffleHandler.class.getName();
    }

    /**
     * What a node says of segments.
     *
     * @param places null for each one that lies in no shared folder
     */
    record Found(List<Wire.Size> sizes, List<Wire.Place> places) {
    }

    /**
     * Asks for the lengths and places of segments.
     *
     * @param limitNanos how long to wait for the answer
     */
    Found lookup(VbnPeer to, int reduce, List<Wire.Range> ranges, long limitNanos) throws IOException {
        Exchange exchange = client.send(to, Wire.LOOKUP, reduce, ranges, null);
        try {
            ByteBuffer answer = exchange.awaitAnswer(limitNanos);
            if (answer == null) {
                throw new IOException("no answer within " + TimeUnit.NANOSECONDS.toSeconds(limitNanos) + " s");
            }
            int lengths = Math.min(answer.remaining(), Wire.SIZE_BYTES * ranges.size());
            ByteBuffer rest = answer.slice(lengths, answer.remaining() - lengths);
            return new Found(Wire.sizes(answer.slice(0, lengths), ranges.size()), rest.hasRemaining()
                ? WirePlaces.read(rest, ranges.size()) : Collections.nCopies(ranges.size(), null));
        } finally {
            client.end(exchange);
        }
    }

    /** How bytes come when it is up. */
    String transport() {
        return transport;
    }

    /** A node ends a job's engine that nobody has used for a minute: who wants something then connects again, without a pause. */
    private void ended(VbnPeer peer, VbnException cause, boolean unused) {
        Remote.End end = remote.ended(peer, cause, !unused);
        if (end == Remote.End.UNUSED) {
            LOG.debug("Verbena: {} has ended the connection, which nobody used: {}", name, words(cause));
        } else if (end == Remote.End.FAILED) {
            LOG.warn(DOWN, name, words(cause));
        }
    }

    /** The connection was lost: a pause begins, if it is still this one. */
    void down(VbnPeer lost, String cause) {
        if (remote.down(lost)) {
            LOG.warn(DOWN, name, cause);
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
