// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ReadableByteChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.hdfs.net.Peer;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.io.IOUtils;

/**
 * A connection of Hadoop's to a DataNode, on which requests go ahead of the answers: a DataNode takes one after the other, and
 * answers in their order. After a failure there are no more answers, and Hadoop's reader tries: it finds the same fault, and knows
 * what to do. One thread.
 */
final class ReadConnection implements Closeable {
    /** Answers in this process. */
    static final LongAdder ANSWERS = new LongAdder();
    /** Messages with requests. */
    static final LongAdder MESSAGES = new LongAdder();
    /** Requests without an answer: so many fit into any connection's buffers, whatever the other side does. */
    private static final int AHEAD = 16;
    private static final int REQUEST = 512;

    private final DFSClient client;
    private final InetSocketAddress address;
    private final DatanodeInfo node;
    private final Deque<ReadRequest> unsent = new ArrayDeque<>();
    private final Deque<ReadRequest> sent = new ArrayDeque<>();
    private Peer peer;
    private AnswerInput answers;
    /** The connection was made for this: a DataNode that is silent is so for everybody. */
    private boolean fresh;
    /** The first caller that gets no answer is told this, if it has to know. */
    private IOException failure;
    private boolean broken;

    ReadConnection(DFSClient client, InetSocketAddress address, DatanodeInfo node) {
        this.client = client;
        this.address = address;
        this.node = node;
    }

    DatanodeInfo node() {
        return node;
    }

    /** Requests something. It leaves with the next {@link #send}. */
    void add(ReadRequest request) {
        unsent.add(request);
    }

    /** Sends as many requests as may be without an answer. Failures are told by {@link #answer}. */
    void send() {
        try {
            if (!broken && !unsent.isEmpty() && sent.size() <= AHEAD / 2) {
                sendMore();
            }
        } catch (IOException e) {
            fail(e);
        }
    }

    private void sendMore() throws IOException {
        if (peer == null) {
            connect();
        }
        ByteArrayOutputStream message = new ByteArrayOutputStream(REQUEST);
        while (sent.size() < AHEAD && !unsent.isEmpty()) {
            unsent.peek().write(client.getClientName(), message);
            sent.add(unsent.poll());
        }
        message.writeTo(peer.getOutputStream());
        peer.getOutputStream().flush();
        MESSAGES.increment();
    }

    private void connect() throws IOException {
        peer = client.getClientContext().getPeerCache().get(node, false);
        if (peer == null) {
            fresh = true;
            peer = client.newConnectedPeer(address, unsent.peek().block().getBlockToken(), node);
        }
        ReadableByteChannel channel = peer.getInputStreamChannel();
        answers = new AnswerInput(channel == null ? new PlainInput(peer.getInputStream()) : channel);
    }

    private void fail(IOException cause) {
        DFSClient.LOG.debug("Hadoop's reader reads from {}: {}", node, cause.toString());
        broken = true;
        boolean told = fresh && (cause instanceof InterruptedIOException || cause instanceof ClosedByInterruptException);
        failure = told ? cause : null;
        sent.clear();
        unsent.clear();
        IOUtils.closeStream(peer);
    }

    /**
     * The bytes of a request; those before it get no answer any more.
     *
     * @return null when Hadoop's reader shall try
     * @throws IOException when a new connection's DataNode is silent for too long, or the thread is interrupted
     */
    ByteBuffer answer(ReadRequest request) throws IOException {
        send();
        ByteBuffer bytes = null;
        for (ReadRequest next = null; !broken && next != request;) {
            next = sent.poll();
            if (next == null) {
                return null; // it was answered before
            }
            try {
                bytes = answers.read(next, sent);
                ANSWERS.increment();
            } catch (IOException e) {
                fail(e);
            }
            send();
        }
        if (failure != null) {
            IOException told = failure;
            failure = null;
            throw told;
        }
        return broken ? null : bytes;
    }

    /** The connection can be used again when all is answered. */
    @Override
    public void close() {
        if (peer != null && !broken && sent.isEmpty() && answers.isEmpty()) {
            client.getClientContext().getPeerCache().put(node, peer);
        } else {
            IOUtils.closeStream(peer);
        }
    }
}
