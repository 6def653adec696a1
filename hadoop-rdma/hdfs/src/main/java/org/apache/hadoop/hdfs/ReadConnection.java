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
import java.nio.channels.UnresolvedAddressException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.hdfs.net.Peer;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.security.token.Token;

/**
 * A connection of Hadoop's to a DataNode, on which requests go ahead of the answers: a DataNode takes one after the other, and
 * answers in their order. A cached connection that has ended meanwhile is replaced. After any other failure there are no more
 * answers, and Hadoop's reader tries: it finds the same fault, and knows what to do. One thread.
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
    /** Answers by this connection. */
    private int answered;
    /** The DataNode has ended a new connection after one request. */
    private boolean brief;
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

    /** Whether requests that go ahead of answers are lost at this DataNode. */
    boolean isBrief() {
        return brief;
    }

    /** Sends as many requests as may be without an answer. Failures are told by {@link #answer}. */
    void send() {
        boolean done = false;
        while (!done && !broken && !unsent.isEmpty() && sent.size() <= AHEAD / 2) {
            try {
                sendMore();
                done = true;
            } catch (IOException e) {
                fail(e, peer != null);
            }
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
        peer = fresh ? null : client.getClientContext().getPeerCache().get(node, false);
        if (peer == null) {
            fresh = true;
            peer = newPeer(unsent.peek().block().getBlockToken());
        }
        ReadableByteChannel channel = peer.getInputStreamChannel();
        answers = new AnswerInput(channel == null ? new PlainInput(peer.getInputStream()) : channel);
    }

    private Peer newPeer(Token<BlockTokenIdentifier> token) throws IOException {
        try {
            return client.newConnectedPeer(address, token, node);
        } catch (UnresolvedAddressException e) {
            throw new IOException("the address of " + node + " is not known", e);
        }
    }

    /** ended: the connection has, it brought no wrong answer. */
    private void fail(IOException cause, boolean ended) {
        boolean silent = cause instanceof InterruptedIOException || cause instanceof ClosedByInterruptException;
        IOUtils.closeStream(peer);
        if (ended && !silent && !fresh && answered == 0) { // while it lay in the cache
            fresh = true;
            peer = null;
            while (!sent.isEmpty()) {
                unsent.addFirst(sent.removeLast());
            }
            return;
        }
        DFSClient.LOG.debug("Hadoop's reader reads from {}: {}", node, cause.toString());
        brief = ended && !silent && fresh && answered <= 1 && answered + sent.size() > 1;
        broken = true;
        failure = silent && fresh ? cause : null;
        sent.clear();
        unsent.clear();
    }

    /**
     * The bytes of a request; those before it get no answer any more.
     *
     * @return null when Hadoop's reader shall try
     * @throws IOException when a new connection's DataNode is silent for too long, or the thread is interrupted
     */
    ByteBuffer answer(ReadRequest request) throws IOException {
        ByteBuffer bytes = null;
        send();
        while (!broken && bytes == null) {
            ReadRequest next = sent.poll();
            if (next == null) {
                return null; // it was answered before
            }
            ByteBuffer read = read(next);
            bytes = next == request ? read : null;
            send();
        }
        if (bytes == null && failure != null) {
            IOException told = failure;
            failure = null;
            throw told;
        }
        return bytes;
    }

    /** The next answer, null after a failure. */
    private ByteBuffer read(ReadRequest request) {
        try {
            ByteBuffer bytes = answers.read(request, sent);
            answered++;
            ANSWERS.increment();
            return bytes;
        } catch (IOException e) {
            sent.addFirst(request);
            fail(e, answers.isEnded());
            return null;
        }
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
